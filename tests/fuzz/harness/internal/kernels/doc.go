// Package kernels holds kernels for the tests of package harness.
package kernels
