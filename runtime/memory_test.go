package runtime

import (
	"errors"
	"fmt"
	"reflect"
	goruntime "runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestRoundTrip(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		for _, n := range []int{0, 1, 3, 16 << 10, 16<<10 + 1, 1 << 20, 1<<20 + 1, 5<<20 + 7} {
			host := ramp(n, 0.5)
			s, err := From(r.Device, host)
			require.NoError(t, err, n)
			require.Equal(t, n, s.Len())
			back, err := s.Host()
			require.NoError(t, err, n)
			require.True(t, reflect.DeepEqual(host, back), "%d elements", n)
			require.NoError(t, s.Free())
		}
	})
}

func TestElementTypes(t *testing.T) {
	type pair struct {
		A int8
		B [3]uint16
		C float64
	}
	r := newRig(t, "cpu")
	pairs := []pair{{1, [3]uint16{2, 3, 4}, 5}, {-1, [3]uint16{7, 8, 9}, -0.5}}
	s, err := From(r.Device, pairs)
	require.NoError(t, err)
	back, err := s.Host()
	require.NoError(t, err)
	require.Equal(t, pairs, back)

	none, err := From(r.Device, make([]struct{}, 5))
	require.NoError(t, err)
	hosted, err := none.Host()
	require.NoError(t, err)
	require.Len(t, hosted, 5)

	_, err = Alloc[struct{ P *int }](r.Device, 1)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "*int")
	_, err = Alloc[[]int](r.Device, 1)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = AllocPinned[string](r.Device, 1)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = Alloc[int64](r.Device, -1)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "a slice of length -1: lengths are not negative")
	_, err = Alloc[int64](r.Device, 1<<61)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = r.DefaultStream().Alloc(-1)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = Alloc[int64](nil, 1)
	require.ErrorIs(t, err, ErrNoDevice)
}

// Launchers read a Slice of any type through SliceHeader.
func TestSliceHeader(t *testing.T) {
	r := newRig(t, "cpu")
	s, err := Alloc[int16](r.Device, 10)
	require.NoError(t, err)
	s = s.Slice(3, 7)
	h := *(*SliceHeader)(unsafe.Pointer(&s))
	require.Equal(t, SliceHeader{Buf: s.Buffer(), Off: 3, Len: 4}, h)
	require.Equal(t, unsafe.Sizeof(h), unsafe.Sizeof(s))
	for i := range reflect.TypeFor[SliceHeader]().NumField() {
		a, b := reflect.TypeFor[SliceHeader]().Field(i), reflect.TypeFor[Slice[[5]byte]]().Field(i)
		require.Equal(t, a.Offset, b.Offset)
		require.Equal(t, a.Type, b.Type)
	}
	require.Equal(t, h.Buf.Addr()+6, s.Addr())
	require.Equal(t, r.Device, h.Buf.Device())
	require.Equal(t, 20, h.Buf.Size())
	require.False(t, h.Buf.Freed())

	elem, ok := SliceElem(reflect.TypeOf(s))
	require.True(t, ok)
	require.Equal(t, reflect.TypeFor[int16](), elem)
	for _, v := range []any{nil, 1, struct{}{}, []int16{}} {
		_, ok := SliceElem(reflect.TypeOf(v))
		require.False(t, ok, "%T", v)
	}
}

func TestSliceViews(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		s, err := From(r.Device, []int32{0, 1, 2, 3, 4, 5, 6, 7})
		require.NoError(t, err)
		mid := s.Slice(2, 6)
		require.NoError(t, mid.Slice(1, 3).CopyFrom([]int32{30, 40}))
		got, err := mid.Host()
		require.NoError(t, err)
		require.Equal(t, []int32{2, 30, 40, 5}, got)
		require.NoError(t, mid.Slice(0, 1).Zero())
		require.NoError(t, s.Slice(8, 8).Zero())
		require.NoError(t, Copy(s.Slice(6, 8), s.Slice(3, 5)))
		got, err = s.Host()
		require.NoError(t, err)
		require.Equal(t, []int32{0, 1, 0, 30, 40, 5, 30, 40}, got)
		for _, b := range [][2]int{{-1, 2}, {3, 2}, {0, 9}} {
			require.Panics(t, func() { s.Slice(b[0], b[1]) })
		}

		require.ErrorIs(t, s.CopyFrom(make([]int32, 7)), ErrInvalid)
		require.ErrorIs(t, s.CopyTo(make([]int32, 9)), ErrInvalid)
		require.ErrorIs(t, Copy(s, s.Slice(0, 4)), ErrInvalid)
		var zero Slice[int32]
		require.NoError(t, zero.CopyFrom(nil))
		require.NoError(t, zero.Free())
		require.NoError(t, zero.FreeOn(r.DefaultStream()))
		require.Nil(t, zero.Device())
		require.Zero(t, zero.Addr())
		require.ErrorIs(t, Copy(zero, s), ErrInvalid)
	})
}

// The host memory of an asynchronous upload may be reused at once, however far
// the device is behind.
func TestUploadKeepsTheBytes(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		st, err := r.NewStream()
		require.NoError(t, err)
		spin := r.function(t, "spin")
		require.NoError(t, st.Launch(spin, Blocks(1, 1), 0, pack(20*time.Millisecond)))
		host := make([]uint32, 1000)
		var all []Slice[uint32]
		for i := range 40 {
			for j := range host {
				host[j] = uint32(i)
			}
			s, err := AllocOn[uint32](st, len(host))
			require.NoError(t, err)
			require.NoError(t, s.CopyFromAsync(st, host))
			all = append(all, s)
		}
		clear(host)
		for i, s := range all {
			got, err := s.Host()
			require.NoError(t, err)
			require.Equal(t, uint32(i), got[0])
			require.Equal(t, uint32(i), got[999])
		}
	})
}

func TestPinned(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		p, err := AllocPinned[float32](r.Device, 1000)
		require.NoError(t, err)
		copy(p.Data(), ramp(1000, 1))
		st, err := r.NewStream()
		require.NoError(t, err)
		s, err := AllocOn[float32](st, 1000)
		require.NoError(t, err)
		require.NoError(t, s.CopyFromPinned(st, p))
		q, err := AllocPinned[float32](r.Device, 1000)
		require.NoError(t, err)
		require.NoError(t, s.CopyToPinned(st, q))
		require.NoError(t, st.Sync())
		require.Equal(t, ramp(1000, 1), q.Data())

		require.ErrorIs(t, s.Slice(0, 5).CopyToPinned(st, q), ErrInvalid)
		require.ErrorIs(t, s.Slice(0, 5).CopyFromPinned(st, q), ErrInvalid)
		require.NoError(t, p.Free())
		require.NoError(t, p.Free())
		require.NoError(t, q.Free())
		require.Empty(t, q.Data())
		empty, err := AllocPinned[int](r.Device, 0)
		require.NoError(t, err)
		require.NoError(t, empty.Free())
		_, err = AllocPinned[int](r.Device, -1)
		require.ErrorIs(t, err, ErrInvalid)
	})
}

func TestCopy2D(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		st := r.DefaultStream()
		src, err := From(r.Device, []int32{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23})
		require.NoError(t, err)
		dst, err := Alloc[int32](r.Device, 9)
		require.NoError(t, err)
		require.NoError(t, dst.Zero())
		require.NoError(t, Copy2DAsync(st, dst, 3, src.Slice(1, 12), 4, 3, 2))
		got, err := dst.Host()
		require.NoError(t, err)
		require.Equal(t, []int32{1, 2, 0, 11, 12, 0, 21, 22, 0}, got)
		require.NoError(t, Copy2DAsync(st, dst, 3, src, 4, 0, 2))
		require.ErrorIs(t, Copy2DAsync(st, dst, 3, src, 4, 4, 2), ErrInvalid)
		require.ErrorIs(t, Copy2DAsync(st, dst, 1, src, 4, 2, 2), ErrInvalid)
		require.ErrorIs(t, Copy2DAsync(st, dst, 3, src, 1, 2, 2), ErrInvalid)
	})
}

func TestCopyBetweenDevices(t *testing.T) {
	a, b := newRig(t, "cpu"), newRig(t, "standin")
	x, err := From(a.Device, ramp(5000, 2))
	require.NoError(t, err)
	y, err := Alloc[float32](b.Device, 5000)
	require.NoError(t, err)
	require.NoError(t, Copy(y, x))
	got, err := y.Host()
	require.NoError(t, err)
	require.Equal(t, ramp(5000, 2), got)
	require.ErrorIs(t, CopyAsync(a.DefaultStream(), y, x), ErrInvalid)
	require.ErrorIs(t, x.ZeroAsync(b.DefaultStream()), ErrInvalid)
	require.ErrorIs(t, x.FreeOn(b.DefaultStream()), ErrInvalid)
	p, err := AllocPinned[float32](b.Device, 5000)
	require.NoError(t, err)
	require.ErrorIs(t, x.CopyFromPinned(a.DefaultStream(), p), ErrInvalid)
	require.NoError(t, p.Free())
}

// Two devices of one kind copy by themselves, in the order of both, and through the host
// where the driver says that they cannot.
func TestCopyBetweenPeers(t *testing.T) {
	for _, kind := range []string{"standin", "rocm64", "rocm", "cuda"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			other, err := r.registry.openDevice(r.info.Kind + ":1")
			if errors.Is(err, ErrNoDevice) {
				t.Skip("one device: ", err)
			}
			require.NoError(t, err)
			defer other.Close()
			calls := func() int {
				switch {
				case r.standin != nil:
					return r.standin.Calls("cuMemcpyPeerAsync")
				case r.sim != nil:
					return r.sim.Calls("hipMemcpyPeerAsync")
				}
				return -1
			}
			const n = 1 << 20
			x, err := From(r.Device, ramp(n, 2))
			require.NoError(t, err)
			y, err := Alloc[float32](other, n)
			require.NoError(t, err)
			for i := range 3 {
				require.NoError(t, x.CopyFrom(ramp(n, float32(2+i))))
				require.NoError(t, y.ZeroAsync(other.DefaultStream()))
				require.NoError(t, Copy(y.Slice(1, n), x.Slice(0, n-1)))
				require.NoError(t, x.ZeroAsync(r.DefaultStream()), "behind the copy")
				got, err := y.Host()
				require.NoError(t, err)
				require.Equal(t, append([]float32{0}, ramp(n, float32(2+i))[:n-1]...), got)
				if calls() >= 0 {
					require.Equal(t, i+1, calls())
				}
				if i == 1 && r.standin != nil {
					r.standin.Fail("cuMemcpyPeerAsync", 217, 0, 1)
				}
			}
			require.ErrorIs(t, Copy(y, x.Slice(0, 4)), ErrInvalid)
			require.NoError(t, Copy(y.Slice(0, 0), x.Slice(0, 0)))
			require.NoError(t, x.Free())
			require.ErrorIs(t, Copy(y, x), ErrFreed)
			require.NoError(t, other.Sync())
		})
	}
}

func TestFree(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		before := r.Stats()
		s, err := From(r.Device, ramp(100, 1))
		require.NoError(t, err)
		require.Equal(t, before.Buffers+1, r.Stats().Buffers)
		require.Equal(t, before.Bytes+400, r.Stats().Bytes)
		require.NoError(t, s.Free())
		require.NoError(t, s.Free(), "twice does nothing")
		require.True(t, s.Buffer().Freed())
		require.Equal(t, before, r.Stats())
		_, err = s.Host()
		require.ErrorIs(t, err, ErrFreed)
		require.ErrorIs(t, s.CopyFrom(ramp(100, 1)), ErrFreed)
		require.ErrorIs(t, s.Zero(), ErrFreed)
		st, err := r.NewStream()
		require.NoError(t, err)
		u, err := AllocOn[float32](st, 10)
		require.NoError(t, err)
		require.NoError(t, u.FreeOn(st))
		require.NoError(t, r.Sync())
	})
}

// Memory that a kernel still uses is not given to anyone else.
func TestFreeIsInStreamOrder(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn, spin, st := r.function(t, "saxpy"), r.function(t, "spin"), r.DefaultStream()
		const n = 1 << 18
		y, err := From(r.Device, ramp(n, 1))
		require.NoError(t, err)
		x, err := From(r.Device, ramp(n, 1))
		require.NoError(t, err)
		require.NoError(t, st.Launch(spin, Blocks(1, 1), 0, pack(10*time.Millisecond)))
		saxpy(t, st, fn, 2, y, x)
		require.NoError(t, x.Free())
		z, err := From(r.Device, ramp(n, -5)) // may get x's memory, after the kernel
		require.NoError(t, err)
		got, err := y.Host()
		require.NoError(t, err)
		require.Equal(t, ramp(n, 3), got)
		got, err = z.Host()
		require.NoError(t, err)
		require.Equal(t, ramp(n, -5), got)
	})
}

// collectUntil collects garbage until ok, for twenty seconds at most.
func collectUntil(ok func() bool) bool {
	for range 2000 {
		goruntime.GC()
		if ok() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestDroppedHandlesAreFreed(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		func() {
			for range 50 {
				st, err := r.NewStream()
				require.NoError(t, err)
				e, err := r.NewEvent()
				require.NoError(t, err)
				y, err := AllocOn[float32](st, 1000)
				require.NoError(t, err)
				require.NoError(t, y.ZeroAsync(st))
				saxpy(t, st, fn, 1, y, y)
				require.NoError(t, st.Record(e))
				_ = r.function(t, "spin")
			}
		}()
		require.True(t, collectUntil(func() bool { return r.Stats().Buffers == 0 }), "%+v", r.Stats())
		require.Equal(t, int64(50), r.Stats().Dropped)
		require.NoError(t, r.Sync())
		if r.standin == nil {
			return
		}
		require.Zero(t, r.standin.Get("used"))
		left := func() string {
			// Two modules are loaded: fn's is in use, and the log of launches keeps none.
			return fmt.Sprint(r.standin.Get("streams"), r.standin.Get("modules"))
		}
		require.True(t, collectUntil(func() bool { return left() == "0 1" }), left())
		goruntime.KeepAlive(fn)
	})
}

// A program that drops its buffers never runs out of memory, though Go's
// collector does not know that it should hurry.
func TestAllocationCollectsBeforeItFails(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		_, total, err := r.MemInfo()
		require.NoError(t, err)
		size := int(total / 5)
		for range 12 {
			_, err := Alloc[byte](r.Device, size)
			require.NoError(t, err)
		}
		require.Positive(t, r.Stats().Dropped)
	})
}

func TestOutOfMemory(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		_, total, err := r.MemInfo()
		require.NoError(t, err)
		keep, err := Alloc[byte](r.Device, 1000)
		require.NoError(t, err)
		_, err = Alloc[byte](r.Device, int(2*total))
		require.ErrorIs(t, err, ErrOutOfMemory)
		require.ErrorContains(t, err, r.Name())
		require.ErrorContains(t, err, "iB wanted, 1000 B in 1 buffers")
		require.ErrorContains(t, err, "free on the device")
		require.NoError(t, keep.CopyFrom(make([]byte, 1000)), "the device is still usable")
		require.NoError(t, r.Sync())
		goruntime.KeepAlive(keep.Buffer())
	})
}

func TestOutOfMemoryOnce(t *testing.T) {
	r := newRig(t, "standin")
	r.standin.Fail("cuMemAllocAsync", 2, 0, 1)
	_, err := Alloc[byte](r.Device, 1000)
	require.NoError(t, err, "the second try must succeed")
	require.Equal(t, 2, r.standin.Calls("cuMemAllocAsync"))
	require.Equal(t, 1, r.standin.Calls("cuMemPoolTrimTo"))

	r.standin.Fail("cuMemAllocAsync", 2, 0, 0)
	_, err = From(r.Device, make([]byte, 1000))
	require.ErrorIs(t, err, ErrOutOfMemory)
	e, ok := errors.AsType[*Error](err)
	require.True(t, ok)
	require.Equal(t, "CUDA_ERROR_OUT_OF_MEMORY", e.Name)
	require.Equal(t, 2, e.Code)
	r.standin.Fail("cuMemAllocAsync", 0, 0, 0)

	r.standin.Fail("cuMemsetD8Async", 1, 0, 1)
	s, err := Alloc[byte](r.Device, 10)
	require.NoError(t, err)
	require.ErrorContains(t, s.Zero(), "cuda:0: fill: CUDA_ERROR_INVALID_VALUE (1): invalid argument")
	r.standin.Fail("cuMemcpyHtoDAsync_v2", 1, 0, 1)
	live := r.Stats()
	_, err = From(r.Device, make([]byte, 1000))
	require.ErrorContains(t, err, "copy to the device")
	require.Equal(t, live, r.Stats(), "what From allocated is freed")
	r.standin.Fail("cuMemcpyDtoHAsync_v2", 1, 0, 1)
	require.ErrorContains(t, s.CopyTo(make([]byte, 10)), "copy to the host")
	require.NoError(t, s.CopyTo(make([]byte, 10)))
}

// TestKept: small memory that was freed is given out again without the driver, unless there
// are streams that may still use it.
func TestKept(t *testing.T) {
	r := newRig(t, "standin")
	piece := func(n int) *Buffer {
		b, err := r.DefaultStream().Alloc(n)
		require.NoError(t, err)
		return b
	}
	calls := func() [2]int {
		return [2]int{r.standin.Calls("cuMemAllocAsync"), r.standin.Calls("cuMemFreeAsync")}
	}
	begin, stats := calls(), r.Stats()
	free, _, err := r.MemInfo()
	require.NoError(t, err)
	first := piece(1000)
	addr := first.Addr()
	require.NoError(t, first.Free())
	require.Equal(t, stats, r.Stats(), "what is kept is no buffer's")
	now, _, err := r.MemInfo()
	require.NoError(t, err)
	require.Equal(t, free, now, "and counts as free")
	second, other := piece(700), piece(500)
	require.Equal(t, addr, second.Addr(), "a piece of 1 KiB")
	require.NotEqual(t, addr, other.Addr())
	large := piece(keptPiece + 1)
	require.NoError(t, large.Free())
	require.Equal(t, [2]int{begin[0] + 3, begin[1] + 1}, calls(), "two small ones, and a large one that went back")

	third := piece(5000)
	require.NoError(t, third.Free())
	begin = calls()
	s, err := r.NewStream()
	require.NoError(t, err)
	require.Equal(t, begin[1]+1, calls()[1], "another stream may be behind with its work")
	require.NoError(t, second.Free())
	require.Equal(t, begin[1]+2, calls()[1])
	goruntime.KeepAlive(s)
	goruntime.KeepAlive(other)
}

// TestKeptIsLetGo: memory that is kept does not make others fail.
func TestKeptIsLetGo(t *testing.T) {
	r := newRig(t, "standin")
	s, err := Alloc[byte](r.Device, 1000)
	require.NoError(t, err)
	require.NoError(t, s.Free())
	frees := r.standin.Calls("cuMemFreeAsync")
	r.standin.Fail("cuMemAllocAsync", 2, 0, 1)
	_, err = Alloc[byte](r.Device, keptPiece)
	require.NoError(t, err, "the second try must succeed")
	require.Equal(t, frees+1, r.standin.Calls("cuMemFreeAsync"))
}
