package runtime

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/rocm"
)

// vendor is what the tests of graphs ask of the two stand-ins, with the functions'
// names without "cu" and "hip".
type vendor struct {
	prefix string
	lib    interface {
		Fail(name string, code, after, count int)
		Calls(name string) int
		Get(what string) int
	}
	launch string // of one kernel
	fill   string
}

func (r *rig) vendor() vendor {
	if r.standin != nil {
		return vendor{"cu", r.standin, "cuLaunchKernel", "cuMemsetD8Async"}
	}
	return vendor{"hip", r.sim, "hipModuleLaunchKernel", "hipMemsetD8Async"}
}

func (v vendor) fail(name string, code int) { v.lib.Fail(v.prefix+name, code, 0, 1) }
func (v vendor) calls(name string) int      { return v.lib.Calls(v.prefix + name) }

func onVendors(t *testing.T, test func(t *testing.T, r *rig, v vendor)) {
	for _, kind := range []string{"standin", "rocm64", "rocm32"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			test(t, r, r.vendor())
		})
	}
}

// Where the vendor has graphs a launch is one call.
func TestGraphOfTheVendor(t *testing.T) {
	onVendors(t, func(t *testing.T, r *rig, v vendor) {
		fn := r.function(t, "saxpy")
		x, y := upload(t, r, 1, 2), upload(t, r, 5, 5)
		own, err := r.NewStream()
		require.NoError(t, err)
		live := v.lib.Get("graphs")
		g := capture(t, r, func(s *Stream) {
			require.NoError(t, y.ZeroAsync(s))
			for range 4 {
				saxpy(t, s, fn, 1, y, x)
			}
			require.NoError(t, CopyAsync(s, x, y))
		})
		require.Equal(t, live+1, v.lib.Get("graphs"), "what is launched")
		for _, s := range []*Stream{r.DefaultStream(), own} {
			require.NoError(t, g.Launch(s))
		}
		require.Equal(t, []float32{16, 32}, download(t, x))
		require.Equal(t, 2, v.calls("GraphLaunch"))
		require.Zero(t, v.lib.Calls(v.launch))
		require.Zero(t, v.lib.Calls(v.fill))
		require.NoError(t, g.Launch(own))
		require.NoError(t, g.Close(), "while it may run")
		require.Equal(t, live, v.lib.Get("graphs"))
		require.Equal(t, []float32{64, 128}, download(t, x))

		func() { capture(t, r, func(s *Stream) { saxpy(t, s, fn, 1, y, x) }) }()
		require.True(t, collectUntil(func() bool { return v.lib.Get("graphs") == live }), "a dropped graph is destroyed")
		g = capture(t, r, func(s *Stream) { saxpy(t, s, fn, 1, y, x) })
		require.NoError(t, r.Close())
		require.Equal(t, live, v.lib.Get("graphs"), "the device's graphs go with it")
		require.NoError(t, g.Close())
	})
}

// A kernel in a graph is launched as outside of one.
func TestGraphKernelParameters(t *testing.T) {
	r := newRig(t, "standin")
	args := []byte("forty-four bytes of arguments, word by word.")
	fn, top := r.function(t, "nothing"), r.function(t, "sharedtop")
	capture(t, r, func(s *Stream) {
		require.NoError(t, s.Launch(fn, Grid{Dim3{X: 3, Y: 2, Z: 1}, Dim3{X: 64, Y: 4, Z: 2}}, 1024, args))
	})
	last := r.standin.Last()
	require.Equal(t, [3]uint64{3, 2, 1}, last.Grid)
	require.Equal(t, [3]uint64{64, 4, 2}, last.Block)
	require.Equal(t, uint64(1024), last.Shared)
	require.Equal(t, string(args), string(last.Args[:last.Length]))
	capture(t, r, func(s *Stream) {
		require.NoError(t, s.Launch(top, Blocks(1, 1), r.Info().SharedPerBlock, nil), "more shared memory is asked for")
	})
	require.Equal(t, 1, r.standin.Calls("cuFuncSetAttribute"))
	_, err := r.Capture(func(s *Stream) error { return s.Launch(fn, Blocks(1, 1), 0, args[:43]) })
	require.ErrorContains(t, err, "not a whole number of 4-byte words")

	w := newRig(t, "rocm64")
	x := upload(t, w, 1)
	saxpyFn := w.function(t, "saxpy")
	capture(t, w, func(s *Stream) {
		require.NoError(t, s.Launch(saxpyFn, Grid{Dim3{X: 3, Y: 2, Z: 1}, Dim3{X: 64, Y: 4, Z: 2}}, 512, pack(x, x, float32(2))))
	})
	sim := w.sim.Last()
	require.Equal(t, [3]uint64{3, 2, 1}, sim.Grid)
	require.Equal(t, [3]uint64{64, 4, 2}, sim.Block)
	require.Equal(t, uint64(512), sim.Shared)
	require.Equal(t, pack(x, x, float32(2)), sim.Args[:sim.Length])
	_, err = w.Capture(func(s *Stream) error {
		return s.Launch(w.function(t, "nothing"), Blocks(1<<23, 512), 0, nil)
	})
	require.ErrorContains(t, err, "counts the threads of a grid in 32 bits")
}

// refusable is a capture with a node of each kind.
func refusable(t *testing.T, r *rig) (submit func(s *Stream) error, result Slice[float32]) {
	fn := r.function(t, "saxpy")
	x, y := upload(t, r, 1, 2, 3, 4), upload(t, r, 9, 9, 9, 9)
	return func(s *Stream) error {
		require.NoError(t, y.ZeroAsync(s))
		require.NoError(t, Copy2DAsync(s, y, 2, x, 2, 2, 1))
		saxpy(t, s, fn, 1, y, x)
		return nil
	}, y
}

// What the library refuses is reported, and leaves nothing.
func TestGraphFailures(t *testing.T) {
	onVendors(t, func(t *testing.T, r *rig, v vendor) {
		submit, y := refusable(t, r)
		kernelNode := "GraphAddKernelNode"
		if r.standin != nil {
			kernelNode = "GraphAddKernelNode_v2"
		}
		for name, op := range map[string]string{
			"GraphCreate":               "create a graph",
			"GraphAddMemsetNode":        "add a fill to a graph",
			"GraphAddMemcpyNode":        "add a copy to a graph",
			kernelNode:                  "add kernel saxpy to a graph",
			"GraphInstantiateWithFlags": "instantiate a graph",
		} {
			live := v.lib.Get("graphs")
			v.fail(name, 1)
			_, err := r.Capture(submit)
			require.ErrorContains(t, err, r.Name()+": "+op+": ", name)
			require.ErrorContains(t, err, " (1): invalid argument", name)
			require.Equal(t, live, v.lib.Get("graphs"), name)
		}
		v.fail("GraphDestroy", 1)
		live := v.lib.Get("graphs")
		_, err := r.Capture(submit)
		require.ErrorContains(t, err, r.Name()+": destroy a graph: ")
		require.Equal(t, live+1, v.lib.Get("graphs"), "the one that was not destroyed")

		g, err := r.Capture(submit)
		require.NoError(t, err)
		v.fail("GraphLaunch", 1)
		require.ErrorContains(t, g.Launch(r.DefaultStream()), r.Name()+": launch a graph: ")
		require.NoError(t, g.Launch(r.DefaultStream()))
		require.Equal(t, []float32{2, 2, 6, 4}, download(t, y))
		v.fail("GraphExecDestroy", 1)
		require.ErrorContains(t, g.Close(), r.Name()+": destroy a graph: ")
		require.NoError(t, g.Close())
	})
}

// Where the library can do no graph, or not this one, operations are submitted one by
// one.
func TestGraphWithoutTheVendor(t *testing.T) {
	onVendors(t, func(t *testing.T, r *rig, v vendor) {
		submit, y := refusable(t, r)
		refusals := map[string]int{"GraphCreate": 801, "GraphInstantiateWithFlags": 801}
		if r.sim != nil {
			refusals["GraphAddKernelNode"] = 98 // hipErrorInvalidDeviceFunction
		}
		launches := 0
		for name, code := range refusals {
			v.fail(name, code)
			g, err := r.Capture(submit)
			require.NoError(t, err, name)
			for range 2 {
				launches++
				require.NoError(t, g.Launch(r.DefaultStream()), name)
				require.Equal(t, launches, v.lib.Calls(v.launch), name)
			}
			require.Equal(t, []float32{2, 2, 6, 4}, download(t, y), name)
			require.NoError(t, g.Close())
		}
		require.Zero(t, v.calls("GraphLaunch"))
	})
}

// HIP 7 has another hipMemsetParams.
func TestGraphOfHIP7(t *testing.T) {
	old := newRig(t, "rocm64")
	old.sim.Set("hip7", 1)
	r := &rig{kind: "rocm64", sim: old.sim, backend: rocm.New(old.sim.Path)}
	var err error
	r.Device, err = newRegistry(r.backend).openDevice("rocm:0")
	require.NoError(t, err)
	require.Contains(t, r.Info().Driver, "HIP 7.0.")
	submit, y := refusable(t, r)
	g, err := r.Capture(submit)
	require.NoError(t, err)
	require.NoError(t, g.Launch(r.DefaultStream()))
	require.Equal(t, []float32{2, 2, 6, 4}, download(t, y))
	require.Equal(t, 1, r.sim.Calls("hipGraphLaunch"))
	require.NoError(t, r.Close())
}
