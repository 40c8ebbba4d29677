package main

import "testing"

// Example runs the kernel in a test, where the package is not called main.
func Example() {
	main()
	// Output: [-4.5 -6 -7.5] [10.5 16.5 22.5]
}

func TestHandle(t *testing.T) {
	if got := kernelScale[float64]().Name(); got != "github.com/gokiln/kiln/tests/gen/program.scale" {
		t.Fatal(got)
	}
}
