package opstest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
)

// move tests copies between all pairs of types, where, fill and arange.
func move(t *testing.T, b *bench) {
	n := 0
	for _, from := range dtype.All() {
		for _, to := range dtype.All() {
			if !b.has(from) || !b.has(to) {
				continue
			}
			n++
			k := n
			b.part(t, func(t *testing.T, b *bench) { b.cast(t, from, to, k) }, "%v to %v", from, to)
		}
	}
	b.part(t, func(t *testing.T, b *bench) { b.turned(t) }, "Turned")
	for i, d := range dtype.All() {
		if b.has(d) {
			b.part(t, func(t *testing.T, b *bench) { b.where(t, dtype.Ints()[i%5], d, i) }, "Where/%v", d)
			b.part(t, func(t *testing.T, b *bench) { b.fill(t, d) }, "Fill/%v", d)
		}
	}
	require.ErrorIs(t, elementwiseops.Where(b.s, ops.View{DType: dtype.F32}, ops.View{DType: dtype.F32}, ops.View{}, ops.View{}), ops.ErrDType)
	require.ErrorIs(t, elementwiseops.Fill(b.s, ops.View{DType: dtype.F4}, dtype.Scalar{}), ops.ErrDType)
}

func (b *bench) cast(t *testing.T, from, to dtype.DType, n int) {
	t.Helper()
	s := shapes[n%len(shapes)]
	x := b.value(t, from, layoutOf(t, kinds[n%len(kinds)], s), func() dtype.Scalar { return b.number(from) })
	out := b.result(t, to, layoutOf(t, kinds[n/len(kinds)%4], s))
	require.NoError(t, elementwiseops.Copy(b.s, out.View, x.View))
	for i, got := range b.read(t, out) {
		want := x.want[i].Convert(to)
		require.NoError(t, near(got, want, 0), "%v of type %v to %v", x.want[i], from, to)
	}
}

func (b *bench) where(t *testing.T, mask, d dtype.DType, kind int) {
	t.Helper()
	for k, s := range shapes {
		l := func(i int) layout.Layout { return layoutOf(t, kinds[(kind+i+k)%len(kinds)], s) }
		cond := b.value(t, mask, l(0), func() dtype.Scalar { return dtype.FromInt(mask, int64(b.rng.IntN(3))) })
		x := b.value(t, d, l(1), func() dtype.Scalar { return b.number(d) })
		y := b.value(t, d, l(2), func() dtype.Scalar { return b.number(d) })
		out := b.result(t, d, layoutOf(t, kinds[k%4], s))
		require.NoError(t, elementwiseops.Where(b.s, out.View, cond.View, x.View, y.View))
		for i, got := range b.read(t, out) {
			want := y.want[i]
			if cond.want[i].Int() != 0 {
				want = x.want[i]
			}
			require.Equal(t, want, got)
		}
	}
}

func (b *bench) fill(t *testing.T, d dtype.DType) {
	t.Helper()
	for k, s := range shapes {
		out := b.result(t, d, layoutOf(t, kinds[k%4], s))
		require.NoError(t, elementwiseops.Fill(b.s, out.View, dtype.FromFloat(d, 42)))
		for _, got := range b.read(t, out) {
			require.Equal(t, dtype.FromFloat(d, 42), got)
		}
	}
	out := b.result(t, d, layout.Contiguous(layout.Shape{100}))
	require.NoError(t, elementwiseops.Arange(b.s, out.View, dtype.FromInt(d, 3), dtype.FromInt(d, 2)))
	for i, got := range b.read(t, out) {
		require.Equal(t, dtype.FromInt(d, 3+2*int64(i)), got)
	}
}

// turned tests copies that turn matrices, of sizes about those of tiles.
func (b *bench) turned(t *testing.T) {
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
			x := b.value(t, d, l, func() dtype.Scalar { return b.number(d) })
			for _, kind := range []string{"dense", "narrowed"} {
				out := b.result(t, d, layoutOf(t, kind, l.Shape()))
				require.NoError(t, elementwiseops.Copy(b.s, out.View, x.View))
				require.Equal(t, x.want, b.read(t, out), "%v of %v by %v", d, c.shape, c.order)
			}
		}
	}
}
