// Package real has constraints and types that kernels of other packages use.
package real
