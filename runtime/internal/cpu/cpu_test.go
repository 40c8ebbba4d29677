package cpu

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// fake is a program made of a Go function.
type fake struct {
	name string
	run  func(grid, block [3]int, args []byte) error
}

func (f fake) Name() string                              { return f.name }
func (f fake) Run(grid, block [3]int, args []byte) error { return f.run(grid, block, args) }

func openFake(t *testing.T, run func(args []byte) error) (*device, driver.Function) {
	t.Helper()
	b := &Backend{Limit: 64 << 20, Load: func(name string, _ []byte) (Program, error) {
		return fake{name, func(_, _ [3]int, args []byte) error { return run(args) }}, nil
	}}
	dev, err := b.Open(0)
	require.NoError(t, err)
	mod, err := dev.Load(driver.Image{Format: "kir", Name: "k"})
	require.NoError(t, err)
	fn, err := mod.Function("k")
	require.NoError(t, err)
	require.NoError(t, mod.Close())
	return dev.(*device), fn
}

func TestClasses(t *testing.T) {
	last := int64(0)
	for size := int64(0); size < 1<<22; size += 61 {
		c := class(size)
		require.GreaterOrEqual(t, c, max(size, minClass))
		require.GreaterOrEqual(t, c, last, "classes grow with the size")
		require.Equal(t, c, class(c), "a class fits itself")
		if size > maxSmall {
			require.LessOrEqual(t, c, size+size/7+pageSize, "at most an eighth is wasted")
			require.Zero(t, c%pageSize)
		}
		last = c
	}
}

func TestArenaReusesAndLimits(t *testing.T) {
	a := newArena(16 << 20)
	seen := map[uintptr]bool{}
	for range 3 * slabSize / 4096 {
		p, err := a.alloc(4000)
		require.NoError(t, err)
		require.Zero(t, p%4096)
		require.False(t, seen[p], "handed out twice")
		seen[p] = true
		copy(bytesAt(driver.Addr(p), 4000), []byte{1})
	}
	require.Len(t, a.slabs, 3)
	for p := range seen {
		a.free(p, 4000)
	}
	require.Zero(t, a.used)

	big, err := a.alloc(1 << 20)
	require.NoError(t, err)
	a.free(big, 1<<20)
	again, err := a.alloc(1<<20 - 100)
	require.NoError(t, err)
	require.Equal(t, big, again)
	a.free(again, 1<<20-100)
	a.trim()
	require.Empty(t, a.mapped)
	require.Zero(t, a.cached)

	_, err = a.alloc(17 << 20)
	require.ErrorIs(t, err, errTooMuch)
	_, err = a.alloc(-1)
	require.ErrorIs(t, err, errTooMuch)
	a.free(0, 100)
	require.Equal(t, int64(16<<20), a.room())
}

func TestArenaDoesNotHoard(t *testing.T) {
	a := newArena(8 << 20)
	var list []uintptr
	for range 7 {
		p, err := a.alloc(1 << 20)
		require.NoError(t, err)
		list = append(list, p)
	}
	for _, p := range list {
		a.free(p, 1<<20)
	}
	require.LessOrEqual(t, a.cached, int64(2<<20))
	require.Len(t, a.mapped, 2)
}

func TestLaunchesRunInOrder(t *testing.T) {
	var got []byte
	dev, fn := openFake(t, func(args []byte) error { got = append(got, args[0]); return nil })
	other, err := dev.NewStream()
	require.NoError(t, err)
	l := &driver.Launch{Args: []byte{0}}
	for i := range 2 * maxPending { // more than the queue holds: it must wait, not grow
		l.Args[0] = byte(i)
		s := []driver.Stream{dev.Default(), other}[i%2]
		require.NoError(t, s.Launch(fn, l))
	}
	require.NoError(t, dev.Sync())
	require.Len(t, got, 2*maxPending)
	for i, v := range got {
		require.Equal(t, byte(i), v)
	}
	require.LessOrEqual(t, len(dev.queue.in), maxPending)
}

func TestLaunchDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dev, fn := openFake(t, func([]byte) error { return nil })
	s, l := dev.Default(), &driver.Launch{Args: make([]byte, 64)}
	for range 200 {
		require.NoError(t, s.Launch(fn, l))
	}
	require.NoError(t, s.Sync())
	require.Less(t, testing.AllocsPerRun(1000, func() { _ = s.Launch(fn, l) }), 0.1)
}

func TestFailureStopsNothing(t *testing.T) {
	boom := errors.New("index out of range")
	var ran []byte
	dev, fn := openFake(t, func(args []byte) error {
		if args[0] == 'x' {
			return boom
		}
		if args[0] == 'p' {
			panic("bug in the executor")
		}
		ran = append(ran, args[0])
		return nil
	})
	s, err := dev.NewStream()
	require.NoError(t, err)
	other, err := dev.NewStream()
	require.NoError(t, err)
	launch := func(s driver.Stream, c byte) {
		require.NoError(t, s.Launch(fn, &driver.Launch{Args: []byte{c}}))
	}
	launch(s, 'a')
	launch(s, 'x')
	launch(s, 'b') // runs: the runtime tracks what depends on x
	launch(other, 'c')
	require.NoError(t, other.Sync())
	err = s.Sync()
	require.ErrorIs(t, err, boom)
	require.ErrorIs(t, err, driver.ErrLaunch)
	require.ErrorContains(t, err, "cpu: kernel k failed: index out of range")
	require.Equal(t, "abc", string(ran))
	require.NoError(t, s.Sync(), "the error is reported once")
	launch(s, 'd')
	require.NoError(t, s.Sync())
	require.Equal(t, "abcd", string(ran))

	launch(s, 'p')
	launch(other, 'x')
	err = dev.Default().Sync()
	require.ErrorContains(t, err, "bug in the executor")
	require.ErrorIs(t, err, boom, "the default stream reports for all")
	require.NoError(t, dev.Sync())

	launch(s, 'x')
	buf := make([]byte, 4)
	a, err := s.Alloc(4)
	require.NoError(t, err)
	require.NoError(t, s.Download(buf, a), "a copy leaves it to Sync")
	require.ErrorIs(t, s.Sync(), boom)
	launch(s, 'x')
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())
}

// Memory that is freed while a kernel uses it serves what is queued behind the kernel, which sees
// what it had.
func TestFreeIsInOrder(t *testing.T) {
	release, seen := make(chan struct{}), byte(0)
	var at driver.Addr
	dev, fn := openFake(t, func([]byte) error {
		<-release
		seen = bytesAt(at, 1)[0]
		return nil
	})
	s := dev.Default()
	const size = 1 << 20
	a, err := s.Alloc(size)
	require.NoError(t, err)
	at = a
	require.NoError(t, s.Fill(a, 7, size))
	require.NoError(t, s.Launch(fn, &driver.Launch{}))
	require.NoError(t, s.Free(a, size))
	b, err := s.Alloc(size)
	require.NoError(t, err)
	require.Equal(t, a, b, "free as soon as it is in the queue")
	require.NoError(t, s.Fill(b, 9, size))
	close(release)
	require.NoError(t, s.Sync())
	require.EqualValues(t, 7, seen)
	require.EqualValues(t, 9, bytesAt(b, 1)[0])
	require.NoError(t, s.Free(b, size))
	require.NoError(t, dev.Trim())
	require.Empty(t, dev.memory.mapped)
}

// What is not kept for reuse goes back to the system, but not before the kernels that use it have
// ended.
func TestUnmapWaitsItsTurn(t *testing.T) {
	release := make(chan struct{})
	dev, fn := openFake(t, func([]byte) error { <-release; return nil })
	s := dev.Default()
	const size = 1 << 20
	a, err := s.Alloc(size)
	require.NoError(t, err)
	dev.memory.limit = size // of which a quarter is kept
	require.NoError(t, s.Launch(fn, &driver.Launch{}))
	require.NoError(t, s.Free(a, size))
	require.Len(t, dev.memory.mapped, 1, "still in use by the kernel")
	close(release)
	require.NoError(t, s.Sync())
	require.Empty(t, dev.memory.mapped)
}

func TestEvents(t *testing.T) {
	dev, fn := openFake(t, func([]byte) error { time.Sleep(5 * time.Millisecond); return nil })
	s := dev.Default()
	start, _ := dev.NewEvent()
	end, _ := dev.NewEvent()
	done, err := start.Done()
	require.NoError(t, err)
	require.True(t, done)
	_, err = end.Since(start)
	require.ErrorIs(t, err, driver.ErrNotReady)
	require.NoError(t, s.Record(start))
	require.NoError(t, s.Launch(fn, &driver.Launch{}))
	require.NoError(t, s.Record(end))
	require.NoError(t, s.Wait(end))
	require.NoError(t, end.Sync())
	d, err := end.Since(start)
	require.NoError(t, err)
	require.GreaterOrEqual(t, d, 5*time.Millisecond)
	require.NoError(t, end.Close())
	require.ErrorIs(t, s.Record(nil), driver.ErrInvalid)
	_, err = end.Since(nil)
	require.ErrorIs(t, err, driver.ErrInvalid)
}

func TestRefusals(t *testing.T) {
	b := New()
	require.Equal(t, "cpu", b.Kind())
	_, err := b.Open(1)
	require.ErrorIs(t, err, driver.ErrNoDevice)
	dev, err := b.Open(0)
	require.NoError(t, err)
	_, err = dev.Load(driver.Image{Format: "ptx", Name: "k"})
	require.ErrorIs(t, err, driver.ErrBadImage)
	_, err = dev.Load(driver.Image{Format: "kir", Name: "k", Code: []byte("nonsense")})
	require.ErrorIs(t, err, driver.ErrBadImage)
	require.ErrorIs(t, dev.Default().Launch(nil, &driver.Launch{}), driver.ErrInvalid)
	none, err := (&Backend{}).Open(0)
	require.NoError(t, err)
	_, err = none.Load(driver.Image{Format: "kir", Name: "k"})
	require.ErrorContains(t, err, "no executor")
	fakeDev, _ := openFake(t, func([]byte) error { return nil })
	mod, err := fakeDev.Load(driver.Image{Format: "kir", Name: "k"})
	require.NoError(t, err)
	_, err = mod.Function("other")
	require.ErrorIs(t, err, driver.ErrNotFound)
	img, log, err := dev.Finalize(driver.Image{Format: "kir"})
	require.NoError(t, err)
	require.Empty(t, log)
	require.Equal(t, "kir", img.Format)
	require.Empty(t, dev.FinalKey())
	free, total, err := dev.MemInfo()
	require.NoError(t, err)
	require.Positive(t, free)
	require.LessOrEqual(t, free, total)
	info := b.Probe().Devices[0]
	require.NotEmpty(t, info.Model)
	require.Equal(t, dev.Info().WarpSize, info.WarpSize)
}

func TestConcurrentUse(t *testing.T) {
	dev, fn := openFake(t, func([]byte) error { return nil })
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			s, _ := dev.NewStream()
			src, dst := make([]byte, 1000+g), make([]byte, 1000+g)
			for i := range src {
				src[i] = byte(i * g)
			}
			for range 50 {
				a, err := s.Alloc(int64(len(src)))
				if err != nil {
					t.Error(err)
					return
				}
				_ = s.Upload(a, src)
				_ = s.Launch(fn, &driver.Launch{})
				_ = s.Download(dst, a)
				_ = s.Free(a, int64(len(src)))
				if string(src) != string(dst) {
					t.Error("another goroutine's bytes")
					return
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, dev.Close())
	require.Zero(t, dev.memory.used)
}

// Closing a device gives back what was not freed, and refuses what comes later.
func TestCloseGivesMemoryBack(t *testing.T) {
	dev, fn := openFake(t, func([]byte) error { return nil })
	st := dev.Default()
	for _, size := range []int64{10, maxSmall + 1, 3 << 20, 20 << 20} {
		_, err := st.Alloc(size)
		require.NoError(t, err)
	}
	held, err := st.Alloc(1 << 20)
	require.NoError(t, err)
	pinned, err := dev.AllocHost(1 << 20)
	require.NoError(t, err)
	require.Zero(t, addrOf(pinned)%minClass)
	require.NoError(t, dev.Close())
	require.Empty(t, dev.memory.mapped)
	require.Empty(t, dev.memory.slabs)

	pinned[len(pinned)-1] = 1 // the program's slice of it is still there
	require.NoError(t, dev.FreeHost(pinned))
	_, err = st.Alloc(1)
	require.ErrorIs(t, err, driver.ErrClosed)
	_, err = dev.AllocHost(1)
	require.ErrorIs(t, err, driver.ErrClosed)
	require.ErrorIs(t, st.Upload(held, []byte{1}), driver.ErrClosed)
	require.ErrorIs(t, st.Download(make([]byte, 1), held), driver.ErrClosed)
	require.NoError(t, st.Fill(held, 0, 1<<20))
	require.ErrorIs(t, st.Sync(), driver.ErrClosed)
	require.NoError(t, st.Launch(fn, &driver.Launch{}))
	require.ErrorIs(t, st.Sync(), driver.ErrClosed)
	require.NoError(t, st.Free(held, 1<<20))
	require.NoError(t, dev.Trim())
	require.NoError(t, dev.Close())
}

// Goroutines that use a device while it is closed get results or errors.
func TestCloseWhileInUse(t *testing.T) {
	dev, _ := openFake(t, func([]byte) error { return nil })
	st := dev.Default()
	a, err := st.Alloc(1 << 20)
	require.NoError(t, err)
	var wg sync.WaitGroup
	closing := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			mem := make([]byte, 1<<20)
			for n := 0; ; n++ {
				if n == 3 {
					closing <- struct{}{}
				}
				if err := errors.Join(st.Upload(a, mem), st.Fill(a, 1, 1<<20), st.Download(mem, a)); err != nil {
					if !errors.Is(err, driver.ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	for range 4 {
		<-closing
	}
	if err := dev.Close(); err != nil {
		require.ErrorIs(t, err, driver.ErrClosed)
	}
	wg.Wait()
}
