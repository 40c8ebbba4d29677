package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gokiln/kiln/examples/transpose/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// tiles chooses the configuration. The first one is taken where nothing may be measured.
var tiles = jit.Tune("github.com/gokiln/kiln/examples/transpose",
	kernels.Config{Tile: 32, Rows: 8},
	kernels.Config{Tile: 16, Rows: 4},
	kernels.Config{Tile: 16, Rows: 16},
	kernels.Config{Tile: 32, Rows: 4},
	kernels.Config{Tile: 64, Rows: 4},
	kernels.Config{Tile: 64, Rows: 16},
)

// transpose writes the transpose of the n×m matrix in to out.
func transpose(s *runtime.Stream, out, in runtime.Slice[float32], n, m int) error {
	return tiles.Run(s, func(c kernels.Config) error {
		side := int(c.Tile)
		grid := runtime.Grid{
			Blocks:  runtime.Dim3{X: (m + side - 1) / side, Y: (n + side - 1) / side, Z: 1},
			Threads: runtime.Dim3{X: side, Y: int(c.Rows), Z: 1},
		}
		return kernels.LaunchTranspose(s, grid, out, in, n, m, c)
	}, n, m)
}

func main() {
	device := flag.String("device", "auto", "device: auto, cpu, or one that kiln devices lists")
	n := flag.Int("n", 1021, "rows")
	m := flag.Int("m", 2043, "columns")
	flag.Parse()
	if err := run(os.Stdout, *device, *n, *m); err != nil {
		fmt.Fprintln(os.Stderr, "transpose:", err)
		os.Exit(1)
	}
}

// run turns a matrix round and compares every element.
func run(w io.Writer, device string, n, m int) error {
	dev, err := runtime.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	host := make([]float32, n*m)
	for i := range host {
		host[i] = float32(i)
	}
	in, err := runtime.From(dev, host)
	if err != nil {
		return err
	}
	defer in.Free()
	out, err := runtime.Alloc[float32](dev, n*m)
	if err != nil {
		return err
	}
	defer out.Free()
	if err := transpose(dev.DefaultStream(), out, in, n, m); err != nil {
		return err
	}
	turned, err := out.Host()
	if err != nil {
		return err
	}
	for i, x := range turned {
		if want := host[i%n*m+i/n]; x != want {
			return fmt.Errorf("row %d, column %d is %g, want %g", i/n, i%n, x, want)
		}
	}
	_, err = fmt.Fprintf(w, "%d×%d elements transposed on %s (%s)\n", n, m, dev.Name(), dev.Info().Model)
	return err
}
