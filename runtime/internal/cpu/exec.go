package cpu

import (
	"context"
	"time"

	"github.com/gokiln/kiln/compiler/interp"
	"github.com/gokiln/kiln/runtime/internal/cpu/native"
)

// interpreter returns what loads IR for warps of a size.
func interpreter(warp int) Loader {
	return func(name string, text []byte) (Program, error) {
		p, err := interp.Load(name, text, interp.Warp(warp))
		if err != nil {
			return nil, err
		}
		return interpreted{p}, nil
	}
}

// interpreted is a program of the interpreter.
type interpreted struct{ *interp.Program }

// Run runs the kernel over a grid.
func (p interpreted) Run(grid, block [3]int, args []byte) error {
	return p.Program.Run(interp.Launch{Grid: grid, Block: block, Args: args})
}

// RunUntil is Run that ends when the context is over.
func (p interpreted) RunUntil(ctx context.Context, grid, block [3]int, args []byte) error {
	return p.Program.Run(interp.Launch{Grid: grid, Block: block, Args: args, Ctx: ctx})
}

// compiled is a program in native code.
type compiled struct{ *native.Program }

// Run runs the kernel over a grid.
func (p compiled) Run(grid, block [3]int, args []byte) error {
	return p.Program.Run(interp.Launch{Grid: grid, Block: block, Args: args})
}

// RunUntil is Run that begins no blocks when the context is over.
func (p compiled) RunUntil(ctx context.Context, grid, block [3]int, args []byte) error {
	return p.Program.Run(interp.Launch{Grid: grid, Block: block, Args: args, Ctx: ctx})
}

// estimator is a program that knows how long it is likely to take.
type estimator interface {
	Expect(grid [3]int) time.Duration
}
