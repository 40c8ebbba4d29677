// Package figure is what the commands that measure print: rows of a median and its spread,
// as lines of JSON that bench/gpu.sh and bench/cpu.sh put together and that bench/peers
// prints too, or for people.
package figure
