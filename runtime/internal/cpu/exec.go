package cpu

import "github.com/gokiln/kiln/compiler/interp"

// WarpSize is the number of threads that kernels on the CPU see as a warp.
const WarpSize = interp.WarpSize

// executor runs kernels on the interpreter.
func executor(name string, text []byte) (Program, error) {
	p, err := interp.Load(name, text)
	if err != nil {
		return nil, err
	}
	return interpreted{p}, nil
}

// interpreted is a program of the interpreter.
type interpreted struct{ *interp.Program }

// Run runs the kernel over a grid.
func (p interpreted) Run(grid, block [3]int, args []byte) error {
	return p.Program.Run(interp.Launch{Grid: grid, Block: block, Args: args})
}
