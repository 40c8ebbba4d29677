package matmul

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// Bands are transposed where what lies next to each other is not what they have next to each other,
// and of less than a vector where two and more of them are one.
func TestPackOrder(t *testing.T) {
	const along, across = kernels.AlongK, kernels.AcrossK
	for _, c := range []struct {
		across, along int // strides
		high, warp    dsl.ConstInt
		words         bool
		way, turn     dsl.ConstInt
		contiguous    bool
	}{
		{100, 1, 8, 16, false, along, 8, true},
		{100, 1, 4, 8, false, along, 4, true},
		{100, 1, 6, 8, false, along, 0, true},
		{100, 1, 48, 16, false, along, 16, true},
		{100, 1, 16, 8, false, along, 8, true},
		{100, 1, 48, 16, true, along, 0, true},
		{1, 100, 8, 16, false, across, 2, true},
		{1, 100, 4, 16, false, across, 4, true},
		{1, 100, 6, 8, false, along, 0, false},
		{1, 100, 48, 16, false, across, 0, true},
		{1, 100, 8, 16, true, along, 0, false},
		{3, 100, 8, 16, false, along, 0, false},
	} {
		p := kernels.Packing{Across: c.across, Along: c.along, MR: c.high}
		packOrder(&p, c.warp, !c.words)
		got := []any{p.Axis, p.Transpose, bool(p.Contiguous)}
		require.Equal(t, []any{c.way, c.turn, c.contiguous}, got, "%+v", c)
	}
}

// The first factor is read where it is if its numbers are used a few times, are of the type of the sums,
// and lie in rows or in whole columns of bands.
func TestDirectX(t *testing.T) {
	for _, c := range []struct {
		d        dtype.DType
		warp     int
		m, n     int
		down, by int // strides
		want     dsl.ConstInt
	}{
		{dtype.F32, 16, 12, 64, 100, 1, kernels.InRows},
		{dtype.F64, 16, 12, 64, 0, 1, kernels.InRows},
		{dtype.F32, 16, 16, 64, 1, 100, kernels.InColumns},
		{dtype.F32, 16, 12, 64, 1, 100, kernels.InBands}, // no whole bands
		{dtype.F32, 16, 12, 64, -100, 1, kernels.InBands},
		{dtype.F32, 16, 12, 64, 100, 2, kernels.InBands},
		{dtype.F32, 16, 12, 64, 5000, 1, kernels.InBands}, // rows that are far apart
		{dtype.F32, 16, 16, 64, 1, 5000, kernels.InBands},
		{dtype.F32, 16, 12, 600, 100, 1, kernels.InBands}, // many columns
		{dtype.BF16, 16, 12, 64, 100, 1, kernels.InBands}, // which packing converts
		{dtype.F32, 8, 12, 64, 100, 1, kernels.InBands},   // half as many registers
	} {
		v := ops.View{DType: c.d}
		p := &Problem{Out: v, A: v, B: v, Info: runtime.Info{WarpSize: c.warp}}
		p.Product = kernels.Product{M: c.m, N: c.n, XM: c.down, XK: c.by}
		require.Equal(t, c.want, p.directX(8), "%+v", c)
	}
}

// TestPacked multiplies packed factors that lie along and across k, with rows and columns that are
// no whole bands, on vectors of several widths. Sums of small integers are exact.
func TestPacked(t *testing.T) {
	for _, name := range []string{"cpu", "cpu:avx2", "cpu:interp", "cpu:interp8"} {
		dev, err := runtime.Open(name)
		if err != nil && name == "cpu:avx2" {
			t.Logf("without %s: %v", name, err)
			continue
		}
		require.NoError(t, err)
		defer dev.Close()
		b := opstest.NewBench(dev)
		for i, c := range [][3]int{{64, 96, 32}, {33, 49, 47}, {9, 130, 1}, {100, 7, 18}, {8, 48, 65}} {
			for _, types := range [][2]dtype.DType{
				{dtype.F32, dtype.F32}, {dtype.F64, dtype.F64}, {dtype.BF16, dtype.F32}, {dtype.I32, dtype.I32},
			} {
				for ways := range 4 {
					if i < 2 || name == "cpu" {
						multiplied(t, b, "packed", types[0], types[1], c[0], c[1], c[2], ways)
					}
				}
			}
		}
	}
}
