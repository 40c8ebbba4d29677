// Package testkernels holds the kernels that the tests of package jit launch.
package testkernels
