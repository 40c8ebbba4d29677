// Package shapes has a kernel for each form of parameters.
package shapes
