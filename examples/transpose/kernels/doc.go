// Package kernels holds the kernel of the transpose example.
package kernels

//go:generate go tool kiln gen
