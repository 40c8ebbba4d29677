package dsl_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

func TestShuffles(t *testing.T) {
	for _, warp := range []int{4, 32, 64} {
		err := dsltest.Run(dsl.D1(1), dsl.D1(128), func(th dsl.Thread) {
			id, lane := th.ThreadX(), th.Lane()
			base := id - lane
			own := func(from int) int { // out of range gives the own value
				if from < 0 || from >= warp {
					return id
				}
				return base + from
			}
			assert.Equal(t, base+1, dsl.Shuffle(th, id, warp+1), "modulo the warp size")
			assert.Equal(t, base+warp-1, dsl.Shuffle(th, id, -1))
			assert.EqualValues(t, base+(warp-1-lane), dsl.Shuffle(th, float32(id), warp-1-lane))
			assert.EqualValues(t, own(lane-1), dsl.ShuffleUp(th, int32(id), 1))
			assert.EqualValues(t, own(lane+3), dsl.ShuffleDown(th, uint64(id), 3))
			assert.EqualValues(t, own(lane^2), dsl.ShuffleXor(th, float64(id), 2))
			assert.EqualValues(t, id, dsl.ShuffleXor(th, uint32(id), warp))
			assert.EqualValues(t, own(lane-1), dsl.ShuffleUp(th, int8(id), 1))
			assert.EqualValues(t, own(lane+3), dsl.ShuffleDown(th, uint16(id), 3))
			assert.EqualValues(t, own(lane^2), dsl.F32(dsl.ShuffleXor(th, dsl.To[dsl.F16](float32(id)), 2)))
			assert.EqualValues(t, base+1, dsl.F32(dsl.Shuffle(th, dsl.To[dsl.BF16](float32(id)), 1)))
		}, dsltest.WarpSize(warp))
		require.NoError(t, err)
	}
}

func TestVotes(t *testing.T) {
	err := dsltest.Run(dsl.D1(1), dsl.D1(64), func(th dsl.Thread) {
		lane := th.Lane()
		assert.EqualValues(t, 0x11111111, dsl.Ballot(th, lane%4 == 0))
		assert.Equal(t, th.Warp() == 1, dsl.Any(th, th.ThreadX() == 40))
		assert.Equal(t, th.Warp() == 0, dsl.All(th, th.ThreadX() != 40))
	})
	require.NoError(t, err)
	err = dsltest.Run(dsl.D1(1), dsl.D1(64), func(th dsl.Thread) {
		assert.EqualValues(t, uint64(math.MaxUint64), dsl.Ballot(th, true))
		assert.True(t, dsl.All(th, true))
	}, dsltest.WarpSize(64))
	require.NoError(t, err)
}

func TestReductions(t *testing.T) {
	for _, warp := range []int{8, 32} {
		for _, block := range []dsl.Dim3{dsl.D1(32), dsl.D2(16, 16), dsl.D1(1024)} {
			n := block.X * max(block.Y, 1)
			err := dsltest.Run(dsl.D1(2), block, func(th dsl.Thread) {
				i := th.ThreadIndex()
				first := i - th.Lane()
				assert.Equal(t, warp*first+warp*(warp-1)/2, dsl.WarpSum(th, i))
				assert.Equal(t, first+warp-1, dsl.WarpMax(th, i))
				assert.EqualValues(t, first, dsl.WarpMin(th, float64(i)))
				// Calls in a row share their scratch memory.
				assert.EqualValues(t, n*(n-1)/2, dsl.BlockSum(th, float32(i)))
				assert.EqualValues(t, n, dsl.BlockSum(th, float32(1)))
				assert.EqualValues(t, n-1, dsl.BlockMax(th, int32(i)))
				assert.EqualValues(t, 0, dsl.BlockMin(th, uint64(i)))
			}, dsltest.WarpSize(warp))
			require.NoError(t, err)
		}
	}
	err := dsltest.Run(dsl.D1(1), dsl.D1(64), func(th dsl.Thread) {
		v := float32(th.ThreadX())
		if th.ThreadX() == 50 {
			v = float32(math.NaN())
		}
		assert.True(t, dsl.IsNaN(dsl.BlockMax(th, v)) && dsl.IsNaN(dsl.BlockMin(th, v)), "NaN wins")
	})
	require.NoError(t, err)
}

// All reductions by bits, and those by a function.
func TestBitReductions(t *testing.T) {
	err := dsltest.Run(dsl.D1(1), dsl.D1(64), func(th dsl.Thread) {
		i := th.ThreadX()
		assert.EqualValues(t, 0x80|i&32, dsl.WarpAnd(th, 0x80|i))
		assert.EqualValues(t, 0xF0|31|i&32, dsl.WarpOr(th, uint32(0xF0|i)))
		assert.EqualValues(t, 1<<32-1, dsl.WarpXor(th, int64(1)<<th.Lane()))
		assert.EqualValues(t, i|31, dsl.WarpReduce(th, uint8(i), func(a, b uint8) uint8 { return max(a, b) }))
	})
	require.NoError(t, err)
}

func TestScans(t *testing.T) {
	for _, warp := range []int{8, 32} {
		for _, block := range []dsl.Dim3{dsl.D1(32), dsl.D2(16, 16), dsl.D1(1024)} {
			err := dsltest.Run(dsl.D1(2), block, func(th dsl.Thread) {
				i := th.ThreadIndex()
				first := i - th.Lane()
				sum := func(from, to int) int { return (to*(to-1) - from*(from-1)) / 2 }
				assert.Equal(t, sum(first, i+1), dsl.WarpScanSum(th, i))
				assert.EqualValues(t, sum(first, i), dsl.WarpScanExclusive(th, float64(i)))
				// Calls in a row share their scratch memory.
				assert.EqualValues(t, sum(0, i+1), dsl.BlockScanSum(th, float32(i)))
				assert.EqualValues(t, i+1, dsl.BlockScanSum(th, float32(1)))
				assert.EqualValues(t, sum(0, i), dsl.BlockScanExclusive(th, uint32(i)))
				assert.EqualValues(t, i, dsl.BlockScanExclusive(th, int64(1)))
			}, dsltest.WarpSize(warp))
			require.NoError(t, err)
		}
	}
}

func ExampleBlockScanExclusive() {
	x := []int32{3, -1, 4, 1, 5, -9, 2, 6}
	var kept [8]int32
	err := dsltest.Run(dsl.D1(1), dsl.D1(8), func(t dsl.Thread) {
		v := x[t.Global()]
		n := 0
		if v > 1 {
			n = 1
		}
		if at := dsl.BlockScanExclusive(t, n); n == 1 {
			kept[at] = v
		}
	}, dsltest.WarpSize(4))
	fmt.Println(kept, err)
	// Output: [3 4 5 2 6 0 0 0] <nil>
}

func ExampleWarpSum() {
	x := make([]float32, 64)
	for i := range x {
		x[i] = float32(i)
	}
	var sums [2]float32
	err := dsltest.Run(dsl.D1(1), dsl.D1(64), func(t dsl.Thread) {
		s := dsl.WarpSum(t, x[t.Global()])
		if t.Lane() == 0 {
			sums[t.Warp()] = s
		}
	})
	fmt.Println(sums, err)
	// Output: [496 1520] <nil>
}

func ExampleShared() {
	x := []int32{1, 2, 3, 4}
	err := dsltest.Run(dsl.D1(1), dsl.D1(4), func(t dsl.Thread) {
		tile := dsl.Shared[[4]int32](t)
		i := t.ThreadX()
		tile[i] = x[i]
		t.Sync()
		x[i] = tile[3-i]
	})
	fmt.Println(x, err)
	// Output: [4 3 2 1] <nil>
}

func ExampleTo() {
	x := dsl.To[dsl.BF16](3.14159265)
	fmt.Println(dsl.F32(x), dsl.F32(dsl.To[dsl.F16](3.14159265)))
	// Output: 3.140625 3.140625
}
