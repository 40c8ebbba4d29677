package matmul

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// skinnyCase is several products with a vector, or with n of them, whose factors lie along k.
type skinnyCase struct {
	m, k, n, batch int
	pitch          int // from row to row of x
	offset         int // of both factors
	words          bool
}

// skinnyTypes are types of factors and results.
var skinnyTypes = [][2]dtype.DType{
	{dtype.I8, dtype.I8}, {dtype.I8, dtype.I32}, {dtype.U8, dtype.I32}, {dtype.U8, dtype.U32},
	{dtype.U8, dtype.U8}, {dtype.BF16, dtype.BF16}, {dtype.BF16, dtype.F32},
}

// TestSkinnyWords multiplies bytes and bfloat16 in words and, where rows are no whole words, not, and
// adds a bias. Sums of small numbers are exact; those of bytes wrap as the results do.
func TestSkinnyWords(t *testing.T) {
	cases := []skinnyCase{
		{40, 200, 1, 1, 200, 0, true}, {9, 1044, 1, 2, 1048, 4, true}, {3, 4, 2, 3, 8, 8, true},
		{33, 64, 4, 1, 64, 0, true}, {5, 2600, 1, 1, 2600, 0, true}, {40, 200, 1, 1, 203, 0, false},
		{40, 200, 1, 1, 200, 1, false}, {7, 63, 2, 2, 64, 0, false},
	}
	for _, name := range []string{"cpu", "cpu:interp"} {
		dev, err := runtime.Open(name)
		require.NoError(t, err)
		defer dev.Close()
		b := opstest.NewBench(dev)
		for i, c := range cases {
			for _, d := range skinnyTypes {
				if name == "cpu" || i == 1 || i == 5 {
					c.multiply(t, b, d[0], d[1])
				}
			}
		}
	}
}

func (c skinnyCase) multiply(t *testing.T, b *opstest.Bench, d, o dtype.DType) {
	t.Helper()
	lie := func(shape layout.Shape, strides ...int) layout.Layout {
		l, err := layout.New(shape, strides, c.offset+12-opstest.Guard) // behind the guard
		require.NoError(t, err)
		return l
	}
	draw := func() dtype.Scalar { return dtype.FromFloat(d, float64(b.Rand.IntN(33)-16)/8) }
	if d.IsInt() {
		draw = func() dtype.Scalar { return b.Number(d) }
	}
	x := b.Value(t, d, lie(layout.Shape{c.batch, c.m, c.k}, c.m*c.pitch, c.pitch, 1), draw)
	y := b.Value(t, d, lie(layout.Shape{c.batch, c.k, c.n}, c.k*c.n, 1, c.k), draw)
	add := b.Value(t, o, layout.Contiguous(layout.Shape{c.n}), func() dtype.Scalar {
		return dtype.FromFloat(o, float64(b.Rand.IntN(33)))
	})
	out := b.Output(t, o, layout.Shape{c.batch, c.m, c.n}, 0)
	p, err := newProduct(b.Stream, Options{Epilogue: Epilogue{Bias: add.View}}, out.View, x.View, y.View, ops.View{})
	require.NoError(t, err)
	require.NoError(t, runSkinny(b.Stream, p, false))
	require.Equal(t, c.words, p.words, "%+v of %v", c, d)
	for i, got := range b.Read(t, out) {
		z, row, col := i/(c.m*c.n), i/c.n%c.m, i%c.n
		ints, floats := add.Want[col].Int(), add.Want[col].Float()
		for j := range c.k {
			a, b := x.Want[(z*c.m+row)*c.k+j], y.Want[(z*c.k+j)*c.n+col]
			if d.IsInt() {
				ints += a.Int() * b.Int()
			} else {
				floats += a.Float() * b.Float()
			}
		}
		want := dtype.FromFloat(o, floats)
		if d.IsInt() {
			want = dtype.FromBits(o, uint64(ints))
		}
		require.Equal(t, want, got, "%+v of %v in %v: at %d, %d, %d", c, d, o, z, row, col)
	}
}
