package conformance

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// rows adds cases of indices that go up or down by constants from thread to thread.
func (b *builder) rows() {
	const threads = 128
	for _, width := range []int{1, 2, 7, 8, 9, 16, 33, 64, 1000, -5, math.MaxInt64, math.MinInt64} {
		for _, first := range []int{0, -40, 5, 1 << 40, math.MaxInt64 - 70, math.MinInt64 + 3} {
			for _, step := range []int{1, 3} {
				name := fmt.Sprintf("RowsOf/%d/%d/%d", width, first, step)
				b.add(name, kernels.RowsOf, 2, threads/2, make([]int64, 3*threads), first, step, width)
			}
		}
	}
	for _, n := range []int{1, 5, 61, 64, 100} {
		for _, at := range [][2]int{{0, 50}, {-20, 90}, {30, 31}, {math.MinInt64, math.MaxInt64}, {math.MaxInt64 - 4, math.MaxInt64}, {math.MinInt64 + 2, math.MinInt64 + 60}} {
			for _, first := range []int{0, at[0], at[1] - 40, math.MaxInt64 - 30} {
				for _, step := range []int{1, 3, -1} {
					name := fmt.Sprintf("BordersOf/%d/%d/%d/%d/%d", n, at[0], at[1], first, step)
					b.add(name, kernels.BordersOf, 1, 32, make([]int64, n), first, step, at[0], at[1])
				}
			}
		}
	}
	for _, from := range []int{0, 3, 16, 125} {
		x, index := ints[int32](b, 3*threads), make([]int32, threads)
		for i := range index {
			index[i] = b.rng.Int32N(3 * threads)
		}
		b.add(fmt.Sprintf("Strides/%d", from), kernels.Strides, 2, threads/2,
			make([]uint8, 3*threads+2), make([]uint16, 5*threads), make([]int32, 2*threads), make([]int32, threads+9), x, index, from)
	}
}

// checkFaultStride has an index out of range in one thread of a vector, or only in threads that
// do not use it.
func checkFaultStride(t *testing.T, dev *runtime.Device) {
	const threads, most = 64, 3*63 + 1
	for _, f := range []struct {
		way           dsl.ConstInt
		first, from   int
		index, thread int // of the message; -1 if there is none
	}{
		{0, 0, 0, -1, -1},
		{0, 1, 0, most, 63},
		{0, -30, 10, -1, -1},
		{0, -30, 9, -3, 9},
		{1, 126, 0, -1, -1},
		{1, 125, 0, -1, 63},
		{1, most + 9, 5, -1, -1},
		{1, most + 9, 4, most + 1, 4},
		{2, most, 0, most, 17},
		{2, most, 18, -1, -1},
		{2, -1, 0, -1, 17},
		{2, math.MinInt32, 0, math.MinInt32, 17},
	} {
		index := make([]int32, threads)
		index[17] = int32(f.first)
		out := upload32(t, dev, make([]int32, most))
		k := jit.Of(kernels.FaultStride)
		if dev.Info().Kind != "cpu" {
			k = k.Checked()
		}
		require.NoError(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, threads), out, upload32(t, dev, index), f.first, f.from, f.way))
		err := dev.DefaultStream().Sync()
		if f.thread < 0 {
			require.NoError(t, err, "%+v", f)
			continue
		}
		require.ErrorIs(t, err, runtime.ErrLaunch, "%+v", f)
		assert.Contains(t, err.Error(), fmt.Sprintf("thread (%d,0,0): index out of range [%d]", f.thread, f.index), "%+v", f)
	}
}
