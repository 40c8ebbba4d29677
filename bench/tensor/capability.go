package main

import (
	"fmt"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/detour"
)

// compileFor has kernels compiled for NVIDIA GPUs of another compute capability than the device's, 80
// for 8.0, by PTX that newer devices take, too: what such code is worth on the same card. back is the
// end of it.
func compileFor(capability int) (back func(), err error) {
	to, err := target.Parse(fmt.Sprintf("ptx:sm_%d", capability))
	if err != nil {
		return nil, fmt.Errorf("-cc: %w", err)
	}
	return detour.Take(&detour.Way{
		Loads:  "ptx",
		Target: func(string) (target.Target, error) { return to, nil },
		Emit:   (*compiler.Program).Emit,
	}), nil
}
