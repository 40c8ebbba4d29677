package data

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// numbers is the dataset 0, 1, 2 … n-1. Some take longer than others, so that workers overtake.
func numbers(n int) Dataset[int] {
	return Func(n, func(i int) (int, error) {
		time.Sleep(time.Duration(i*7%5) * 50 * time.Microsecond)
		return i, nil
	})
}

func newLoader(t *testing.T, n int, o Options) *Loader[int, []int] {
	l, err := NewLoader(numbers(n), Samples[int], o)
	require.NoError(t, err)
	return l
}

// take returns the next n batches of a loop without end.
func take[B any](t *testing.T, l *Loader[int, B], n int) (list []B) {
	if n == 0 {
		return nil
	}
	for b, err := range l.Batches(t.Context()) {
		require.NoError(t, err)
		if list = append(list, b); len(list) == n {
			break
		}
	}
	return list
}

// noLeaks fails if there are more goroutines at the end of a test than at its begin.
func noLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for range 2000 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
	})
}

func TestOrder(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		o    Options
		want int // batches of 23 samples
	}{
		{Options{}, 23},
		{Options{Batch: 4, Workers: 1, Prefetch: 1}, 6},
		{Options{Batch: 4, Workers: 7, DropLast: true}, 5},
		{Options{Batch: 5, Workers: 3, Prefetch: 1, Shuffle: true, Seed: 4}, 5},
		{Options{Batch: 23, Shuffle: true, DropLast: true}, 1},
	} {
		t.Run(fmt.Sprintf("%+v", c.o), func(t *testing.T) {
			l := newLoader(t, 23, c.o)
			require.Equal(t, c.want, l.Len())
			var epochs [2][]int
			for e := range epochs {
				require.Equal(t, Position{Epoch: e}, l.Position())
				for b, err := range l.Epoch(t.Context()) {
					require.NoError(t, err)
					epochs[e] = append(epochs[e], b...)
				}
			}
			require.Equal(t, c.o.Shuffle, !slices.Equal(epochs[0], epochs[1]))
			for _, had := range epochs {
				require.Equal(t, c.o.Shuffle, !slices.IsSorted(had))
				slices.Sort(had)
				require.Len(t, slices.Compact(had), min(23, c.want*max(c.o.Batch, 1)))
			}
		})
	}
}

// The order of samples is that which is written here, whatever later versions of Go do.
func TestShuffled(t *testing.T) {
	require.Equal(t, []int{7, 6, 1, 3, 2, 4, 8, 9, 0, 5}, shuffled(10, 1, 0))
	require.NotEqual(t, shuffled(10, 1, 0), shuffled(10, 1, 1))
	require.NotEqual(t, shuffled(10, 1, 0), shuffled(10, 2, 0))
	first := map[int]int{}
	for seed := range uint64(6000) {
		first[shuffled(6, seed, 3)[0]]++
	}
	for i := range 6 {
		require.InDelta(t, 1000, first[i], 150)
	}
}

// A loader that goes on at a position has the batches that the other one would have had, and what
// collates draw at random.
func TestResume(t *testing.T) {
	noLeaks(t)
	drawn := sync.Map{} // of all loops, by epoch and batch
	draw := func(samples []int, r *rand.Rand) (string, error) {
		x := r.Uint64()
		drawn.Store(x, true)
		return fmt.Sprint(samples, x), nil
	}
	open := func(workers int) *Loader[int, string] {
		l, err := NewLoader(numbers(11), draw, Options{Batch: 3, Shuffle: true, Seed: 9, Workers: workers})
		require.NoError(t, err)
		return l
	}
	want := take(t, open(1), 13)
	n := 0
	drawn.Range(func(_, _ any) bool { n++; return true })
	require.GreaterOrEqual(t, n, 13, "batches of other epochs draw other numbers")
	for at := range 13 {
		l := open(3)
		got := take(t, l, at)
		next := open(2)
		require.NoError(t, next.Seek(l.Position()))
		require.Equal(t, Position{Epoch: at / 4, Batch: at % 4}, l.Position())
		require.Equal(t, want, append(got, take(t, next, 13-at)...))
	}
	require.ErrorIs(t, open(1).Seek(Position{Batch: 4}), tensor.ErrRange)
	require.ErrorIs(t, open(1).Seek(Position{Epoch: -1}), tensor.ErrRange)
}

// The first error in the order of batches ends the loop, even if a later one was there before it.
func TestErrors(t *testing.T) {
	noLeaks(t)
	early, late := errors.New("early"), errors.New("late")
	set := Func(40, func(i int) (int, error) {
		switch i {
		case 21:
			time.Sleep(3 * time.Millisecond)
			return 0, early
		case 25:
			return 0, late
		}
		return i, nil
	})
	l, err := NewLoader(set, Samples[int], Options{Batch: 2, Workers: 4})
	require.NoError(t, err)
	for range 2 {
		n := l.Position().Batch
		for b, err := range l.Batches(t.Context()) {
			if n == 10 {
				require.ErrorIs(t, err, early)
				require.ErrorContains(t, err, "sample 21")
			} else {
				require.NoError(t, err)
				require.Equal(t, []int{2 * n, 2*n + 1}, b)
			}
			n++
		}
		require.Equal(t, 11, n)
		require.Equal(t, Position{Batch: 10}, l.Position())
	}
	bad, err := NewLoader(set, func([]int, *rand.Rand) (int, error) { return 0, late }, Options{})
	require.NoError(t, err)
	for _, err := range bad.Epoch(t.Context()) {
		require.ErrorIs(t, err, late)
	}
	for _, o := range []Options{{Batch: -1}, {Workers: -1}, {Prefetch: -1}, {Batch: 41, DropLast: true}} {
		_, err := NewLoader(set, Samples[int], o)
		require.ErrorIs(t, err, tensor.ErrArgument)
	}
	_, err = NewLoader[int, []int](nil, Samples[int], Options{})
	require.ErrorIs(t, err, tensor.ErrArgument)
}

// A context that is cancelled ends a loop that waits for a sample.
func TestCancel(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	stuck := Func(8, func(i int) (int, error) {
		if i > 3 {
			<-ctx.Done()
		}
		return i, nil
	})
	l, err := NewLoader(stuck, Samples[int], Options{Workers: 2})
	require.NoError(t, err)
	n := 0
	for _, err := range l.Batches(ctx) {
		if n == 4 {
			require.ErrorIs(t, err, why)
			break
		}
		require.NoError(t, err)
		if n++; n == 4 {
			time.AfterFunc(time.Millisecond, func() { cancel(why) })
		}
	}
	require.Equal(t, Position{Batch: 4}, l.Position())
	for _, err := range l.Batches(ctx) {
		require.ErrorIs(t, err, why)
	}
}

// No more batches are made ahead than the options say, and two that wait for the queue and the loop.
func TestPrefetch(t *testing.T) {
	noLeaks(t)
	var made atomic.Int64
	set := Func(100, func(i int) (int, error) { made.Add(1); return i, nil })
	l, err := NewLoader(set, Samples[int], Options{Workers: 8, Prefetch: 3})
	require.NoError(t, err)
	used := int64(0)
	for _, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		used++
		if used%20 == 1 {
			time.Sleep(2 * time.Millisecond)
		}
		require.LessOrEqual(t, made.Load(), used+4)
		for _, err := range l.Epoch(t.Context()) {
			require.ErrorIs(t, err, tensor.ErrArgument, "two loops")
		}
	}
	require.EqualValues(t, 100, used)
}

func TestParts(t *testing.T) {
	all := Slice[int]{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	test, rest, err := Split(all, 3, 1)
	require.NoError(t, err)
	var had []int
	for _, part := range []Dataset[int]{test, rest} {
		for i := range part.Len() {
			x, err := part.Get(i)
			require.NoError(t, err)
			had = append(had, x)
		}
	}
	require.Equal(t, 3, test.Len())
	slices.Sort(had)
	require.Equal(t, []int(all), had)
	_, _, err = Split(all, 11, 1)
	require.ErrorIs(t, err, tensor.ErrRange)
	_, err = Subset(all, []int{10})
	require.ErrorIs(t, err, tensor.ErrRange)
	one, err := Subset(all, []int{7, 7})
	require.NoError(t, err)
	x, err := one.Get(1)
	require.NoError(t, err)
	require.Equal(t, 7, x)
}

func TestDevice(t *testing.T) {
	dev, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()

	w, err := NewWindows([]int32{0, 1, 2, 3, 4, 5, 6, 7}, 3, 2)
	require.NoError(t, err)
	require.Equal(t, 3, w.Len())
	l, err := NewLoader(w, NextToken[int32](dev), Options{Batch: 2})
	require.NoError(t, err)
	var got []string
	for b, err := range l.Epoch(t.Context()) {
		require.NoError(t, err)
		x, err := tensor.To2[int32](b.X)
		require.NoError(t, err)
		y, err := tensor.To2[int32](b.Y)
		require.NoError(t, err)
		got = append(got, fmt.Sprint(x, y))
	}
	require.Equal(t, []string{
		"[[0 1 2] [2 3 4]] [[1 2 3] [3 4 5]]",
		"[[4 5 6]] [[5 6 7]]",
	}, got)

	images, err := NewLabeled([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, []uint32{1, 0})
	require.NoError(t, err)
	c, err := NewLoader(images, Classify(dev, 1, 2, 2), Options{Batch: 2})
	require.NoError(t, err)
	for b, err := range c.Epoch(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, tensor.Shape{2, 1, 2, 2}, b.X.Shape())
		x, err := tensor.ToSlice[float32](b.X)
		require.NoError(t, err)
		require.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, x)
		y, err := tensor.To1[uint32](b.Y)
		require.NoError(t, err)
		require.Equal(t, []uint32{1, 0}, y)
	}
	_, err = Classify(dev, 3)(images, nil)
	require.ErrorIs(t, err, tensor.ErrShape)
	_, err = Classify(dev, -4, -1)(images, nil)
	require.ErrorIs(t, err, tensor.ErrShape)
	for _, samples := range [][][]uint8{{{1, 2}, {1}}, {{}}, nil} {
		_, err = NextToken[uint8](dev)(samples, nil)
		require.ErrorIs(t, err, tensor.ErrShape)
	}
	_, err = NewLabeled(make([]float32, 5), 2, make([]uint32, 2))
	require.ErrorIs(t, err, tensor.ErrShape)
	_, err = NewWindows([]uint8{1, 2}, 2, 1)
	require.ErrorIs(t, err, tensor.ErrArgument)
}
