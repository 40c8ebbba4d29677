package runtime

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/rocm"
)

// gridKinds are the devices that have cooperative launches.
var gridKinds = []string{"standin", "rocm64", "rocm32", "rocmcuda", "rocm", "cuda"}

// meet loads a kernel whose blocks wait for each other once.
func meet(tb testing.TB, r *rig) *Function {
	tb.Helper()
	fn := r.function(tb, "meet")
	fn.SetGrid(0, []int{0, 8})
	return fn
}

// ordinary is how many launches were not cooperative.
func (r *rig) ordinary() int {
	switch {
	case r.standin != nil:
		return r.standin.Calls("cuLaunchKernel")
	case r.sim != nil:
		return r.sim.Calls("hipModuleLaunchKernel")
	}
	return 0
}

// A kernel with barriers of the grid runs on streams and in graphs, which are launched time and again.
func TestGridBarrier(t *testing.T) {
	for _, kind := range gridKinds {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			require.True(t, r.Info().GridBarriers)
			fn := meet(t, r)
			most, err := fn.ResidentBlocks(Dim3{X: 64, Y: 1, Z: 1}, 0)
			require.NoError(t, err)
			require.Positive(t, most)
			own, err := r.NewStream()
			require.NoError(t, err)
			launch := func(s *Stream) { require.NoError(t, s.Launch(fn, Blocks(7, 64), 0, nil)) }
			for range 3 {
				launch(r.DefaultStream())
				launch(own)
			}
			g := capture(t, r, func(s *Stream) {
				fork, err := s.Fork()
				require.NoError(t, err)
				launch(s)
				launch(fork)
				launch(s)
			})
			other := capture(t, r, launch)
			for range 3 {
				require.NoError(t, g.Launch(r.DefaultStream()))
				require.NoError(t, other.Launch(own))
				launch(own)
			}
			require.NoError(t, r.Sync())
			require.Zero(t, r.ordinary())

			text := fmt.Sprintf("has %d blocks of 64 threads; the device holds %d at the same time", most+1, most)
			require.ErrorContains(t, own.Launch(fn, Blocks(most+1, 64), 0, nil), text)
			_, err = r.Capture(func(s *Stream) error { return s.Launch(fn, Blocks(most+1, 64), 0, nil) })
			require.ErrorContains(t, err, text)
			require.NoError(t, g.Close())
			require.NoError(t, other.Close())
			launch(own)
			require.NoError(t, own.Sync())
			if !raceEnabled {
				clearing := testing.AllocsPerRun(200, func() { _ = own.drv.Fill(own.grid.buf.mem.addr, 0, gridBytes) })
				require.Less(t, testing.AllocsPerRun(200, func() { launch(own) })-clearing, 0.1, "more than clearing the words takes")
			}
			require.NoError(t, own.Sync())
		})
	}
}

// CUDA's graphs have cooperative launches; HIP's operations are submitted one by one.
func TestGraphOfGridBarriers(t *testing.T) {
	onVendors(t, func(t *testing.T, r *rig, v vendor) {
		fn := meet(t, r)
		launch := func(s *Stream) { require.NoError(t, s.Launch(fn, Blocks(5, 32), 0, nil)) }
		g := capture(t, r, func(s *Stream) { launch(s); launch(s) })
		for range 2 {
			require.NoError(t, g.Launch(r.DefaultStream()))
		}
		require.NoError(t, r.Sync())
		if r.standin == nil {
			require.Zero(t, v.calls("GraphLaunch"))
			require.Equal(t, 4, v.calls("ModuleLaunchCooperativeKernel"))
			return
		}
		require.Equal(t, 2, v.calls("GraphLaunch"))
		require.Equal(t, 2, v.calls("GraphKernelNodeSetAttribute"))
		require.Equal(t, 2, v.calls("GraphAddMemsetNode"), "the words are cleared by each launch of the graph")
		v.fail("GraphKernelNodeSetAttribute", 801)
		g = capture(t, r, launch)
		require.NoError(t, g.Launch(r.DefaultStream()))
		require.NoError(t, r.Sync())
		require.Equal(t, 2, v.calls("GraphLaunch"), "it is not the vendor's")
		require.Equal(t, uint64(1), r.standin.Last().Cooperative)
	})
}

// What can run at the same time arrives at words of its own.
func TestGridBarrierWords(t *testing.T) {
	r := newRig(t, "standin")
	fn := meet(t, r)
	seen := map[uint64]string{}
	launch := func(where string, s *Stream) {
		require.NoError(t, s.Launch(fn, Blocks(2, 32), 0, nil))
		words := binary.LittleEndian.Uint64(r.standin.Last().Args[:])
		require.Contains(t, []string{"", where}, seen[words], "shared")
		seen[words] = where
	}
	own, err := r.NewStream()
	require.NoError(t, err)
	for range 2 {
		launch("default", r.DefaultStream())
		launch("own", own)
	}
	require.Len(t, seen, 2)
	var graphs []*Graph
	for range 2 {
		graphs = append(graphs, capture(t, r, func(s *Stream) {
			fork, err := s.Fork()
			require.NoError(t, err)
			require.NoError(t, s.Launch(fn, Blocks(2, 32), 0, nil))
			require.NoError(t, fork.Launch(fn, Blocks(2, 32), 0, nil))
		}))
	}
	words := map[driver.Addr]bool{}
	for _, g := range graphs {
		for b := range g.body.held {
			words[b.addr] = true
			require.NotContains(t, seen, uint64(b.addr))
		}
		require.NoError(t, g.Close())
	}
	require.Len(t, words, 4)
}

// A device without such launches refuses the kernel by name.
func TestNoGridBarriers(t *testing.T) {
	old := newRig(t, "rocm64")
	old.sim.Set("cooperative", 0)
	r := &rig{kind: "rocm64", sim: old.sim, backend: rocm.New(old.sim.Path)}
	var err error
	r.Device, err = newRegistry(r.backend).openDevice("rocm:0")
	require.NoError(t, err)
	require.False(t, r.Info().GridBarriers)
	fn := meet(t, r)
	const text = "the kernel waits for its whole grid (t.SyncGrid), for which the device or its driver has no launches"
	require.ErrorContains(t, r.DefaultStream().Launch(fn, Blocks(1, 32), 0, nil), "launch meet: "+text)
	_, err = r.Capture(func(s *Stream) error { return s.Launch(fn, Blocks(1, 32), 0, nil) })
	require.ErrorContains(t, err, text)
	_, err = fn.ResidentBlocks(Dim3{X: 32, Y: 1, Z: 1}, 0)
	require.ErrorContains(t, err, "count the resident blocks of meet")

	old.sim.Fail("hipModuleLaunchCooperativeKernel", 720, 0, 1)
	fn = meet(t, old)
	err = old.DefaultStream().Launch(fn, Blocks(1, 32), 0, nil)
	require.ErrorIs(t, err, ErrInvalid, "the runtime itself counts, too")
	require.ErrorContains(t, err, "hipErrorCooperativeLaunchTooLarge (720)")
	fn.SetGrid(0, []int{0, 24})
	require.ErrorContains(t, old.DefaultStream().Launch(fn, Blocks(1, 32), 0, nil), "the argument block ends after 16 bytes, and the kernel has a parameter at 24")
	require.NoError(t, r.Close())
}
