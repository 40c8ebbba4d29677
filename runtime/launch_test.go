package runtime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSaxpy(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		for _, n := range []int{1, 31, 256, 257, 100_003} {
			y, err := From(r.Device, ramp(n, 1))
			require.NoError(t, err)
			x, err := From(r.Device, ramp(n, 2))
			require.NoError(t, err)
			saxpy(t, r.DefaultStream(), fn, 0.5, y, x)
			got, err := y.Host()
			require.NoError(t, err)
			require.Equal(t, ramp(n, 2), got)
		}
	})
}

func TestGrid(t *testing.T) {
	for _, c := range []struct{ n, threads, blocks int }{
		{0, 256, 0}, {-5, 256, 0}, {1, 256, 1}, {256, 256, 1}, {257, 256, 2}, {5, 0, 0}, {1<<62 + 1, 1, 1<<62 + 1},
	} {
		require.Equal(t, Grid{Dim3{X: c.blocks}, Dim3{X: c.threads}}, Cover(c.n, c.threads))
	}
	require.Equal(t, 24, Dim3{X: 2, Y: 3, Z: 4}.Count())
	require.Equal(t, 2, Dim3{X: 2}.Count())
	require.Equal(t, 0, Dim3{}.Count())
}

func TestLaunchRefusals(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn, st := r.function(t, "nothing"), r.DefaultStream()
		require.NoError(t, st.Launch(fn, Cover(0, 256), 0, nil), "no blocks: nothing to do")
		require.NoError(t, st.Launch(fn, Grid{Dim3{X: 2, Y: 3, Z: 4}, Dim3{X: 4, Y: 4, Z: 4}}, 0, nil))
		for text, g := range map[string]Grid{
			"-1 blocks in X":           Blocks(-1, 32),
			"blocks in Y":              {Dim3{X: 1, Y: 1 << 20, Z: 1}, Dim3{X: 1}},
			"0 threads":                Blocks(1, 0),
			"threads of a block in Z":  {Dim3{X: 1}, Dim3{X: 1, Y: 1, Z: r.Info().MaxBlock[2] + 1}},
			"blocks of 2048 threads":   {Dim3{X: 1}, Dim3{X: 64, Y: 32, Z: 1}},
			"100000 threads of a":      Blocks(1, 100000),
			"-3 threads of a block in": {Dim3{X: 1}, Dim3{X: 1, Y: -3, Z: 1}},
		} {
			err := st.Launch(fn, g, 0, nil)
			require.ErrorIs(t, err, ErrInvalid, text)
			require.ErrorContains(t, err, text)
			require.ErrorContains(t, err, "launch nothing")
		}
		require.ErrorContains(t, st.Launch(fn, Blocks(1, 1), 1<<20, nil), "dynamic shared memory")
		require.ErrorContains(t, st.Launch(fn, Blocks(1, 1), -1, nil), "dynamic shared memory")
		require.ErrorIs(t, st.Launch(nil, Blocks(1, 1), 0, nil), ErrInvalid)
		require.NoError(t, r.Sync())
	})
	a, b := newRig(t, "cpu"), newRig(t, "standin")
	require.ErrorContains(t, a.DefaultStream().Launch(b.function(t, "nothing"), Blocks(1, 1), 0, nil), "not loaded on this device")
}

func TestLaunchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	onEach(t, func(t *testing.T, r *rig) {
		fn, st := r.function(t, "saxpy"), r.DefaultStream()
		y, err := From(r.Device, ramp(10, 1))
		require.NoError(t, err)
		packed := pack(y, y, float32(0))
		launch := func() {
			var args [40]byte // on the stack, as a launcher's may be
			copy(args[:], packed)
			if err := st.Launch(fn, Blocks(1, 32), 0, args[:len(packed)]); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			launch()
		}
		require.NoError(t, st.Sync())
		require.Less(t, testing.AllocsPerRun(500, launch), 0.1)
		goruntime.KeepAlive(y.Buffer())
	})
}

func TestArgumentBlock(t *testing.T) {
	r := newRig(t, "standin")
	st, err := r.NewStream()
	require.NoError(t, err)
	args := []byte("forty-four bytes of arguments, word by word.")
	require.NoError(t, st.Launch(r.function(t, "nothing"), Grid{Dim3{X: 3, Y: 2, Z: 1}, Dim3{X: 64}}, 1024, args))
	last := r.standin.Last()
	require.Equal(t, [3]uint64{3, 2, 1}, last.Grid)
	require.Equal(t, [3]uint64{64, 1, 1}, last.Block)
	require.Equal(t, uint64(1024), last.Shared)
	require.NotZero(t, last.Stream)
	require.Equal(t, string(args), string(last.Args[:last.Length]))
	err = st.Launch(r.function(t, "nothing"), Blocks(1, 1), 0, args[:43])
	require.ErrorIs(t, err, ErrInvalid, "the driver would drop the last three bytes")
	require.NoError(t, r.DefaultStream().Launch(r.function(t, "nothing"), Blocks(1, 1), 0, nil))
	require.Zero(t, r.standin.Last().Stream, "the default stream is the legacy stream")
}

// A kernel that waits for the one before it may start early, but not in a graph, whose
// kernels are started by the device.
func TestOverlap(t *testing.T) {
	r := newRig(t, "standin")
	img := r.image()
	img.Overlaps = true
	m, err := r.Load(img)
	require.NoError(t, err)
	fn, err := m.Function("nothing")
	require.NoError(t, err)
	args := []byte("eight by")
	launch := func(s *Stream) error { return s.Launch(fn, Grid{Dim3{X: 3, Y: 2, Z: 1}, Dim3{X: 64}}, 1024, args) }
	require.NoError(t, launch(r.DefaultStream()))
	last := r.standin.Last()
	require.Equal(t, uint64(1), last.Early)
	require.Equal(t, [3]uint64{3, 2, 1}, last.Grid)
	require.Equal(t, [3]uint64{64, 1, 1}, last.Block)
	require.Equal(t, uint64(1024), last.Shared)
	require.Equal(t, string(args), string(last.Args[:last.Length]))
	require.Zero(t, r.standin.Calls("cuLaunchKernel"))
	require.Less(t, testing.AllocsPerRun(100, func() { _ = launch(r.DefaultStream()) }), 0.1)
	r.standin.Fail("cuLaunchKernelEx", 1, 0, 1)
	require.ErrorContains(t, launch(r.DefaultStream()), "launch nothing: CUDA_ERROR_INVALID_VALUE")

	require.NoError(t, r.DefaultStream().Launch(r.function(t, "nothing"), Blocks(1, 1), 0, nil))
	require.Zero(t, r.standin.Last().Early, "an image that says nothing of it")
}

// More than 48 KiB of shared memory has to be asked for.
func TestDynamicSharedMemory(t *testing.T) {
	for _, kind := range []string{"standin", "cuda"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			fn, size := r.function(t, "sharedtop"), r.Info().SharedPerBlock
			require.Greater(t, size, 48<<10)
			for _, bytes := range []int{1024, size, 64 << 10} {
				out, err := Alloc[float32](r.Device, 1)
				require.NoError(t, err)
				require.NoError(t, out.Zero())
				require.NoError(t, r.DefaultStream().Launch(fn, Blocks(1, 1), bytes, pack(out, uint64(bytes))))
				got, err := out.Host()
				require.NoError(t, err)
				if r.standin == nil {
					require.Equal(t, []float32{7}, got)
				}
			}
			if r.standin != nil {
				require.Equal(t, 1, r.standin.Calls("cuFuncSetAttribute"), "asked once for the largest")
				r.standin.Fail("cuFuncSetAttribute", 1, 0, 1)
				err := r.DefaultStream().Launch(r.function(t, "sharedtop"), Blocks(1, 1), size, nil)
				require.ErrorContains(t, err, "launch sharedtop: CUDA_ERROR_INVALID_VALUE")
			}
		})
	}
}

// Shared memory that the code of an image needs is asked for in every launch.
func TestSharedMemoryOfImages(t *testing.T) {
	for _, kind := range []string{"standin", "cuda"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			load := func(bytes int) (*Function, error) {
				img := r.image()
				img.Shared = bytes
				m, err := r.Load(img)
				require.NoError(t, err)
				return m.Function("sharedtop")
			}
			size := r.Info().SharedPerBlock
			_, err := load(size + 1)
			require.ErrorIs(t, err, ErrInvalid)
			require.ErrorContains(t, err, fmt.Sprintf("kernel sharedtop: %d bytes of shared memory; a block can have %d: use smaller dsl.Shared arrays", size+1, size))
			fn, err := load(100 << 10)
			require.NoError(t, err)
			require.Equal(t, 100<<10, fn.Info().Shared)
			out, err := Alloc[float32](r.Device, 1)
			require.NoError(t, err)
			launch := func(s *Stream, more int) error {
				return s.Launch(fn, Blocks(1, 1), more, pack(out, uint64(100<<10+more)))
			}
			require.NoError(t, launch(r.DefaultStream(), 0))
			require.NoError(t, launch(r.DefaultStream(), 0))
			g, err := r.Capture(func(s *Stream) error { return launch(s, 1024) })
			require.NoError(t, err)
			require.NoError(t, g.Launch(r.DefaultStream()))
			require.ErrorContains(t, launch(r.DefaultStream(), size-100<<10+1), "dynamic shared memory and 102400 that the kernel has; a block can have")
			got, err := out.Host()
			require.NoError(t, err)
			if r.standin == nil {
				require.Equal(t, []float32{7}, got)
				return
			}
			require.Equal(t, uint64(101<<10), r.standin.Last().Shared)
			require.Equal(t, 2, r.standin.Calls("cuFuncSetAttribute"), "asked once for each maximum")
		})
	}
}

func TestStreamsAreOrderedByEvents(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn, spin := r.function(t, "saxpy"), r.function(t, "spin")
		a, err := r.NewStream()
		require.NoError(t, err)
		b, err := r.NewStream()
		require.NoError(t, err)
		e, err := r.NewEvent()
		require.NoError(t, err)
		require.Equal(t, r.Device, a.Device())
		for range 5 {
			x, err := From(r.Device, ramp(1000, 1))
			require.NoError(t, err)
			y, err := From(r.Device, ramp(1000, 0))
			require.NoError(t, err)
			z, err := From(r.Device, ramp(1000, 0))
			require.NoError(t, err)
			require.NoError(t, a.Launch(spin, Blocks(1, 1), 0, pack(3*time.Millisecond)))
			saxpy(t, a, fn, 2, y, x)
			require.NoError(t, a.Record(e))
			require.NoError(t, b.Wait(e))
			saxpy(t, b, fn, 3, z, y)
			got, err := z.Host() // on the default stream: after both
			require.NoError(t, err)
			require.Equal(t, ramp(1000, 6), got)
		}
		require.ErrorIs(t, a.Record(nil), ErrInvalid)
		require.ErrorIs(t, a.Wait(nil), ErrInvalid)
	})
}

func TestEventsMeasureTime(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		spin, st := r.function(t, "spin"), r.DefaultStream()
		start, err := r.NewEvent()
		require.NoError(t, err)
		end, err := r.NewEvent()
		require.NoError(t, err)
		_, err = end.Elapsed(start)
		require.ErrorIs(t, err, ErrNotReady, "not recorded")
		require.NoError(t, st.Record(start))
		require.NoError(t, st.Launch(spin, Blocks(1, 1), 0, pack(300*time.Millisecond)))
		require.NoError(t, st.Record(end))
		done, err := end.Done()
		require.NoError(t, err)
		require.False(t, done, "a launch must not wait")
		_, err = end.Elapsed(start)
		require.ErrorIs(t, err, ErrNotReady, "not reached")
		require.NoError(t, end.Sync())
		done, err = end.Done()
		require.NoError(t, err)
		require.True(t, done)
		d, err := end.Elapsed(start)
		require.NoError(t, err)
		require.GreaterOrEqual(t, d, 299*time.Millisecond, "no upper limit: the machine may be busy")
		_, err = end.Elapsed(nil)
		require.ErrorIs(t, err, ErrInvalid)
	})
}

func TestImages(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		_, err := r.Load(Image{Format: "spirv", Name: "k", Code: []byte("x")})
		require.ErrorIs(t, err, ErrBadImage)
		require.ErrorContains(t, err, "not spirv")
		img := r.image()
		img.Name, img.Code = "saxpy", []byte(".version 7.0\nthis is not code\n")
		_, err = r.Load(img)
		require.ErrorIs(t, err, ErrBadImage)
		require.ErrorContains(t, err, "load kernel saxpy")
		img = r.image()
		img.Name = "saxpy"
		mod, err := r.Load(img)
		require.NoError(t, err)
		_, err = mod.Function("nosuchkernel")
		require.ErrorIs(t, err, ErrNotFound)
		require.ErrorContains(t, err, "nosuchkernel")
		fn, err := mod.Function("saxpy")
		require.NoError(t, err)
		require.Equal(t, "saxpy", fn.Name())
		require.Equal(t, r.Device, fn.Device())
		require.Equal(t, fn.Info().MaxThreads, fn.MaxThreads())
		require.GreaterOrEqual(t, fn.MaxThreads(), 256)
		if r.kind == "cpu" {
			return
		}
		if r.metal == nil { // Metal does not say
			require.Positive(t, fn.Info().Registers)
		}
		_, err = r.Load(Image{Format: r.image().Format, Name: "k"})
		require.ErrorContains(t, err, "empty")
	})
}

// A driver is asked for registers only when somebody wants to know, not for each of the
// kernels of a process.
func TestInfoIsAskedFor(t *testing.T) {
	for _, kind := range []string{"standin", "rocm64"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			asked := func() int { return r.vendor().calls("FuncGetAttribute") }
			fn := r.function(t, "saxpy")
			require.Equal(t, 2, asked())
			info := fn.Info()
			require.Equal(t, 4, asked())
			require.Positive(t, info.Registers)
			require.Equal(t, "saxpy", info.Name)
			require.NoError(t, r.Close())
			closed := fn.Info()
			require.Equal(t, 4, asked())
			info.Registers, info.Local = 0, 0
			require.Equal(t, info, closed)
		})
	}
}

const brokenPTX = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry broken() {\n\tbogus.instruction;\n}\n"

func TestCompilerLog(t *testing.T) {
	for _, kind := range []string{"standin", "cuda"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			bad := Image{Format: "ptx", Name: "broken", Code: []byte(brokenPTX)}
			_, loadErr := r.Load(bad)
			_, _, finalErr := r.Finalize(bad)
			for _, err := range []error{loadErr, finalErr} {
				require.ErrorIs(t, err, ErrBadImage)
				e, ok := errors.AsType[*Error](err)
				require.True(t, ok)
				require.Equal(t, "CUDA_ERROR_INVALID_PTX", e.Name)
				require.Equal(t, 218, e.Code)
				require.Contains(t, e.Log, "ptx")
				require.NotContains(t, err.Error(), "\n", "one line")
				require.Contains(t, fmt.Sprintf("%+v", err), strings.TrimSpace(e.Log))
			}
		})
	}
}

func TestFinalize(t *testing.T) {
	for _, kind := range []string{"standin", "rocm64", "rocm32", "metal", "rocm", "cuda"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			require.Contains(t, r.FinalKey(), r.Info().Arch)
			img := r.image()
			img.Name, img.LineInfo, img.MaxRegisters = "saxpy", true, 64
			final, log, err := r.Finalize(img)
			require.NoError(t, err)
			t.Log(log)
			if r.standin != nil { // what a real log says is the vendor's business
				require.Contains(t, log, "registers")
			}
			require.Equal(t, r.Info().Formats[0], final.Format)
			if r.metal == nil {
				require.Equal(t, "\x7fELF", string(final.Code[:4]))
			}
			again, _, err := r.Finalize(final)
			require.NoError(t, err)
			require.Equal(t, final, again)

			mod, err := r.Load(final)
			require.NoError(t, err)
			fn, err := mod.Function("saxpy")
			require.NoError(t, err)
			y, err := From(r.Device, ramp(500, 1))
			require.NoError(t, err)
			saxpy(t, r.DefaultStream(), fn, 4, y, y)
			got, err := y.Host()
			require.NoError(t, err)
			require.Equal(t, ramp(500, 5), got)
		})
	}
	r := newRig(t, "cpu")
	same, log, err := r.Finalize(r.image())
	require.NoError(t, err)
	require.Empty(t, log)
	require.Equal(t, r.image(), same)
	require.Empty(t, r.FinalKey())
}

func TestFaultOnCPU(t *testing.T) {
	r := newRig(t, "cpu")
	fault, fn := r.function(t, "fault"), r.function(t, "saxpy")
	y, err := From(r.Device, ramp(10, 1))
	require.NoError(t, err)
	require.NoError(t, r.DefaultStream().Launch(fault, Blocks(1, 1), 0, nil), "a launch does not wait")
	saxpy(t, r.DefaultStream(), fn, 1, y, y)
	got, err := y.Host()
	require.NoError(t, err, "it has nothing to do with it")
	require.Equal(t, ramp(10, 2), got)
	err = r.DefaultStream().Sync()
	require.ErrorIs(t, err, ErrLaunch)
	require.ErrorIs(t, err, errFakeFault)
	require.EqualError(t, err, "cpu: kernel fault failed: index 7 out of range with length 4")
	require.NoError(t, r.DefaultStream().Sync(), "it is reported once")

	require.NoError(t, r.DefaultStream().Launch(fault, Blocks(1, 1), 0, pack(y, y, float32(1))))
	for range 2 {
		_, err = y.Host()
		require.ErrorIs(t, err, errFakeFault, "whatever its arguments point to counts as written")
		require.ErrorContains(t, err, "launch_test.go:")
	}
}

// faultSequence provokes a fault and checks what the device says; it is run
// where the device can be spared.
func faultSequence(t require.TestingT, r *rig, fault, fn *Function) {
	st := r.DefaultStream()
	y, err := From(r.Device, ramp(10, 1))
	require.NoError(t, err)
	require.NoError(t, st.Launch(fn, Blocks(1, 32), 0, pack(y, y, float32(1))))
	require.NoError(t, st.Sync())
	require.NoError(t, st.Launch(fault, Blocks(1, 1), 0, pack(uint64(16))), "a launch does not wait")
	err = st.Sync()
	require.ErrorIs(t, err, ErrLaunch)
	require.ErrorContains(t, err, r.Name()+": ")
	name := "CUDA_ERROR_ILLEGAL_ADDRESS (700)"
	if r.sim != nil {
		name = "hipErrorIllegalAddress (700)"
	}
	require.ErrorContains(t, err, "kernel fault failed: "+name)

	_, again := y.Host()
	require.ErrorIs(t, again, err, "the device is lost")
	require.ErrorIs(t, st.Launch(fn, Blocks(1, 1), 0, nil), err)
	_, again = Alloc[int](r.Device, 1)
	require.ErrorIs(t, again, err)
	require.ErrorIs(t, r.Sync(), err)
	_, again = r.NewStream()
	require.ErrorIs(t, again, err)
	_, again = r.NewEvent()
	require.ErrorIs(t, again, err)
	_, again = r.Load(r.image())
	require.ErrorIs(t, again, err)
	_, _, again = r.Finalize(r.image())
	require.ErrorIs(t, again, err)
	_, _, again = r.MemInfo()
	require.ErrorIs(t, again, err)
	require.NoError(t, y.Slice(0, 0).Zero())
}

func TestFaultOnStandin(t *testing.T) {
	for _, kind := range []string{"standin", "rocm64", "rocm32"} {
		r := newRig(t, kind)
		faultSequence(t, r, r.function(t, "fault"), r.function(t, "saxpy"))
	}
}

const faultChild = "KILN_TEST_FAULT_CHILD"

// A fault costs a process its context, so it happens in a child.
func TestFaultOnCUDA(t *testing.T) {
	newRig(t, "cuda").Close()
	for _, mode := range []string{"async", "blocking"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), faultChild+"="+mode)
		if mode == "blocking" {
			cmd.Env = append(cmd.Env, "KILN_LAUNCH_BLOCKING=1")
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "as it should be")
		t.Logf("%s", out)
	}
}

// failer is a testing.T for the child process.
type failer struct{}

func (failer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (failer) FailNow()                          { os.Exit(1) }

func faultInChild() {
	backend := realCUDA()
	r := &rig{kind: "cuda", backend: backend, registry: newRegistry(backend)}
	var err error
	r.Device, err = r.registry.openDevice("cuda")
	require.NoError(failer{}, err)
	img := r.image()
	mod, err := r.Load(img)
	require.NoError(failer{}, err)
	fault, err := mod.Function("fault")
	require.NoError(failer{}, err)
	fn, err := mod.Function("saxpy")
	require.NoError(failer{}, err)
	if os.Getenv(faultChild) == "blocking" {
		err := r.DefaultStream().Launch(fault, Blocks(1, 1), 0, pack(uint64(16)))
		require.ErrorContains(failer{}, err, "kernel fault failed")
		fmt.Println(err)
	} else {
		faultSequence(failer{}, r, fault, fn)
		fmt.Println(r.Sync())
	}
	fmt.Println("as it should be")
	os.Exit(0)
}

// Which kernel failed is not known when several were in flight.
func TestFaultNamesAllSuspects(t *testing.T) {
	r := newRig(t, "standin")
	fault, fn, spin := r.function(t, "fault"), r.function(t, "nothing"), r.function(t, "spin")
	other, err := r.NewStream()
	require.NoError(t, err)
	require.NoError(t, other.Launch(spin, Blocks(1, 1), 0, pack(5*time.Millisecond)))
	require.NoError(t, other.Launch(fault, Blocks(1, 1), 0, pack(uint64(16))))
	for range 2 {
		require.NoError(t, r.DefaultStream().Launch(fn, Blocks(1, 1), 0, nil))
	}
	require.ErrorContains(t, r.Sync(), "a kernel failed, one of nothing, fault, spin (KILN_LAUNCH_BLOCKING=1 tells which)")

	r = newRig(t, "standin")
	fault, fn, spin = r.function(t, "fault"), r.function(t, "nothing"), r.function(t, "spin")
	st := r.DefaultStream()
	require.NoError(t, st.Launch(spin, Blocks(1, 1), 0, pack(5*time.Millisecond)))
	require.NoError(t, st.Launch(fault, Blocks(1, 1), 0, pack(uint64(16))))
	for range 20 {
		require.NoError(t, st.Launch(fn, Blocks(1, 1), 0, nil))
	}
	require.ErrorContains(t, st.Sync(), "one of nothing, 6 launches before")
}

func TestBlockingLaunchesBadValue(t *testing.T) {
	t.Setenv("KILN_LAUNCH_BLOCKING", "yes")
	_, err := Open("auto")
	require.ErrorIs(t, err, ErrInvalid)
	require.EqualError(t, err, "KILN_LAUNCH_BLOCKING=yes: want 1 or 0: invalid argument")
}

func TestBlockingLaunches(t *testing.T) {
	t.Setenv("KILN_LAUNCH_BLOCKING", "1")
	for _, kind := range []string{"cpu", "standin", "rocm64"} {
		r := newRig(t, kind)
		ok := r.function(t, "nothing")
		require.NoError(t, r.DefaultStream().Launch(ok, Blocks(1, 1), 0, nil))
		err := r.DefaultStream().Launch(r.function(t, "fault"), Blocks(1, 1), 0, pack(uint64(16)))
		require.ErrorIs(t, err, ErrLaunch)
		require.ErrorContains(t, err, "kernel fault failed")
	}
}

func TestLaunchFailures(t *testing.T) {
	r := newRig(t, "standin")
	fn, st := r.function(t, "nothing"), r.DefaultStream()
	r.standin.Fail("cuLaunchKernel", 701, 0, 1)
	err := st.Launch(fn, Blocks(1, 1), 0, nil)
	require.ErrorIs(t, err, ErrLaunch)
	require.EqualError(t, err, "cuda:0: launch nothing: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): too many resources requested for launch")
	require.NoError(t, st.Launch(fn, Blocks(1, 1), 0, nil), "that does not lose the device")
	r.standin.Fail("cuCtxSetCurrent", 201, 0, 1)
	require.ErrorContains(t, st.Launch(fn, Blocks(1, 1), 0, nil), "CUDA_ERROR_INVALID_CONTEXT")
	r.standin.Fail("cuStreamSynchronize", 98765, 0, 1)
	require.ErrorContains(t, st.Sync(), "wait for the stream: CUDA error 98765 (98765)")
	for name, use := range map[string]func() error{
		"cuStreamCreate":     func() error { _, err := r.NewStream(); return err },
		"cuEventCreate":      func() error { _, err := r.NewEvent(); return err },
		"cuMemGetInfo_v2":    func() error { _, _, err := r.MemInfo(); return err },
		"cuMemHostAlloc":     func() error { _, err := AllocPinned[int](r.Device, 1); return err },
		"cuCtxSynchronize":   r.Sync,
		"cuFuncGetAttribute": func() error { m, _ := r.Load(r.image()); _, err := m.Function("nothing"); return err },
		"cuLinkCreate_v2":    func() error { _, _, err := r.Finalize(r.image()); return err },
		"cuLinkComplete":     func() error { _, _, err := r.Finalize(r.image()); return err },
	} {
		r.standin.Fail(name, 1, 0, 1)
		require.ErrorContains(t, use(), "CUDA_ERROR_INVALID_VALUE (1)", name)
		require.NoError(t, use(), name)
	}
}

// Many goroutines on any thread share a device.
func TestConcurrentUse(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				if err := hammer(r, fn, g); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.NoError(t, r.Sync())
		require.True(t, collectUntil(func() bool { return r.Stats().Buffers == 0 }), "%+v", r.Stats())
	})
}

func hammer(r *rig, fn *Function, g int) error {
	st := r.DefaultStream()
	if g%2 == 1 {
		var err error
		if st, err = r.NewStream(); err != nil {
			return err
		}
	}
	for i := range 30 {
		n := 100 + g*997*(i%3)
		y, err := AllocOn[float32](st, n)
		if err != nil {
			return err
		}
		if err := y.CopyFromAsync(st, ramp(n, float32(g))); err != nil {
			return err
		}
		if err := st.Launch(fn, Cover(n, 128), 0, pack(y, y, float32(i))); err != nil {
			return err
		}
		got, err := y.Host()
		if err != nil {
			return err
		}
		for j, v := range got {
			base := float32(g) * float32(j%1000)
			if want := base + float32(i)*base; v != want {
				return fmt.Errorf("goroutine %d, round %d, element %d: %v, want %v", g, i, j, v, want)
			}
		}
		switch i % 3 {
		case 0:
			err = y.Free()
		case 1:
			err = y.FreeOn(st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
