package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"text/tabwriter"
	"time"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/examples/gemm/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

func main() {
	device := flag.String("device", "auto", "device: auto, cpu, or one that kiln devices lists")
	n := flag.Int("n", 512, "rows and columns of all matrices")
	flag.Parse()
	if err := run(os.Stdout, *device, *n); err != nil {
		fmt.Fprintln(os.Stderr, "gemm:", err)
		os.Exit(1)
	}
}

// config chooses tiles by what the device's matrix instructions are.
func config(dev *runtime.Device) tile.Config {
	shape := func(fact dsl.MatrixFact) int { return jit.MatrixShape(dev, reflect.TypeFor[dsl.BF16](), fact) }
	c := tile.Config{M: 32, N: 64, K: 64, Down: 2, Across: 1, Stages: 2, Chunk: 8, A: tile.AlongK, B: tile.AcrossK}
	switch {
	case shape(dsl.MatrixWarpgroup) > 0:
		c.M, c.N, c.Down, c.Across, c.Stages = 128, 256, 8, 1, 4
	case shape(dsl.MatrixM) > 0:
		c.M, c.N, c.Down, c.Across, c.Stages = 128, 128, 2, 2, 3
	}
	return c
}

// step is one of the kernels.
type step struct {
	name   string
	launch func() error
}

func run(w io.Writer, device string, n int) error {
	dev, err := runtime.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	factor := make([]dsl.BF16, n*n)
	for i := range factor {
		factor[i] = dsl.To[dsl.BF16](float32(rng.NormFloat64()))
	}
	a, err1 := runtime.From(dev, factor)
	b, err2 := runtime.From(dev, factor)
	bias, err3 := runtime.From(dev, make([]float32, n))
	c, err4 := runtime.Alloc[float32](dev, n*n)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	s, cfg := dev.DefaultStream(), config(dev)
	cfg.AVec, cfg.BVec = dsl.ConstBool(n%8 == 0), dsl.ConstBool(n%8 == 0)
	grid := func(x, y, threadsX, threadsY int) runtime.Grid {
		return runtime.Grid{Blocks: runtime.Dim3{X: (n + x - 1) / x, Y: (n + y - 1) / y}, Threads: runtime.Dim3{X: threadsX, Y: threadsY}}
	}
	tiles := grid(int(cfg.N), int(cfg.M), int(cfg.Warps())*dev.WarpSize(), 1)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "kernel\t%d×%d×%d\ton %s\n", n, n, n, dev.Info().Model)
	var first []float32
	for _, k := range []step{
		{"Naive", func() error { return jit.Of(kernels.Naive).Launch(s, grid(16, 16, 16, 16), c, a, b, bias, n, n, n) }},
		{"Shared", func() error { return jit.Of(kernels.Shared).Launch(s, grid(16, 16, 16, 16), c, a, b, bias, n, n, n) }},
		{"Tiles", func() error { return jit.Of(kernels.Tiles).Launch(s, tiles, c, a, b, bias, n, n, n, cfg) }},
	} {
		took, err := measure(s, k.launch)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		got, err := c.Host()
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if first == nil {
			first = got
		}
		if err := same(got, first, n); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		fmt.Fprintf(table, "%s\t%.3f TFLOP/s\t\n", k.name, 2*math.Pow(float64(n), 3)/took.Seconds()/1e12)
	}
	return table.Flush()
}

// measure returns the time of a launch, of as many as take a tenth of a second.
func measure(s *runtime.Stream, launch func() error) (time.Duration, error) {
	if err := errors.Join(launch(), s.Sync()); err != nil { // compiles
		return 0, err
	}
	for times := 1; ; times *= 4 {
		start := time.Now()
		for range times {
			if err := launch(); err != nil {
				return 0, err
			}
		}
		if err := s.Sync(); err != nil {
			return 0, err
		}
		if took := time.Since(start); took > 100*time.Millisecond {
			return took / time.Duration(times), nil
		}
	}
}

// same compares sums of n products of numbers around one, which are added in different orders.
func same(got, want []float32, n int) error {
	bound := float64(n) * math.Ldexp(float64(n), -22)
	for i, x := range got {
		if math.Abs(float64(x-want[i])) > max(bound, 1e-5) {
			return fmt.Errorf("row %d, column %d is %g, want %g", i/n, i%n, x, want[i])
		}
	}
	return nil
}
