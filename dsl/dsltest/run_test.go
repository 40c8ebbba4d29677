package dsltest_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

func TestGeometry(t *testing.T) {
	grid, block := dsl.D3(2, 3, 2), dsl.D3(4, 2, 3)
	seen := map[[3]int]int{}
	var order []int
	err := dsltest.Run(grid, block, func(th dsl.Thread) {
		seen[[3]int{th.GlobalX(), th.GlobalY(), th.GlobalZ()}]++
		order = append(order, th.ThreadIndex())
		assert.Equal(t, th.GlobalX(), th.Global())
		assert.Equal(t, 8, th.GlobalSize())
		assert.Equal(t, 24, th.BlockSize())
		assert.Equal(t, [3]int{4, 2, 3}, [3]int{th.BlockDimX(), th.BlockDimY(), th.BlockDimZ()})
		assert.Equal(t, [3]int{2, 3, 2}, [3]int{th.GridDimX(), th.GridDimY(), th.GridDimZ()})
		assert.Equal(t, th.ThreadIndex(), th.Warp()*th.WarpSize()+th.Lane())
	}, dsltest.WarpSize(8))
	require.NoError(t, err)
	assert.Len(t, seen, 8*6*6)
	for at, n := range seen {
		assert.Equal(t, 1, n, "%v", at)
	}
	for i, index := range order {
		assert.Equal(t, i%24, index, "threads run in order")
	}
}

func TestZeroSizesMeanOne(t *testing.T) {
	n := 0
	require.NoError(t, dsltest.Run(dsl.Dim3{X: 2}, dsl.Dim3{X: 3}, func(dsl.Thread) { n++ }))
	assert.Equal(t, 6, n)
}

// reverse reverses each block through shared memory.
func reverse(t dsl.Thread, x []int32) {
	tile := dsl.Shared[[64]int32](t)
	i, n := t.ThreadX(), t.BlockDimX()
	tile[i] = x[t.Global()]
	t.Sync()
	x[t.Global()] = tile[n-1-i]
}

func TestBarrierAndShared(t *testing.T) {
	x := make([]int32, 128)
	for i := range x {
		x[i] = int32(i)
	}
	require.NoError(t, dsltest.Run(dsl.D1(2), dsl.D1(64), func(th dsl.Thread) { reverse(th, x) }))
	for i := range x {
		assert.EqualValues(t, i/64*64+63-i%64, x[i])
	}
}

type mixed struct {
	A int16
	B [2]float32
	C bool
}

func TestSharedIsPoisonedInEachBlock(t *testing.T) {
	err := dsltest.Run(dsl.D1(2), dsl.D1(2), func(th dsl.Thread) {
		f := dsl.Shared[float32](th)
		n := dsl.Shared[int64](th)
		m := dsl.Shared[mixed](th)
		if th.ThreadX() == 0 {
			assert.True(t, *f != *f)
			assert.EqualValues(t, -1, *n)
			assert.True(t, m.C)
			*n = 5
		}
		th.Sync()
		assert.EqualValues(t, 5, *n)
	})
	require.NoError(t, err)
}

func scratch[T dsl.Word](t dsl.Thread) *T { return dsl.Shared[T](t) }

func TestSharedFollowsTheSourcePosition(t *testing.T) {
	err := dsltest.Run(dsl.D1(1), dsl.D1(2), func(th dsl.Thread) {
		a := dsl.Shared[int32](th)
		b := dsl.Shared[int32](th)
		assert.NotSame(t, a, b)
		var same [3]*int32
		for i := range same {
			same[i] = scratch[int32](th) // one call in the source: one object
		}
		assert.Same(t, same[0], same[2])
		assert.Same(t, same[0], scratch[int32](th))
		c, d := dsl.Shared[int32](th), dsl.Shared[uint32](th) // types tell them apart
		*c, *d = 1, 2
		assert.EqualValues(t, 1, *c)
	})
	require.NoError(t, err)
}

func sized[T dsl.Word](t dsl.Thread, n dsl.ConstInt) []T { return dsl.SharedSlice[T](t, n) }

func TestSharedSlice(t *testing.T) {
	err := dsltest.Run(dsl.D1(2), dsl.D1(4), func(th dsl.Thread) {
		a := dsl.SharedSlice[int32](th, 4)
		assert.Len(t, a, 4)
		assert.EqualValues(t, -1, a[th.ThreadX()], "poisoned in each block")
		th.Sync()
		a[th.ThreadX()] = int32(th.ThreadX())
		th.Sync()
		assert.Equal(t, []int32{0, 1, 2, 3}, a)
		th.Sync()
		small, large := sized[int64](th, 2), sized[int64](th, 3)
		again := sized[int64](th, 2)
		assert.Same(t, &small[0], &again[0], "one call, one length: one object")
		assert.NotSame(t, &small[0], &large[0])
		assert.Empty(t, dsl.SharedSlice[float32](th, 0))
	})
	require.NoError(t, err)
}

func TestLocalSlice(t *testing.T) {
	err := dsltest.Run(dsl.D1(1), dsl.D1(4), func(th dsl.Thread) {
		for range 2 {
			a := dsl.LocalSlice[float32](3)
			assert.Equal(t, []float32{0, 0, 0}, a)
			a[th.ThreadX()%3] = 1
			th.Sync()
		}
	})
	require.NoError(t, err)
}

// here returns the position of the line it is called on, as errors print it.
func here(offset int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line+offset)
}

func TestErrors(t *testing.T) {
	var where, where2 string
	wrapped := errors.New("cause")
	tests := []struct {
		name   string
		kernel func(t dsl.Thread)
		is     error
		says   string // % stands for where, & for where2
	}{
		{"index", func(t dsl.Thread) {
			x := make([]int, 3)
			where = here(1)
			x[t.Global()] = 1
		}, dsltest.ErrPanic, `block (0,0,0), thread (3,0,0), %: runtime error: index out of range [3] with length 3`},
		{"second block", func(t dsl.Thread) {
			where = here(2)
			if t.BlockX() == 1 {
				panic("no")
			}
		}, dsltest.ErrPanic, `block (1,0,0), thread (0,0,0), %: no`},
		{"error value", func(dsl.Thread) { panic(wrapped) }, wrapped, "cause"},
		{"nil pointer", func(t dsl.Thread) {
			var p *int
			where = here(1)
			*p = t.Lane()
		}, dsltest.ErrPanic, `%: runtime error: invalid memory address`},
		{"return before barrier", func(t dsl.Thread) {
			if t.ThreadX() == 40 {
				return
			}
			where = here(1)
			t.Sync()
		}, dsltest.ErrDivergence, `thread (32,0,0) is at Sync, % and thread (40,0,0) has returned`},
		{"a warp returns", func(t dsl.Thread) {
			where = here(2)
			if t.Warp() == 0 {
				t.Sync()
			}
		}, dsltest.ErrDivergence, `threads of one block must meet at one place, but thread (0,0,0) is at Sync, % and thread (32,0,0) has returned`},
		{"two barriers", func(t dsl.Thread) {
			where, where2 = here(2), here(4)
			if t.ThreadX() < 1 {
				t.Sync()
			} else {
				t.Sync()
			}
		}, dsltest.ErrDivergence, `thread (0,0,0) is at Sync, % and thread (1,0,0) is at Sync, &`},
		{"barrier against shuffle", func(t dsl.Thread) {
			where, where2 = here(2), here(4)
			if t.Lane() < 7 {
				t.SyncWarp()
			} else {
				dsl.Ballot(t, true)
			}
		}, dsltest.ErrDivergence, `threads of one warp must meet at one place, but thread (0,0,0) is at SyncWarp, % and thread (7,0,0) is at Ballot, &`},
		{"inside a helper", func(t dsl.Thread) {
			where = here(2)
			if t.Lane() == 0 {
				dsl.WarpSum(t, 1)
			}
		}, dsltest.ErrDivergence, `is at ShuffleXor, % and`},
		{"one line", func(t dsl.Thread) {
			where = here(1)
			a, b := dsl.Shared[int](t), dsl.Shared[int](t)
			*a = *b
		}, dsltest.ErrPanic, `two calls of Shared[int] stand on one line`},
		{"one line of slices", func(t dsl.Thread) {
			where = here(1)
			a, b := dsl.SharedSlice[int](t, 2), dsl.SharedSlice[int](t, 2)
			a[0] = b[0]
		}, dsltest.ErrPanic, `two calls of SharedSlice[int] stand on one line`},
		{"launch bounds", func(t dsl.Thread) { dsl.LaunchBounds(t, 5, 1) }, dsltest.ErrPanic, `LaunchBounds of 5 threads, 1 blocks at once, in a block of`},
		{"negative length", func(t dsl.Thread) { dsl.SharedSlice[int](t, -2) }, dsltest.ErrPanic, `SharedSlice[int] of -2 elements`},
		{"past the end", func(t dsl.Thread) {
			where = here(1)
			dsl.SharedSlice[int](t, 2)[t.ThreadX()+2] = 1
		}, dsltest.ErrPanic, `%: runtime error: index out of range [2] with length 2`},
		{"slice of pointers", func(t dsl.Thread) { dsl.SharedSlice[*int](t, 1) }, dsltest.ErrPanic, `holds a ptr`},
		{"pointer", func(t dsl.Thread) { dsl.Shared[[2]*int](t) }, dsltest.ErrPanic, `holds a ptr`},
		{"string", func(t dsl.Thread) { dsl.Shared[struct{ S string }](t) }, dsltest.ErrPanic, `holds a string`},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			err := dsltest.Run(dsl.D1(2), dsl.D1(64), c.kernel)
			require.ErrorIs(t, err, c.is)
			says := strings.ReplaceAll(strings.ReplaceAll(c.says, "%", where), "&", where2)
			assert.Contains(t, err.Error(), says)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestLaunchErrors(t *testing.T) {
	nothing := func(dsl.Thread) {}
	tests := []struct {
		grid, block dsl.Dim3
		warp        int
		kernel      func(dsl.Thread)
		says        string
	}{
		{dsl.D1(0), dsl.D1(1), 32, nothing, "grid (0,1,1)"},
		{dsl.D1(1), dsl.D2(4, -1), 32, nothing, "block (4,-1,1)"},
		{dsl.D1(1), dsl.D2(64, 32), 32, nothing, "2048 threads; use at most 1024"},
		{dsl.D1(1), dsl.D1(1), 24, nothing, "warp size 24"},
		{dsl.D1(1), dsl.D1(1), 128, nothing, "warp size 128"},
		{dsl.D1(1), dsl.D1(48), 32, func(t dsl.Thread) { dsl.Any(t, true) }, "make the block size a multiple of the warp size"},
	}
	for _, c := range tests {
		err := dsltest.Run(c.grid, c.block, c.kernel, dsltest.WarpSize(c.warp))
		require.ErrorIs(t, err, dsltest.ErrLaunch)
		assert.Contains(t, err.Error(), c.says)
	}
	// A partial warp may meet at barriers.
	require.NoError(t, dsltest.Run(dsl.D1(1), dsl.D1(48), func(t dsl.Thread) { t.SyncWarp(); t.Sync() }))
}

func TestThreadOutsideARun(t *testing.T) {
	assert.PanicsWithValue(t, "dsl: this Thread belongs to no block; run the kernel with dsltest.Run or launch it on a device", func() {
		dsl.Thread{}.ThreadX()
	})
}

// A kernel that stops its goroutine, as testing.T.FailNow does, ends the run.
func TestGoexit(t *testing.T) {
	done, returned := make(chan bool), false
	go func() {
		defer close(done)
		_ = dsltest.Run(dsl.D1(1), dsl.D1(4), func(t dsl.Thread) {
			t.Sync()
			runtime.Goexit()
		})
		returned = true
	}()
	<-done
	assert.False(t, returned)
}

func TestSyncGrid(t *testing.T) {
	const blocks, threads = 5, 4
	x, y, own := make([]int, blocks*threads), make([]int, blocks*threads), 0
	kernel := func(th dsl.Thread) {
		part := dsl.Shared[[threads]int](th)
		i := th.Global()
		part[th.ThreadX()], x[i] = i, i*i
		for range 3 {
			th.SyncGrid()
			y[i] = x[len(x)-1-i]
			th.SyncGrid()
			x[i] = y[i] + 1
		}
		th.Sync()
		if part[threads-1-th.ThreadX()] == th.BlockX()*threads+threads-1-th.ThreadX() {
			own++
		}
	}
	require.NoError(t, dsltest.Run(dsl.D1(blocks), dsl.D1(threads), kernel, dsltest.WarpSize(2)))
	for i, v := range x {
		j := len(x) - 1 - i
		require.Equal(t, j*j+3, v)
	}
	require.Equal(t, blocks*threads, own, "each block keeps its shared memory")
}

func TestSyncGridErrors(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, c := range map[string]struct {
		kernel func(dsl.Thread)
		blocks int
		want   string
		err    error
	}{
		"a block leaves": {func(th dsl.Thread) {
			if th.BlockX() != 1 {
				th.SyncGrid()
			}
		}, 3, `all blocks must meet at one place, but block \(1,0,0\) has returned and block \(0,0,0\) is at SyncGrid, .*run_test.go:\d+`, dsltest.ErrDivergence},
		"the first leaves": {func(th dsl.Thread) {
			if th.BlockX() > 0 {
				th.SyncGrid()
			}
		}, 3, `block \(0,0,0\) has returned and block \(1,0,0\) is at SyncGrid`, dsltest.ErrDivergence},
		"one leaves later": {func(th dsl.Thread) {
			th.SyncGrid()
			if th.BlockX() < 2 {
				th.SyncGrid()
			}
		}, 3, `block \(2,0,0\) has returned and block \(0,0,0\) is at SyncGrid`, dsltest.ErrDivergence},
		"two places": {func(th dsl.Thread) {
			if th.BlockX() == 0 {
				th.SyncGrid()
			} else {
				th.SyncGrid()
			}
		}, 2, `block \(0,0,0\) is at SyncGrid, .* and block \(1,0,0\) at SyncGrid`, dsltest.ErrDivergence},
		"a thread stays behind": {func(th dsl.Thread) {
			if th.ThreadX() == 0 {
				th.SyncGrid()
			}
		}, 2, `threads of one warp must meet at one place`, dsltest.ErrDivergence},
		"too many": {func(th dsl.Thread) { th.SyncGrid() }, 40000, `waits for its whole grid \(SyncGrid\), which can have 32768 threads here`, dsltest.ErrLaunch},
	} {
		err := dsltest.Run(dsl.D1(c.blocks), dsl.D1(2), c.kernel, dsltest.WarpSize(2))
		require.ErrorIs(t, err, c.err, name)
		require.Regexp(t, c.want, err.Error(), name)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+2, "coroutines are left")
}
