// Package reference computes what the kernels of the edges example compute, one
// pixel after the other in plain Go. It shares no code with them: tests compare
// the two, to the last bit.
package reference
