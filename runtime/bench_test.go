package runtime

import (
	goruntime "runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/dl"
)

func onEachB(b *testing.B, bench func(b *testing.B, r *rig)) {
	for _, kind := range rigKinds {
		b.Run(kind, func(b *testing.B) { bench(b, newRig(b, kind)) })
	}
}

// BenchmarkLaunch is the whole of a launch as a launcher makes it. Compare with
// BenchmarkLaunchDirect: the difference is our own time.
func BenchmarkLaunch(b *testing.B) {
	onEachB(b, func(b *testing.B, r *rig) {
		fn, st, args := r.function(b, "nothing"), r.DefaultStream(), make([]byte, 40)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := st.Launch(fn, Blocks(1, 32), 0, args); err != nil {
				b.Fatal(err)
			}
			if i%512 == 511 { // do not measure a full queue
				b.StopTimer()
				require.NoError(b, st.Sync())
				b.StartTimer()
			}
		}
		require.NoError(b, st.Sync())
	})
}

// BenchmarkGraph is one launch of a graph of 20 kernels.
func BenchmarkGraph(b *testing.B) {
	onEachB(b, func(b *testing.B, r *rig) {
		fn, st := r.function(b, "nothing"), r.DefaultStream()
		g := capture(b, r, func(s *Stream) {
			for range 20 {
				require.NoError(b, s.Launch(fn, Blocks(1, 32), 0, make([]byte, 40)))
			}
		})
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := g.Launch(st); err != nil {
				b.Fatal(err)
			}
			if i%16 == 15 { // do not measure a full queue
				b.StopTimer()
				require.NoError(b, st.Sync())
				b.StartTimer()
			}
		}
		require.NoError(b, st.Sync())
	})
}

// BenchmarkLaunchDirect calls cuLaunchKernel with arguments prepared once, on a
// thread that has its context: the least a launch can cost.
func BenchmarkLaunchDirect(b *testing.B) {
	for _, kind := range []string{"standin", "cuda"} {
		b.Run(kind, func(b *testing.B) {
			r := newRig(b, kind)
			lib, err := dl.Open(r.backend.Probe().Library)
			require.NoError(b, err)
			sym := func(name string) uintptr {
				addr, err := lib.Sym(name)
				require.NoError(b, err)
				return addr
			}
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			require.NoError(b, r.Sync()) // leaves the context on this thread
			code, name := append([]byte(nil), append(kernels, 0)...), []byte("nothing\x00")
			h := new([2]uintptr)
			require.Zero(b, escape(sym("cuModuleLoadDataEx"), uintptr(unsafe.Pointer(&h[0])), uintptr(unsafe.Pointer(&code[0])), 0, 0, 0))
			require.Zero(b, escape(sym("cuModuleGetFunction"), uintptr(unsafe.Pointer(&h[1])), h[0], uintptr(unsafe.Pointer(&name[0]))))
			block := new(struct {
				args  [11]uintptr
				extra [6]uintptr
				buf   [40]byte
			})
			block.extra = [6]uintptr{1, uintptr(unsafe.Pointer(&block.buf)), 2, uintptr(unsafe.Pointer(&block.extra[5])), 0, 40}
			block.args = [11]uintptr{h[1], 1, 1, 1, 32, 1, 1, 0, 0, 0, uintptr(unsafe.Pointer(&block.extra))}
			launch := sym("cuLaunchKernel")
			sync := sym("cuStreamSynchronize")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if r := dl.Call(launch, block.args[:]); r != 0 {
					b.Fatal(r)
				}
				if i%512 == 511 {
					b.StopTimer()
					require.Zero(b, dl.Call(sync, block.args[8:9]))
					b.StartTimer()
				}
			}
			require.Zero(b, dl.Call(sync, block.args[8:9]))
			goruntime.KeepAlive(block)
		})
	}
}

//go:uintptrescapes
func escape(fn uintptr, args ...uintptr) uintptr { return dl.Call(fn, args) }

func BenchmarkCopy(b *testing.B) {
	onEachB(b, func(b *testing.B, r *rig) {
		for _, n := range []int{4, 64 << 10, 64 << 20} {
			host := make([]byte, n)
			s, err := From(r.Device, host)
			require.NoError(b, err)
			b.Run("to/"+bytesText(int64(n)), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					require.NoError(b, s.CopyFrom(host))
				}
				require.NoError(b, r.Sync())
			})
			b.Run("from/"+bytesText(int64(n)), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					require.NoError(b, s.CopyTo(host))
				}
			})
		}
	})
}

func BenchmarkAllocFree(b *testing.B) {
	onEachB(b, func(b *testing.B, r *rig) {
		for b.Loop() {
			s, err := Alloc[float32](r.Device, 1<<20)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Free(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
