// Package gotype says what a Go type is to a kernel: which scalar of the IR, how it lies in
// memory, whether it can be a parameter, and what people call it.
package gotype
