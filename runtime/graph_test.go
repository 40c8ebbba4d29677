package runtime

import (
	"errors"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// capture captures what fn submits.
func capture(tb testing.TB, r *rig, fn func(s *Stream)) *Graph {
	tb.Helper()
	g, err := r.Capture(func(s *Stream) error {
		fn(s)
		return nil
	})
	require.NoError(tb, err)
	return g
}

// upload returns a slice with these elements.
func upload(tb testing.TB, r *rig, host ...float32) Slice[float32] {
	tb.Helper()
	s, err := From(r.Device, host)
	require.NoError(tb, err)
	return s
}

func download(tb testing.TB, s Slice[float32]) []float32 {
	tb.Helper()
	host, err := s.Host()
	require.NoError(tb, err)
	return host
}

// One of each operation, in an order in which every one matters.
func TestGraph(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		const n = 1000
		in, err := AllocPinned[float32](r.Device, n)
		require.NoError(t, err)
		out, err := AllocPinned[float32](r.Device, n)
		require.NoError(t, err)
		x, err := Alloc[float32](r.Device, n)
		require.NoError(t, err)
		z, err := From(r.Device, make([]float32, n))
		require.NoError(t, err)
		g := capture(t, r, func(s *Stream) {
			y, err := AllocOn[float32](s, n)
			require.NoError(t, err)
			require.NoError(t, y.ZeroAsync(s))
			require.NoError(t, x.CopyFromPinned(s, in))
			saxpy(t, s, fn, 3, y, x)
			require.NoError(t, CopyAsync(s, x, y))
			saxpy(t, s, fn, 1, y, x)
			// The left half of a square of 20 elements, to the right.
			require.NoError(t, Copy2DAsync(s, z.Slice(10, 400), 20, y, 20, 20, 10))
			require.NoError(t, y.FreeOn(s))
			require.NoError(t, z.CopyToPinned(s, out))
			require.NoError(t, s.Launch(fn, Cover(0, 256), 0, nil), "no blocks: nothing to do")
		})
		require.Equal(t, make([]float32, n), download(t, z), "nothing ran")
		own, err := r.NewStream()
		require.NoError(t, err)
		for i, s := range []*Stream{r.DefaultStream(), own, own} {
			copy(in.Data(), ramp(n, float32(i)))
			require.NoError(t, g.Launch(s))
			require.NoError(t, s.Sync())
			want := make([]float32, n)
			for j := range 400 {
				if j%20 >= 10 {
					want[j] = float32(6 * i * (j - 10))
				}
			}
			require.Equal(t, want, out.Data(), "launch %d", i)
		}
		require.NoError(t, g.Close())
		require.NoError(t, in.Free())
		require.NoError(t, out.Free())
		require.NoError(t, r.Device.Sync())
		require.Empty(t, r.blocks.host.list)
	})
}

// A graph's order is that of its streams and events, and no other.
func TestGraphForks(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn, spin := r.function(t, "saxpy"), r.function(t, "spin")
		x, w := upload(t, r, 1), upload(t, r, 1)
		y, z := upload(t, r, 0), upload(t, r, 0)
		submit := func(a *Stream) error {
			b, err := a.Fork()
			require.NoError(t, err)
			e, err := r.NewEvent()
			require.NoError(t, err)
			require.NoError(t, a.Launch(spin, Blocks(1, 1), 0, pack(time.Millisecond)))
			saxpy(t, a, fn, 2, y, x)
			require.NoError(t, b.Launch(spin, Blocks(1, 1), 0, pack(2*time.Millisecond)))
			saxpy(t, b, fn, 3, z, w)
			require.NoError(t, b.Record(e))
			saxpy(t, b, fn, 100, w, w) // behind the event: the next launch finds it
			require.NoError(t, a.Wait(e))
			require.NoError(t, a.Wait(e), "twice does nothing")
			saxpy(t, a, fn, 1, y, z)
			c, err := b.Fork()
			require.NoError(t, err)
			saxpy(t, c, fn, 1, w, w)
			return nil
		}
		g, err := r.Capture(submit)
		require.NoError(t, err)
		s, err := r.NewStream()
		require.NoError(t, err)
		require.NoError(t, g.Launch(s))
		require.Equal(t, []float32{5}, download(t, y))
		require.Equal(t, []float32{3}, download(t, z))
		require.Equal(t, []float32{202}, download(t, w))
		require.NoError(t, g.Launch(s))
		require.Equal(t, []float32{5 + 2 + 3 + 606}, download(t, y))
		require.NoError(t, y.Zero())
		require.NoError(t, z.Zero())
		require.NoError(t, w.CopyFrom([]float32{1}))
		require.NoError(t, submit(s), "the same function submits to a stream that runs work")
		require.Equal(t, []float32{5}, download(t, y))
		require.Equal(t, []float32{202}, download(t, w))
	})
}

// The driver is passed the dependencies of each operation.
func TestGraphDependencies(t *testing.T) {
	r := newRig(t, "cpu")
	x := upload(t, r, 1)
	rec := newRecording(r.Device)
	require.NoError(t, rec.run(func(a *Stream) error {
		e, err := r.NewEvent()
		require.NoError(t, err)
		require.NoError(t, x.ZeroAsync(a)) // 0
		b, err := a.Fork()
		require.NoError(t, err)
		require.NoError(t, x.ZeroAsync(a)) // 1
		require.NoError(t, x.ZeroAsync(b)) // 2
		require.NoError(t, b.Record(e))
		require.NoError(t, x.ZeroAsync(b)) // 3
		require.NoError(t, a.Wait(e))
		require.NoError(t, a.Record(e))
		require.NoError(t, x.ZeroAsync(a)) // 4
		require.NoError(t, b.Wait(e))
		require.NoError(t, x.ZeroAsync(b)) // 5
		return nil
	}))
	var after [][]int
	for _, op := range rec.ops {
		after = append(after, op.After)
	}
	require.Equal(t, [][]int{nil, {0}, {0}, {2}, {1, 2}, {1, 2, 3}}, after)
	rec.abandon()
	require.NoError(t, x.Free())
	require.Zero(t, r.Stats().Buffers)
}

// Launches are in order on whatever stream, also from several goroutines.
func TestGraphOnSeveralStreams(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn, spin := r.function(t, "saxpy"), r.function(t, "spin")
		x, one := upload(t, r, 0), upload(t, r, 1)
		g := capture(t, r, func(s *Stream) {
			require.NoError(t, s.Launch(spin, Blocks(1, 1), 0, pack(100*time.Microsecond)))
			saxpy(t, s, fn, 1, x, one)
		})
		streams := []*Stream{r.DefaultStream()}
		for range 2 {
			s, err := r.NewStream()
			require.NoError(t, err)
			streams = append(streams, s)
		}
		for i := range 9 {
			require.NoError(t, g.Launch(streams[i%3]))
		}
		require.Equal(t, []float32{9}, download(t, x))
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				for range 10 {
					if err := g.Launch(streams[i]); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		require.Equal(t, []float32{39}, download(t, x))
	})
}

// What a graph cannot hold is refused, and the capture fails even where fn does not
// look at the error.
func TestCaptureRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		x := upload(t, r, 1)
		host := []float32{1}
		reached, err := r.NewEvent()
		require.NoError(t, err)
		require.NoError(t, r.DefaultStream().Record(reached))
		inside, err := r.NewEvent()
		require.NoError(t, err)
		other := capture(t, r, func(*Stream) {})
		for _, c := range []struct {
			op, way string
			call    func(s *Stream) error
		}{
			{"wait for the stream", "wait when the graph was launched", (*Stream).Sync},
			{"copy from host", "with CopyFromPinned", func(s *Stream) error { return x.CopyFromAsync(s, host) }},
			{"wait for event", "the event was not recorded in this capture; wait for it on the stream that the graph is launched on", func(s *Stream) error { return s.Wait(reached) }},
			{"wait for an event", "record it on the stream that the graph is launched on", func(*Stream) error { return inside.Sync() }},
			{"ask for an event", "record it on the stream", func(*Stream) error { _, err := inside.Done(); return err }},
			{"time between events", "record it on the stream", func(*Stream) error { _, err := inside.Elapsed(reached); return err }},
			{"time between events", "record it on the stream", func(*Stream) error { _, err := reached.Elapsed(inside); return err }},
			{"launch a graph", "capture what the graph was made of", other.Launch},
		} {
			var refused error
			g, err := r.Capture(func(s *Stream) error {
				require.NoError(t, s.Record(inside))
				refused = c.call(s)
				return nil
			})
			require.Nil(t, g, c.op)
			require.ErrorIs(t, refused, ErrCapturing, c.op)
			require.ErrorContains(t, refused, r.Name()+": "+c.op+": not possible while a graph is captured: ")
			require.ErrorContains(t, refused, c.way)
			require.Equal(t, refused, err, "the first error of a capture is Capture's")
		}
		require.Equal(t, []float32{1}, download(t, x), "and nothing ran")
		require.ErrorIs(t, r.DefaultStream().Wait(inside), ErrInvalid)
		require.ErrorIs(t, inside.Sync(), ErrInvalid)
		require.NoError(t, r.DefaultStream().Record(inside))
		require.NoError(t, inside.Sync())

		own := errors.New("no")
		_, err = r.Capture(func(s *Stream) error { return errors.Join(own, s.Sync()) })
		require.ErrorIs(t, err, own)
		require.ErrorIs(t, err, ErrCapturing)
		_, err = r.Capture(func(s *Stream) error { return s.Launch(fn, Blocks(-1, 1), 0, nil) })
		require.ErrorIs(t, err, ErrInvalid)
	})
}

// Memory that a graph uses is lent to it: what another stream does with it, by a function that
// takes no stream or a goroutine that the capture knows nothing of, would be missing in the graph.
func TestCaptureLendsMemory(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		x, y, z := upload(t, r, 1), upload(t, r, 2), upload(t, r, 3)
		host := []float32{9}
		pinned, err := AllocPinned[float32](r.Device, 1)
		require.NoError(t, err)
		own, err := r.NewStream()
		require.NoError(t, err)
		other := capture(t, r, func(s *Stream) { require.NoError(t, CopyAsync(s, x, z)) })
		captured := func(s *Stream) error { return CopyAsync(s, x, y) }
		for _, c := range []struct {
			op, how string
			call    func() error
		}{
			{"copy from host", "writes", func() error { return x.CopyFrom(host) }},
			{"copy from host", "writes", func() error { return y.CopyFromAsync(own, host) }},
			{"copy to host", "reads", func() error { return x.CopyTo(host) }},
			{"zero", "writes", func() error { return x.Zero() }},
			{"zero", "writes", func() error { return y.ZeroAsync(own) }},
			{"copy", "writes", func() error { return Copy(y, z) }},
			{"copy", "reads", func() error { return Copy(z, x) }},
			{"copy to pinned memory", "reads", func() error { return x.CopyToPinned(own, pinned) }},
			{"copy from pinned memory", "writes", func() error { return x.CopyFromPinned(own, pinned) }},
			{"launch saxpy", "writes", func() error { return own.Launch(fn, Blocks(1, 1), 0, pack(x, z, float32(1))) }},
			{"launch saxpy", "reads", func() error {
				return own.LaunchUsing(fn, Blocks(1, 1), 0, pack(z, x, float32(1)), []Use{{z.Buffer(), Writes}, {x.Buffer(), Reads}})
			}},
			{"launch a graph", "writes", func() error { return other.Launch(r.DefaultStream()) }},
		} {
			var refused error
			g, err := r.Capture(func(s *Stream) error {
				require.NoError(t, captured(s))
				var wg sync.WaitGroup
				wg.Go(func() { refused = c.call() })
				wg.Wait()
				return nil
			})
			require.Nil(t, g, c.op)
			require.ErrorIs(t, refused, ErrCapturing, c.op)
			require.ErrorContains(t, refused, r.Name()+": "+c.op+": not possible while a graph is captured: it "+c.how+" memory that the graph uses")
			require.ErrorContains(t, refused, "use the stream that Capture gives, or wait until Capture has returned")
			require.Equal(t, refused, err, "the first error of a capture is Capture's")
		}
		require.Equal(t, []float32{1, 2, 3}, append(append(download(t, x), download(t, y)...), download(t, z)...), "and nothing ran")

		// The same in the other order.
		for op, call := range map[string]func() error{
			"zero":           func() error { return y.Zero() },
			"copy from host": func() error { return y.CopyFromAsync(own, []float32{2}) },
			"launch saxpy":   func() error { return own.Launch(fn, Blocks(1, 1), 0, pack(y, z, float32(0))) },
		} {
			var refused error
			g, err := r.Capture(func(s *Stream) error {
				require.NoError(t, call())
				refused = captured(s)
				return nil
			})
			require.Nil(t, g, op)
			require.ErrorContains(t, refused, r.Name()+": copy: not possible while a graph is captured: the memory was written since Capture began, by "+op)
			require.Equal(t, refused, err)
		}

		// To read what the graph reads, and what it does not write yet, is allowed.
		require.NoError(t, y.CopyFrom([]float32{2}))
		g := capture(t, r, func(s *Stream) {
			require.Equal(t, []float32{1}, download(t, x))
			require.NoError(t, captured(s))
			require.Equal(t, []float32{2}, download(t, y))
			require.NoError(t, Copy(z, y))
		})
		require.NoError(t, g.Launch(own))
		require.Equal(t, []float32{2, 2}, append(download(t, x), download(t, z)...))
		require.NoError(t, x.Zero(), "and afterwards it is the program's again")
		require.Zero(t, r.captures.count.Load())
		require.Empty(t, r.captures.open)
		require.NoError(t, pinned.Free())
	})
}

// What other goroutines and other streams do meanwhile with other memory is not the capture's.
func TestCaptureDisturbsNobody(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		x, one := upload(t, r, 0), upload(t, r, 1)
		y, two := upload(t, r, 0), upload(t, r, 1)
		own, err := r.NewStream()
		require.NoError(t, err)
		g := capture(t, r, func(s *Stream) {
			saxpy(t, s, fn, 1, x, one)
			saxpy(t, own, fn, 10, y, two)
			require.NoError(t, own.Sync())
			var err error
			var wg sync.WaitGroup
			wg.Go(func() {
				if err = r.DefaultStream().Launch(fn, Blocks(1, 32), 0, pack(y, two, float32(100))); err == nil {
					err = r.Device.Sync()
				}
			})
			wg.Wait()
			require.NoError(t, err)
			inner := capture(t, r, func(s *Stream) { saxpy(t, s, fn, 1000, y, two) })
			require.NoError(t, inner.Launch(own))
			require.NoError(t, own.Sync())
			require.ErrorIs(t, inner.Close(), nil)
			saxpy(t, s, fn, 2, x, one)
		})
		require.Equal(t, []float32{1110}, download(t, y))
		require.NoError(t, g.Launch(own))
		require.Equal(t, []float32{3}, download(t, x))
	})
}

// A graph that panics, or whose goroutine ends, leaves nothing behind.
func TestCaptureThatDoesNotReturn(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		note := noter(t, r, "a")
		x := upload(t, r, 1, 2)
		var late *Stream
		submit := func(s *Stream) {
			late = s
			require.NoError(t, x.ZeroAsync(s))
			launchNote(t, s, note, 1, 1)
			require.NoError(t, x.Free(), "held by what is captured")
		}
		require.PanicsWithValue(t, "oh", func() {
			_, _ = r.Capture(func(s *Stream) error { submit(s); panic("oh") })
		})
		require.Zero(t, r.captures.count.Load())
		late = nil // it knows the log, whose memory Go collects
		require.True(t, collectUntil(func() bool { return r.Stats().Buffers == 0 }), "%+v", r.Stats())
		x = upload(t, r, 1, 2)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = r.Capture(func(s *Stream) error { submit(s); goruntime.Goexit(); return nil })
		})
		wg.Wait()
		require.Zero(t, r.captures.count.Load())
		require.Empty(t, r.captures.open)
		require.Empty(t, r.outputs())

		x = upload(t, r, 1, 2)
		e, err := r.NewEvent()
		require.NoError(t, err)
		for op, err := range map[string]error{
			"zero":                x.ZeroAsync(late),
			"wait for the stream": late.Sync(),
			"record event":        late.Record(e),
			"wait for event":      late.Wait(e),
			"launch":              late.Launch(note, Blocks(1, 1), 0, nil),
			"copy":                CopyAsync(late, x, x),
			"copy from host":      x.CopyFromAsync(late, []float32{1, 2}),
		} {
			require.ErrorIs(t, err, ErrInvalid, op)
			require.ErrorContains(t, err, op+": the stream is that of a capture which has ended")
		}
		_, err = AllocOn[int](late, 1)
		require.ErrorContains(t, err, "allocate: the stream is that of a capture which has ended")
		_, err = late.Fork()
		require.ErrorContains(t, err, "fork a stream: the stream is that of a capture which has ended")
		require.Equal(t, []float32{1, 2}, download(t, x))
		require.NoError(t, x.FreeOn(late), "to free is always allowed")
	})
}

// Memory that a graph uses stays, whatever the program does with it.
func TestGraphHoldsItsMemory(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		y := upload(t, r, 0, 0, 0, 0)
		pinned, err := AllocPinned[float32](r.Device, 4)
		require.NoError(t, err)
		var g *Graph
		func() {
			x, unused := upload(t, r, 1, 2, 3, 4, 5), upload(t, r, 1)
			tmp, one := upload(t, r, 0, 0, 0, 0), upload(t, r, 1, 1, 1, 1)
			g = capture(t, r, func(s *Stream) {
				require.NoError(t, CopyAsync(s, tmp, x.Slice(1, 5))) // an address inside
				saxpy(t, s, fn, 1, y, tmp)
				saxpy(t, s, fn, 1, y, one)
				require.NoError(t, y.CopyToPinned(s, pinned))
			})
			require.NoError(t, tmp.Free())
			require.NoError(t, one.Free(), "only its address is known, as an argument")
			require.NoError(t, unused.Free())
			require.ErrorIs(t, tmp.Zero(), ErrFreed)
		}()
		result := pinned.Data()
		require.NoError(t, pinned.Free())
		require.NoError(t, pinned.Free())
		require.True(t, collectUntil(func() bool { return r.Stats().Dropped == 1 }), "x is collected")
		require.Equal(t, 4, r.Stats().Buffers)
		fresh := upload(t, r, 7, 7, 7, 7) // at an address that no argument has
		for range 3 {
			require.NoError(t, g.Launch(r.DefaultStream()))
		}
		require.Equal(t, []float32{9, 12, 15, 18}, download(t, y))
		require.Equal(t, []float32{9, 12, 15, 18}, result)
		require.Equal(t, []float32{7, 7, 7, 7}, download(t, fresh))
		require.NoError(t, fresh.Free())
		require.NoError(t, g.Close())
		require.Equal(t, 1, r.Stats().Buffers, "y is not freed")
		require.Empty(t, r.blocks.host.list)
		require.NoError(t, y.Free())
		require.Zero(t, r.Stats().Buffers)
		require.NoError(t, r.Device.Sync())
	})
}

// Two graphs hold memory that is freed in between; a graph that was dropped lets go.
func TestGraphsShareMemory(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		x, y := upload(t, r, 1), upload(t, r, 0)
		submit := func(s *Stream) { saxpy(t, s, fn, 1, y, x) }
		first := capture(t, r, submit)
		func() {
			second := capture(t, r, submit)
			require.NoError(t, second.Launch(r.DefaultStream()))
			require.NoError(t, x.Free())
			_, err := r.Capture(func(s *Stream) error { return CopyAsync(s, y, x) })
			require.ErrorIs(t, err, ErrFreed)
		}()
		require.NoError(t, first.Close())
		gone := func() bool { return r.Stats().Buffers == 1 }
		require.True(t, collectUntil(gone), "%+v", r.Stats())
		require.Equal(t, []float32{1}, download(t, y))
	})
}

// Memory that is freed during capture is refused by the graph.
func TestCaptureOfFreedMemory(t *testing.T) {
	r := newRig(t, "cpu")
	x := upload(t, r, 1)
	addr := x.Addr()
	g := capture(t, r, func(s *Stream) {
		require.NoError(t, s.drv.Fill(driver.Addr(addr), 1, 4))
		require.NoError(t, x.Free())
		require.NoError(t, s.drv.Fill(driver.Addr(addr), 2, 4), "the graph has it already")
	})
	_, err := r.Capture(func(s *Stream) error { return s.drv.Fill(driver.Addr(addr), 0, 4) })
	require.ErrorIs(t, err, ErrFreed)
	require.ErrorContains(t, err, "cpu: fill: memory was freed")
	require.NoError(t, g.Close())
	_, err = r.Capture(func(s *Stream) error { return s.drv.Fill(driver.Addr(addr), 0, 4) })
	require.ErrorIs(t, err, ErrFreed)
}

// Memory is found by any address in it, and by no other.
func TestBlockList(t *testing.T) {
	var l blockList
	add := func(addr, size int, host bool) *block {
		b := &block{addr: driver.Addr(addr), size: int64(size), host: host}
		l.add(b)
		return b
	}
	c, a, b, h := add(300, 50, false), add(100, 10, false), add(200, 100, false), add(205, 1, true)
	find := func(addr int, host bool) *block {
		held := map[*block]struct{}{}
		if l.hold(driver.Addr(addr), host, held) == nil {
			return nil
		}
		for b := range held {
			require.NoError(t, l.letGo(b))
			return b
		}
		return nil
	}
	for addr, want := range map[int]*block{0: nil, 99: nil, 100: a, 109: a, 110: nil, 199: nil, 200: b, 299: b, 300: c, 349: c, 350: nil, -1: nil} {
		require.True(t, find(addr, false) == want, addr)
	}
	require.True(t, find(205, true) == h)
	require.Nil(t, find(206, true))
	require.True(t, l.free(b))
	require.Nil(t, find(200, false))
	require.True(t, l.free(b), "it is in nobody's way")
	require.True(t, find(300, false) == c)
	require.Len(t, l.device.list, 2)
}

// The words of launches are theirs: the program may reuse the block of arguments.
func TestGraphKeepsArguments(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		x, y := upload(t, r, 1, 2), upload(t, r, 0, 0)
		args := pack(y, x, float32(5))
		g := capture(t, r, func(s *Stream) {
			require.NoError(t, s.Launch(fn, Blocks(1, 32), 0, args))
		})
		clear(args)
		require.NoError(t, g.Launch(r.DefaultStream()))
		require.Equal(t, []float32{5, 10}, download(t, y))
		goruntime.KeepAlive(x.Buffer())
	})
}

// What kernels of a graph print and which of their assertions fail is reported by waits
// for the streams that the graph was launched on.
func TestGraphOutput(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		var out strings.Builder
		r.SetOutput(&out)
		a, b := noter(t, r, "a"), noter(t, r, "b")
		g := capture(t, r, func(s *Stream) {
			launchNote(t, s, a, 1, 1)
			launchNote(t, s, b, 1, 2)
		})
		require.NoError(t, r.Device.Sync())
		require.Zero(t, r.dirty.Load(), "nothing ran")
		s, err := r.NewStream()
		require.NoError(t, err)
		u, err := r.NewStream()
		require.NoError(t, err)
		require.NoError(t, g.Launch(s))
		launchNote(t, s, b, 1, 0)
		require.NoError(t, u.Sync())
		require.Empty(t, out.String(), "not launched on this stream")
		require.NoError(t, s.Sync())
		require.Equal(t, "b 0\na 1\nb 2\n", out.String())
		out.Reset()
		require.NoError(t, g.Launch(s))
		require.NoError(t, g.Launch(u))
		require.NoError(t, s.Sync(), "both read the graph's log")
		require.NoError(t, u.Sync())
		require.Equal(t, "a 1\nb 2\na 1\nb 2\n", out.String())

		failing := capture(t, r, func(s *Stream) { launchNote(t, s, a, 2, 0) })
		for _, wait := range []func() error{s.Sync, r.DefaultStream().Sync, r.Device.Sync} {
			require.NoError(t, failing.Launch(s))
			require.NoError(t, u.Sync())
			err := wait()
			require.ErrorIs(t, err, ErrLaunch)
			require.EqualError(t, err, r.Name()+": kernel a failed: k.go:7: kernel a: block (0,0,0), thread (0,0,0): assertion failed: not so")
			require.NoError(t, s.Sync())
		}

		out.Reset()
		require.NoError(t, g.Launch(s))
		require.NoError(t, g.Close(), "its log is read all the same")
		require.NoError(t, failing.Close())
		require.NoError(t, r.Device.Sync())
		require.Equal(t, "a 1\nb 2\n", out.String())
		require.Len(t, r.outputs(), 1, "that of the stream s")
	})
}

func TestGraphClosed(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		x := upload(t, r, 1)
		fill := func(s *Stream) { require.NoError(t, x.ZeroAsync(s)) }
		g, empty := capture(t, r, fill), capture(t, r, func(*Stream) {})
		other := newRig(t, "cpu")
		require.ErrorIs(t, g.Launch(other.DefaultStream()), ErrInvalid)
		require.NoError(t, empty.Launch(r.DefaultStream()))
		require.NoError(t, empty.Close())
		require.NoError(t, g.Launch(r.DefaultStream()))
		for range 2 {
			require.NoError(t, g.Close())
			err := g.Launch(r.DefaultStream())
			require.ErrorIs(t, err, ErrClosed)
			require.EqualError(t, err, r.Name()+": launch a graph: the graph was closed")
		}
		require.Equal(t, []float32{0}, download(t, x))

		g = capture(t, r, fill)
		require.NoError(t, r.Close())
		err := g.Launch(r.DefaultStream())
		require.ErrorIs(t, err, ErrClosed)
		require.NoError(t, g.Close())
		_, err = r.Capture(func(*Stream) error { t.Error("called"); return nil })
		require.ErrorIs(t, err, ErrClosed)
	})
}

// Dropped graphs are closed, and take their modules with them.
func TestGraphIsCollected(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		func() {
			for range 10 {
				x := upload(t, r, 1)
				fn := r.function(t, "saxpy")
				g := capture(t, r, func(s *Stream) { saxpy(t, s, fn, 1, x, x) })
				require.NoError(t, g.Launch(r.DefaultStream()))
				goruntime.GC()
				require.NoError(t, g.Launch(r.DefaultStream()), "it holds its kernels")
			}
		}()
		require.True(t, collectUntil(func() bool { return r.Stats().Buffers == 0 }), "%+v", r.Stats())
		require.Empty(t, r.blocks.device.list)
		if r.standin != nil {
			require.True(t, collectUntil(func() bool { return r.standin.Get("modules") == 0 }))
		}
	})
	r := newRig(t, "cpu")
	func() { capture(t, r, func(s *Stream) {}) }()
	require.NoError(t, r.Close())
	goruntime.GC() // its cleanup finds no device
}

func TestGraphLaunchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	onEach(t, func(t *testing.T, r *rig) {
		fn, note := r.function(t, "saxpy"), noter(t, r, "a")
		x, y := upload(t, r, 1), upload(t, r, 1)
		st := r.DefaultStream()
		build := func(logs bool) *Graph {
			return capture(t, r, func(s *Stream) {
				if r.kind != "cpu" && r.metal == nil { // where it is not the stream that copies
					require.NoError(t, x.ZeroAsync(s))
					require.NoError(t, CopyAsync(s, y, x))
				}
				for range 3 {
					saxpy(t, s, fn, 1, x, x)
				}
				if logs {
					require.NoError(t, s.Launch(note, Blocks(1, 1), 0, pack(uint64(1), uint64(1))))
				}
			})
		}
		var out strings.Builder
		r.SetOutput(&out)
		allocs := func(submit func() error) float64 {
			run := func() {
				if err := submit(); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 {
				run()
			}
			require.NoError(t, st.Sync())
			// Fewer than before: no queue is full, or grows.
			return testing.AllocsPerRun(60, run)
		}
		silent, logs := build(false), build(true)
		require.Less(t, allocs(func() error { return silent.Launch(st) }), 0.1)
		// The counts of the log are copied after each replay.
		a := allocs(func() error { return st.drv.Copy(x.Buffer().mem.addr, y.Buffer().mem.addr, 4) })
		require.LessOrEqual(t, allocs(func() error { return logs.Launch(st) }), a)
	})
}

// A fault in a graph names the kernels of the graph.
func TestGraphFault(t *testing.T) {
	for _, kind := range []string{"cpu", "standin", "rocm64", "rocm32"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, kind)
			fault, nothing := r.function(t, "fault"), r.function(t, "nothing")
			g := capture(t, r, func(s *Stream) {
				require.NoError(t, s.Launch(nothing, Blocks(1, 1), 0, nil))
				require.NoError(t, s.Launch(fault, Blocks(1, 1), 0, pack(uint64(16))))
			})
			require.NoError(t, g.Launch(r.DefaultStream()), "a launch does not wait")
			err := r.DefaultStream().Sync()
			require.ErrorIs(t, err, ErrLaunch)
			if kind == "cpu" {
				require.EqualError(t, err, "cpu: kernel fault failed: index 7 out of range with length 4")
				require.NoError(t, g.Close())
				return
			}
			require.ErrorContains(t, err, "a kernel failed, one of nothing, fault")
			require.ErrorIs(t, g.Launch(r.DefaultStream()), err, "the device is lost")
		})
	}
	t.Setenv("KILN_LAUNCH_BLOCKING", "1")
	r := newRig(t, "cpu")
	fault := r.function(t, "fault")
	g := capture(t, r, func(s *Stream) {
		require.NoError(t, s.Launch(fault, Blocks(1, 1), 0, nil))
	})
	require.ErrorIs(t, g.Launch(r.DefaultStream()), ErrLaunch, "a blocking launch waits")
}

// Memory that is freed in a capture is used again there, unless streams are concurrent; what is
// freed stays so, though its memory is another buffer's.
func TestGraphMemory(t *testing.T) {
	onEach(t, func(t *testing.T, r *rig) {
		fn := r.function(t, "saxpy")
		const n = 500
		x, out := upload(t, r, ramp(n, 1)...), upload(t, r, make([]float32, n)...)
		before := r.Stats()
		addrs := map[uint64]bool{}
		var kept, other Slice[float32]
		g := capture(t, r, func(s *Stream) {
			var last Slice[float32]
			for range 5 {
				y, err := AllocOn[float32](s, n)
				require.NoError(t, err)
				addrs[y.Addr()] = true
				require.NoError(t, CopyAsync(s, y, x))
				saxpy(t, s, fn, 2, y, x)
				require.NoError(t, CopyAsync(s, out, y))
				require.NoError(t, y.FreeOn(s))
				last = y
			}
			small, err := AllocOn[float32](s, n/2)
			require.NoError(t, err)
			require.NotContains(t, addrs, small.Addr())
			kept, err = AllocOn[float32](s, n)
			require.NoError(t, err)
			require.True(t, last.Buffer().Freed())
			require.False(t, kept.Buffer().Freed())
			require.NoError(t, last.FreeOn(s)) // does nothing
			require.Error(t, CopyAsync(s, last, x))
			saxpy(t, s, fn, 1, out, out)
			require.NoError(t, CopyAsync(s, kept, out))
			require.False(t, kept.Buffer().Freed())

			own, err := AllocOn[float32](s, n)
			require.NoError(t, err)
			require.NoError(t, CopyAsync(s, own, x))
			fork, err := s.Fork()
			require.NoError(t, err)
			require.NoError(t, own.FreeOn(s))
			other, err = AllocOn[float32](fork, n)
			require.NoError(t, err)
			require.NotEqual(t, own.Addr(), other.Addr())
		})
		require.Len(t, addrs, 1)
		require.NoError(t, g.Launch(r.DefaultStream()))
		want := make([]float32, n)
		for i := range want {
			want[i] = 6 * float32(i)
		}
		require.Equal(t, want, download(t, kept))
		require.NoError(t, g.Close())
		require.NoError(t, kept.FreeOn(r.DefaultStream()))
		require.NoError(t, other.FreeOn(r.DefaultStream()))
		require.NoError(t, r.Sync())
		require.LessOrEqual(t, r.Stats().Buffers, before.Buffers+1) // that of half the size
	})
}
