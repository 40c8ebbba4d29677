// Package bare does not register its source.
package bare

// Add returns a function literal.
func Add() func(x, y float32) float32 {
	return func(x, y float32) float32 { return x + y }
}
