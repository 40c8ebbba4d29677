package elementwisetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// Move tests copies between all pairs of types, where, fill and arange.
func Move(t *testing.T, b *opstest.Bench) {
	for _, from := range dtype.All() {
		for _, to := range dtype.All() {
			if !b.Has(from) || !b.Has(to) {
				continue
			}
			b.Part(t, func(t *testing.T, b *opstest.Bench) { cast(t, b, from, to, b.Kind()) }, "%v to %v", from, to)
		}
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { transposed(t, b) }, "Turned")
	for _, d := range dtype.All() {
		if b.Has(d) {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { where(t, b, b.Ints(), d, b.Kind()) }, "Where/%v", d)
			b.Part(t, func(t *testing.T, b *opstest.Bench) { fill(t, b, d) }, "Fill/%v", d)
		}
	}
	require.ErrorIs(t, elementwiseops.Where(b.Stream, ops.View{DType: dtype.F32}, ops.View{DType: dtype.F32}, ops.View{}, ops.View{}), ops.ErrDType)
	require.ErrorIs(t, elementwiseops.Fill(b.Stream, ops.View{DType: dtype.F4}, dtype.Scalar{}), ops.ErrDType)
}

func cast(t *testing.T, b *opstest.Bench, from, to dtype.DType, kind int) {
	t.Helper()
	s := opstest.Shapes[b.Rand.IntN(len(opstest.Shapes))]
	x := b.Value(t, from, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], s), func() dtype.Scalar { return b.Number(from) })
	out := b.Result(t, to, opstest.LayoutOf(t, opstest.Kinds[kind/len(opstest.Kinds)%4], s))
	require.NoError(t, elementwiseops.Copy(b.Stream, out.View, x.View))
	for i, got := range b.Read(t, out) {
		want := x.Want[i].Convert(to)
		require.NoError(t, opstest.Near(got, want, 0), "%v of type %v to %v", x.Want[i], from, to)
	}
}

func where(t *testing.T, b *opstest.Bench, mask, d dtype.DType, kind int) {
	t.Helper()
	for k, s := range opstest.Shapes {
		l := func(i int) layout.Layout { return opstest.LayoutOf(t, opstest.Kinds[(kind+i+k)%len(opstest.Kinds)], s) }
		cond := b.Value(t, mask, l(0), func() dtype.Scalar { return dtype.FromInt(mask, int64(b.Rand.IntN(3))) })
		x := b.Value(t, d, l(1), func() dtype.Scalar { return b.Number(d) })
		y := b.Value(t, d, l(2), func() dtype.Scalar { return b.Number(d) })
		out := b.Result(t, d, opstest.LayoutOf(t, opstest.Kinds[k%4], s))
		require.NoError(t, elementwiseops.Where(b.Stream, out.View, cond.View, x.View, y.View))
		for i, got := range b.Read(t, out) {
			want := y.Want[i]
			if cond.Want[i].Int() != 0 {
				want = x.Want[i]
			}
			require.Equal(t, want, got)
		}
	}
}

func fill(t *testing.T, b *opstest.Bench, d dtype.DType) {
	t.Helper()
	for k, s := range opstest.Shapes {
		out := b.Result(t, d, opstest.LayoutOf(t, opstest.Kinds[k%4], s))
		require.NoError(t, elementwiseops.Fill(b.Stream, out.View, dtype.FromFloat(d, 42)))
		for _, got := range b.Read(t, out) {
			require.Equal(t, dtype.FromFloat(d, 42), got)
		}
	}
	out := b.Result(t, d, layout.Contiguous(layout.Shape{60})) // numbers that an I8 has
	require.NoError(t, elementwiseops.Arange(b.Stream, out.View, dtype.FromInt(d, 3), dtype.FromInt(d, 2)))
	for i, got := range b.Read(t, out) {
		require.Equal(t, dtype.FromInt(d, 3+2*int64(i)), got)
	}
}

// transposed tests copies that transpose matrices, of sizes about those of tiles.
func transposed(t *testing.T, b *opstest.Bench) {
	t.Helper()
	for _, d := range []dtype.DType{dtype.U8, dtype.BF16, dtype.F32, dtype.I64} {
		for _, c := range []struct {
			shape layout.Shape
			order []int
		}{
			{layout.Shape{16, 16}, []int{1, 0}}, {layout.Shape{33, 65}, []int{1, 0}}, {layout.Shape{100, 31}, []int{1, 0}},
			{layout.Shape{3, 40, 20}, []int{0, 2, 1}}, {layout.Shape{20, 3, 40}, []int{2, 1, 0}}, {layout.Shape{20, 2, 3, 40}, []int{3, 2, 1, 0}}, {layout.Shape{2, 17, 3, 40}, []int{2, 3, 0, 1}},
		} {
			l, err := layout.Contiguous(c.shape).Permute(c.order...)
			require.NoError(t, err)
			x := b.Value(t, d, l, func() dtype.Scalar { return b.Number(d) })
			for _, kind := range []string{"dense", "narrowed"} {
				out := b.Result(t, d, opstest.LayoutOf(t, kind, l.Shape()))
				require.NoError(t, elementwiseops.Copy(b.Stream, out.View, x.View))
				require.Equal(t, x.Want, b.Read(t, out), "%v of %v by %v", d, c.shape, c.order)
			}
		}
	}
}
