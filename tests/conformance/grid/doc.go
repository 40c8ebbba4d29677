// Package grid has kernels whose blocks all wait for each other.
package grid
