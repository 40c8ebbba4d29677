package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/grid"
)

// RunGrid runs kernels whose blocks all wait for each other. A target without such barriers has to
// refuse them by name, in the line of the first one.
func RunGrid(t *testing.T, dev *runtime.Device) {
	lacks := slices.Contains(withoutGrid, targetOf(t, dev).Kind)
	for _, c := range gridCases() {
		for _, checked := range []bool{false, true} {
			err := check(dev, c, checked)
			if lacks {
				require.ErrorIs(t, err, compiler.ErrUnsupported, c.Name)
				require.ErrorContains(t, err, "barrier of the grid is not available on ", c.Name)
				require.Regexp(t, `grid\.go:\d+`, err.Error(), c.Name)
				continue
			}
			require.NoError(t, err, "%s, checked: %t", c.Name, checked)
		}
	}
	if !lacks {
		gridErrors(t, dev)
		gridGraphs(t, dev)
	}
}

// gridGraphs launches graphs of such kernels time and again, beside each other and a stream. Each launch goes on
// with what the one before it has left.
func gridGraphs(t *testing.T, dev *runtime.Device) {
	const n, steps, rounds, each = 3000, 5, 3, 2
	first := make([]int32, n)
	for i := range first {
		first[i] = int32(i * i % 1000)
	}
	want, x, y := make([]int32, n), slices.Clone(first), make([]int32, n)
	for range rounds * each {
		diffuse(want, x, y, steps)
	}
	var submit []func() error
	var results []runtime.Slice[int32]
	for i := range 3 {
		s, err := dev.NewStream()
		require.NoError(t, err)
		x, err := runtime.From(dev, first)
		require.NoError(t, err)
		y, err := runtime.Alloc[int32](dev, n)
		require.NoError(t, err)
		out, err := runtime.Alloc[int32](dev, n)
		require.NoError(t, err)
		work := func(s *runtime.Stream) error {
			for range each {
				if err := jit.Of(grid.Diffuse).Launch(s, runtime.Grid{Blocks: dsl.D1(7), Threads: dsl.D1(64)}, out, x, y, steps); err != nil {
					return err
				}
			}
			return nil
		}
		results, submit = append(results, out), append(submit, func() error { return work(s) })
		if i > 0 {
			g, err := dev.Capture(work)
			require.NoError(t, err)
			defer g.Close()
			submit[i] = func() error { return g.Launch(s) }
		}
	}
	for range rounds {
		for i := range submit {
			require.NoError(t, submit[i]())
		}
	}
	require.NoError(t, dev.Sync())
	for _, r := range results {
		got, err := r.Host()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// diffuse is grid.Diffuse, step by step.
func diffuse(out, x, y []int32, steps int) {
	for range steps {
		for i := range x {
			left, right := (i+len(x)-1)%len(x), (i+1)%len(x)
			y[i] = x[left] + 2*x[i] - x[right]
		}
		x, y = y, x
	}
	for i := range x {
		out[i] = x[len(x)-1-i]
	}
}

func gridCases() []Case {
	const n, blocks = 3000, 7
	numbers, floats := make([]int32, n), make([]float32, n)
	for i := range numbers {
		numbers[i], floats[i] = int32(i*i%1000), float32(i%16)
	}
	return []Case{
		{Name: "Diffuse", Kernel: grid.Diffuse, Grid: dsl.D1(blocks), Threads: dsl.D1(64),
			Args: []any{make([]int32, n), numbers, make([]int32, n), 9}},
		{Name: "Diffuse of many blocks", Kernel: grid.Diffuse, Grid: dsl.D1(60), Threads: dsl.D1(32),
			Args: []any{make([]int32, n), numbers, make([]int32, n), 4}},
		{Name: "Diffuse of one block", Kernel: grid.Diffuse, Grid: dsl.D1(1), Threads: dsl.D1(256),
			Args: []any{make([]int32, n), numbers, make([]int32, n), 3}},
		{Name: "Normalise", Kernel: grid.Normalise, Grid: dsl.D1(blocks), Threads: dsl.D1(128),
			Args: []any{make([]float32, n+blocks), make([]float32, blocks), floats}},
		{Name: "Until", Kernel: grid.Until, Grid: dsl.D1(blocks), Threads: dsl.D1(64),
			Args: []any{numbers, make([]int32, 20), int32(5), make([]int32, 1)}},
	}
}

// gridErrors looks at what is reported of launches that cannot go well.
func gridErrors(t *testing.T, dev *runtime.Device) {
	s, err := dev.NewStream()
	require.NoError(t, err)
	launch := func(k *jit.Kernel, blocks int) error {
		x, err := runtime.Alloc[int32](dev, 1<<20)
		require.NoError(t, err)
		if err := k.Launch(s, runtime.Grid{Blocks: dsl.D1(blocks), Threads: dsl.D1(32)}, x); err != nil {
			return err
		}
		return s.Sync()
	}
	require.ErrorContains(t, launch(jit.Of(grid.Racy), 1<<15), "the kernel waits for its whole grid (t.SyncGrid)")
	require.NoError(t, launch(jit.Of(grid.Racy), 3))

	most, err := jit.Of(grid.Racy).ResidentBlocks(dev, dsl.D1(32), 0)
	require.NoError(t, err)
	require.NoError(t, launch(jit.Of(grid.Racy), most))
	require.ErrorContains(t, launch(jit.Of(grid.Racy), most+1), fmt.Sprintf("%d blocks", most+1))
	for _, threads := range []int{0, 2048} {
		_, err = jit.Of(grid.Racy).ResidentBlocks(dev, dsl.D1(threads), 0)
		require.ErrorContains(t, err, fmt.Sprintf("%d threads", threads))
	}
	if dev.Info().Kind == "cpu" { // whose checked code looks for races
		require.ErrorContains(t, launch(jit.Of(grid.Racy).Checked(), 3), "data race on")
		require.ErrorContains(t, launch(jit.Of(grid.Left).Checked(), 3), "data race on")
	}
}
