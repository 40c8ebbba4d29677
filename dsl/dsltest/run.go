package dsltest

import (
	"fmt"
	"io"
	"os"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/internal/host"
	"github.com/gokiln/kiln/internal/dim"
)

// Errors of [Run] wrap one of these.
var (
	// ErrLaunch is a geometry that no target would take.
	ErrLaunch = host.ErrLaunch
	// ErrDivergence is a meeting point that not all threads reached.
	ErrDivergence = host.ErrDivergence
	// ErrPanic is a panic of the kernel. A panic with an error value wraps
	// that error too.
	ErrPanic = host.ErrPanic
	// ErrAssert is an assertion of the kernel that does not hold.
	ErrAssert = host.ErrAssert
)

// Option changes how a run is made.
type Option func(*host.Config)

// WarpSize sets the number of threads of a warp, a power of two up to 64. The
// default is 32.
func WarpSize(n int) Option {
	return func(c *host.Config) { c.WarpSize = n }
}

// Output sets where the kernel prints to. The default is standard error.
func Output(w io.Writer) Option {
	return func(c *host.Config) { c.Output = w }
}

// Run calls kernel for each thread of a grid of blocks and returns the first
// failure. Nothing of a block runs after it failed.
func Run(grid, block dsl.Dim3, kernel func(t dsl.Thread), options ...Option) error {
	cfg := host.Config{Grid: size(grid), Block: size(block), WarpSize: 32, Output: os.Stderr}
	for _, o := range options {
		o(&cfg)
	}
	if err := host.Run(cfg, func(l *host.Lane) { kernel(dsl.NewThread(l)) }); err != nil {
		return fmt.Errorf("dsltest: %w", err)
	}
	return nil
}

// size gives sizes that were left out their meaning, one.
func size(d dsl.Dim3) host.Dim {
	a := dim.Array(d)
	return host.Dim{X: a[0], Y: a[1], Z: a[2]}
}
