// Command peer makes tokens for testdata/fuzz.py of package tokenizers, which compares them with those
// of the reference library. It reads a request of JSON from each line of the standard input and writes
// the answer as a line of JSON.
package main
