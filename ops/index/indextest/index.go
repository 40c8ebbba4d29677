package indextest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	indexops "github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/scatter"
	"github.com/gokiln/kiln/runtime"
)

// Index tests what reads and writes by indices.
func Index(t *testing.T, b *opstest.Bench) {
	for _, d := range dtype.All() {
		if !b.Has(d) {
			continue
		}
		for k := range 3 {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { gathers(t, b, d, b.Ints(), b.Kind(), k) }, "Gather/%v/%d", d, k)
			b.Part(t, func(t *testing.T, b *opstest.Bench) { scatters(t, b, d, b.Ints(), b.Kind(), k) }, "Scatter/%v/%d", d, k)
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				take(t, b, d, b.Ints(), b.Kind())
				oneHot(t, b, d, b.Ints(), b.Kind())
				fromEnd(t, b, b.Ints(), b.Kind())
			}, "Take/%v/%d", d, k)
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) { wholeRows(t, b, d) }, "WholeRows/%v", d)
		b.Part(t, func(t *testing.T, b *opstest.Bench) { selects(t, b, d, b.Ints(), b.Kind()) }, "Select/%v", d)
		b.Part(t, func(t *testing.T, b *opstest.Bench) { rearrange(t, b, d, b.Kind()) }, "Rearrange/%v", d)
	}
	t.Run("Cases", func(t *testing.T) { indexCases(t, b) })
	t.Run("OutOfRange", func(t *testing.T) { outOfRange(t, b) })
	t.Run("Errors", func(t *testing.T) { indexErrors(t, b) })
}

// indices puts indices below n on the device, some of them none.
func indices(t *testing.T, b *opstest.Bench, d dtype.DType, l layout.Layout, n int) *opstest.Value {
	return b.Value(t, d, l, func() dtype.Scalar {
		if b.Rand.IntN(8) == 0 {
			return opstest.NoIndex(d)
		}
		return dtype.FromInt(d, int64(b.Rand.IntN(min(n, 127))))
	})
}

// indexed are shapes with the dimension that indices are for, and how many there are.
var indexed = []struct {
	shape layout.Shape
	dim   int
	ids   int
}{
	{layout.Shape{7, 5}, 0, 9}, {layout.Shape{4, 50}, 1, 37}, {layout.Shape{3, 11, 40}, 1, 6}, {layout.Shape{9}, 0, 300},
	{layout.Shape{2, 3, 4}, 2, 0}, {layout.Shape{1, 1}, 0, 2},
}

func gathers(t *testing.T, b *opstest.Bench, d, id dtype.DType, kind, k int) {
	t.Helper()
	for n, c := range indexed {
		x := b.RandomValue(t, d, c.shape, kind+n)
		to := slices.Clone(c.shape)
		to[c.dim] = c.ids
		if k == 1 && c.dim > 0 {
			to[0] = max(to[0]-1, 1) // other dimensions of ids may be shorter
		}
		ids := indices(t, b, id, opstest.LayoutOf(t, opstest.Kinds[(kind+n+1)%len(opstest.Kinds)], to), c.shape[c.dim])
		out := b.Output(t, d, to, kind)
		require.NoError(t, indexops.Gather(b.Stream, out.View, x.View, ids.View, c.dim-k%2*len(to)))
		wantSelected(t, b, out, x, func(at []int) dtype.Scalar { return ids.Want[opstest.FlatIndex(to, at)] }, c.dim)

		to = slices.Clone(c.shape)
		to[c.dim] = c.ids
		list := indices(t, b, id, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%4], layout.Shape{c.ids}), c.shape[c.dim])
		out = b.Output(t, d, to, kind+1)
		require.NoError(t, indexops.IndexSelect(b.Stream, out.View, x.View, list.View, c.dim))
		wantSelected(t, b, out, x, func(at []int) dtype.Scalar { return list.Want[at[c.dim]] }, c.dim)
	}
	x := b.RandomValue(t, d, layout.Shape{10, 64}, kind)
	rows := layout.Shape{3, 4}
	ids := indices(t, b, id, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], rows), 10)
	out := b.Output(t, d, layout.Shape{3, 4, 64}, kind)
	require.NoError(t, indexops.Embedding(b.Stream, out.View, x.View, ids.View))
	flat := &opstest.Value{View: out.View, All: out.All}
	got := b.Read(t, flat)
	opstest.EachIndex(layout.Shape{3, 4, 64}, func(at []int) {
		i := ids.Want[at[0]*4+at[1]]
		want := dtype.Zero(d)
		if i != opstest.NoIndex(id) {
			want = x.Want[int(i.Int())*64+at[2]]
		}
		require.Equal(t, want, got[opstest.FlatIndex(layout.Shape{3, 4, 64}, at)])
	})
}

// wholeRows gathers rows that begin at multiples of 8 bytes, so that they are moved
// by larger pieces than elements, with a wrong index at the end.
func wholeRows(t *testing.T, b *opstest.Bench, d dtype.DType) {
	t.Helper()
	lie := func(s layout.Shape) layout.Layout {
		l, err := layout.New(s, s.Strides(), 2*8-opstest.Guard)
		require.NoError(t, err)
		return l
	}
	x := b.Value(t, d, lie(layout.Shape{10, 48}), func() dtype.Scalar { return b.Number(d) })
	ids := indices(t, b, dtype.U32, layout.Contiguous(layout.Shape{7}), 10)
	for _, by := range []string{"embedding", "index_select", "gather"} {
		out := b.Result(t, d, lie(layout.Shape{7, 48}))
		run := func(ids ops.View) error {
			switch by {
			case "embedding":
				return indexops.Embedding(b.Stream, out.View, x.View, ids)
			case "index_select":
				return indexops.IndexSelect(b.Stream, out.View, x.View, ids, 0)
			}
			var err error
			ids.Layout, err = layout.New(layout.Shape{7, 48}, []int{1, 0}, ids.Layout.Offset())
			require.NoError(t, err)
			return indexops.Gather(b.Stream, out.View, x.View, ids, 0)
		}
		require.NoError(t, run(ids.View))
		wantSelected(t, b, out, x, func(at []int) dtype.Scalar { return ids.Want[at[0]] }, 0)
		at := 4
		if by == "gather" {
			at *= 48
		}
		require.NoError(t, run(b.Of(t, dtype.U32, layout.Shape{7}, 0, 1, 2, 3, 77, 5, 6).View))
		// Parts run at the same time: the Sync of another one may report this error, and this one
		// the other's. The result has its own.
		_ = b.Stream.Sync()
		require.ErrorContains(t, out.Buf.Err(), fmt.Sprintf("index 77 at position %d is out of range", at))
	}
}

// wantSelected compares a result with the elements of x at indices along a dimension.
func wantSelected(t *testing.T, b *opstest.Bench, out, x *opstest.Value, id func(at []int) dtype.Scalar, dim int) {
	t.Helper()
	got, n := b.Read(t, out), 0
	opstest.EachIndex(out.Layout.Shape(), func(at []int) {
		want := dtype.Zero(x.DType)
		if i := id(at); i != opstest.NoIndex(i.DType()) {
			from := slices.Clone(at)
			from[dim] = int(i.Int())
			want = x.Want[opstest.FlatIndex(x.Layout.Shape(), from)]
		}
		require.Equal(t, want, got[n], "element %v of %v", at, out.Layout)
		n++
	})
}

func scatters(t *testing.T, b *opstest.Bench, d, id dtype.DType, kind, k int) {
	t.Helper()
	small := func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(5))) } // sums are exact
	for n, c := range indexed {
		from := slices.Clone(c.shape)
		from[c.dim] = c.ids
		src := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%len(opstest.Kinds)], from), small)
		ids := indices(t, b, id, opstest.LayoutOf(t, opstest.Kinds[(kind+n+1)%len(opstest.Kinds)], from), c.shape[c.dim])
		list := indices(t, b, id, layout.Contiguous(layout.Shape{c.ids}), c.shape[c.dim])
		out := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%4], c.shape), small)
		want := slices.Clone(out.Want)
		exact := make([]float64, len(want)) // sums that are rounded once
		for i := range want {
			exact[i] = want[i].Float()
		}
		add := func(id dtype.Scalar, at []int, set bool) {
			if id == opstest.NoIndex(id.DType()) {
				return
			}
			to := slices.Clone(at)
			to[c.dim] = int(id.Int())
			i, x := opstest.FlatIndex(c.shape, to), src.Want[opstest.FlatIndex(from, at)]
			switch {
			case set:
				want[i] = x
			case d.IsInt():
				want[i] = dtype.FromBits(d, uint64(want[i].Int()+x.Int()))
			default:
				exact[i] += x.Float()
				want[i] = dtype.FromFloat(d, exact[i])
			}
		}
		switch k {
		case 0:
			require.NoError(t, scatter.Scatter(b.Stream, out.View, ids.View, src.View, c.dim))
			opstest.EachIndex(from, func(at []int) { add(ids.Want[opstest.FlatIndex(from, at)], at, true) })
		case 1:
			require.NoError(t, scatter.ScatterAdd(b.Stream, out.View, ids.View, src.View, c.dim-len(from)))
			opstest.EachIndex(from, func(at []int) { add(ids.Want[opstest.FlatIndex(from, at)], at, false) })
		default:
			require.NoError(t, scatter.IndexAdd(b.Stream, out.View, list.View, src.View, c.dim))
			opstest.EachIndex(from, func(at []int) { add(list.Want[at[c.dim]], at, false) })
		}
		require.NoError(t, opstest.Compare(b.Read(t, out), want, 0), "%d: %v of %v %v by %v", k, c, d, out.Layout, id)
	}
}

func take(t *testing.T, b *opstest.Bench, d, id dtype.DType, kind int) {
	t.Helper()
	for _, shape := range []layout.Shape{{4, 5, 6}, {120}} {
		x := b.RandomValue(t, d, shape, kind)
		ids := indices(t, b, id, opstest.LayoutOf(t, opstest.Kinds[(kind+1)%len(opstest.Kinds)], layout.Shape{7, 33}), 120)
		out := b.Output(t, d, layout.Shape{7, 33}, kind)
		require.NoError(t, indexops.Take(b.Stream, out.View, x.View, ids.View))
		for i, got := range b.Read(t, out) {
			want := dtype.Zero(d)
			if ids.Want[i] != opstest.NoIndex(id) {
				want = x.Want[ids.Want[i].Int()]
			}
			require.Equal(t, want, got)
		}
	}
}

// fromEnd draws positions from both ends.
func fromEnd(t *testing.T, b *opstest.Bench, id dtype.DType, kind int) {
	t.Helper()
	const n = 40
	shape := layout.Shape{3, 50}
	from := make([]float64, shape.Count())
	for i := range from {
		from[i] = float64(b.Rand.IntN(n))
		if id != dtype.U8 && id != dtype.U32 && b.Rand.IntN(2) == 0 {
			from[i] -= n
		}
	}
	ids, out := b.Of(t, id, shape, from...), b.Output(t, dtype.I64, shape, kind)
	require.NoError(t, indexops.FromEnd(b.Stream, out.View, ids.View, n))
	for i, got := range b.Read(t, out) {
		require.Equal(t, (int64(from[i])+n)%n, got.Int(), "%v of %v", from[i], id)
	}
}

func oneHot(t *testing.T, b *opstest.Bench, d, id dtype.DType, kind int) {
	t.Helper()
	ids := indices(t, b, id, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], layout.Shape{3, 5}), 40)
	out := b.Output(t, d, layout.Shape{3, 5, 40}, kind)
	on, off := dtype.FromInt(d, 3), dtype.FromInt(d, 1)
	require.NoError(t, indexops.OneHot(b.Stream, out.View, ids.View, on, off))
	for i, got := range b.Read(t, out) {
		want := off
		if ids.Want[i/40].Int() == int64(i%40) {
			want = on
		}
		require.Equal(t, want, got)
	}
}

func selects(t *testing.T, b *opstest.Bench, d, m dtype.DType, kind int) {
	t.Helper()
	for k, s := range append([]layout.Shape{{2000}}, opstest.Shapes...) {
		mask := b.Value(t, m, opstest.LayoutOf(t, opstest.Kinds[(kind+k)%len(opstest.Kinds)], s), func() dtype.Scalar { return dtype.FromInt(m, int64(b.Rand.IntN(2))) })
		x := b.RandomValue(t, d, s, kind+k+1)
		sel, err := indexops.Select(b.Stream, mask.View)
		require.NoError(t, err)
		var want []dtype.Scalar
		for i, y := range x.Want {
			if mask.Want[i].Int() != 0 {
				want = append(want, y)
			}
		}
		require.Equal(t, len(want), sel.Count())
		out := b.Result(t, d, layout.Contiguous(layout.Shape{len(want)}))
		require.NoError(t, sel.Masked(b.Stream, out.View, x.View))
		require.NoError(t, opstest.Compare(b.Read(t, out), want, 0))
		require.NoError(t, sel.Free(b.Stream))
		nonzero(t, b, x)

		v := b.Number(d)
		out = b.Output(t, d, s, kind)
		require.NoError(t, indexops.MaskedFill(b.Stream, out.View, mask.View, x.View, v))
		for i, got := range b.Read(t, out) {
			want := x.Want[i]
			if mask.Want[i].Int() != 0 {
				want = v
			}
			require.Equal(t, want, got)
		}
	}
}

func nonzero(t *testing.T, b *opstest.Bench, x *opstest.Value) {
	t.Helper()
	sel, err := indexops.Select(b.Stream, x.View)
	require.NoError(t, err)
	var want []dtype.Scalar
	n, i := 0, 0
	opstest.EachIndex(x.Layout.Shape(), func(at []int) {
		if f := x.Want[i].Float(); f != 0 {
			n++
			for _, k := range at {
				want = append(want, dtype.FromInt(dtype.I64, int64(k)))
			}
		}
		i++
	})
	require.Equal(t, n, sel.Count())
	out := b.Result(t, dtype.I64, layout.Contiguous(layout.Shape{n, x.Layout.Rank()}))
	require.NoError(t, sel.Nonzero(b.Stream, out.View))
	require.NoError(t, opstest.Compare(b.Read(t, out), want, 0))
	require.NoError(t, sel.Free(b.Stream))
}

// rearrange tests what moves elements.
func rearrange(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for k, s := range []layout.Shape{{7}, {4, 40}, {3, 5, 6}, {2, 0}} {
		x := b.RandomValue(t, d, s, kind+k)
		n := len(s)
		// from returns which element of x comes to an index of out, -1 for the number v.
		check := func(name string, to layout.Shape, run func(out ops.View) error, v dtype.Scalar, from func(at []int) []int) {
			out := b.Output(t, d, to, kind+k+1)
			require.NoError(t, run(out.View), name)
			got, i := b.Read(t, out), 0
			opstest.EachIndex(to, func(at []int) {
				want := v
				if f := from(at); f != nil {
					want = x.Want[opstest.FlatIndex(s, f)]
				}
				require.Equal(t, want, got[i], "%s of %v: element %v", name, x.Layout, at)
				i++
			})
		}
		last := n - 1
		check("flip", s, func(out ops.View) error { return indexops.Flip(b.Stream, out, x.View, -1) }, dtype.Scalar{}, func(at []int) []int {
			at = slices.Clone(at)
			at[last] = s[last] - 1 - at[last]
			return at
		})
		check("roll", s, func(out ops.View) error { return indexops.Roll(b.Stream, out, x.View, -9, 0) }, dtype.Scalar{}, func(at []int) []int {
			at = slices.Clone(at)
			at[0] = (at[0] + 9) % s[0]
			return at
		})
		twice, counts := slices.Clone(s), make([]int, n)
		for i := range twice {
			counts[i] = i + 2
			twice[i] *= i + 2
		}
		check("repeat", twice, func(out ops.View) error { return indexops.Repeat(b.Stream, out, x.View, counts...) }, dtype.Scalar{}, func(at []int) []int {
			at = slices.Clone(at)
			for i := range at {
				at[i] %= s[i]
			}
			return at
		})
		pads(b, s, x, check)
		if n > 1 {
			check("tril", s, func(out ops.View) error { return indexops.Tril(b.Stream, out, x.View, 1) }, dtype.FromBits(d, 0), func(at []int) []int {
				if at[last]-at[last-1] <= 1 {
					return at
				}
				return nil
			})
			check("triu", s, func(out ops.View) error { return indexops.Triu(b.Stream, out, x.View, 2) }, dtype.FromBits(d, 0), func(at []int) []int {
				if at[last]-at[last-1] >= 2 {
					return at
				}
				return nil
			})
		}
	}
	cat(t, b, d, kind)
	out := b.Output(t, d, layout.Shape{2, 5, 6}, kind)
	require.NoError(t, indexops.Eye(b.Stream, out.View))
	for i, got := range b.Read(t, out) {
		require.Equal(t, dtype.FromFloat(d, opstest.Truth(i%30/6 == i%6)), got)
	}
}

// pads tries the modes of Pad with as much as they can add.
func pads(b *opstest.Bench, s layout.Shape, x *opstest.Value, check func(string, layout.Shape, func(ops.View) error, dtype.Scalar, func([]int) []int)) {
	v := b.Number(x.DType)
	for mode, most := range map[indexops.PadMode]int{indexops.PadConstant: 9, indexops.PadEdge: 9, indexops.PadReflect: -1, indexops.PadCircular: 0} {
		to, pads := slices.Clone(s), make([][2]int, len(s))
		for i, n := range s {
			if most <= 0 {
				pads[i] = [2]int{min(max(n+most, 0), 2), max(n+most, 0)}
			} else if n > 0 || mode == indexops.PadConstant {
				pads[i] = [2]int{i + 1, most}
			}
			to[i] += pads[i][0] + pads[i][1]
		}
		check(fmt.Sprint("pad ", mode, pads), to, func(out ops.View) error { return indexops.Pad(b.Stream, out, x.View, pads, mode, v) }, v, func(at []int) []int {
			at = slices.Clone(at)
			for i, n := range s {
				j := at[i] - pads[i][0]
				switch {
				case j >= 0 && j < n:
				case mode == indexops.PadConstant:
					return nil
				case mode == indexops.PadEdge:
					j = min(max(j, 0), n-1)
				case mode == indexops.PadCircular:
					j = (j + n) % n
				case j < 0:
					j = -j
				default:
					j = 2*(n-1) - j
				}
				at[i] = j
			}
			return at
		})
	}
}

func cat(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	var in []*opstest.Value
	var views []ops.View
	for i, n := range []int{3, 0, 40, 1} {
		v := b.RandomValue(t, d, layout.Shape{2, n, 3}, kind+i)
		in, views = append(in, v), append(views, v.View)
	}
	out := b.Output(t, d, layout.Shape{2, 44, 3}, kind)
	require.NoError(t, indexops.Cat(b.Stream, out.View, 1, views...))
	var want []dtype.Scalar
	for i := range 2 {
		for _, v := range in {
			half := len(v.Want) / 2
			want = append(want, v.Want[i*half:(i+1)*half]...)
		}
	}
	require.NoError(t, opstest.Compare(b.Read(t, out), want, 0))
	require.ErrorIs(t, indexops.Cat(b.Stream, out.View, 0, views...), layout.ErrShape)
}

// indexCases are examples with known results.
func indexCases(t *testing.T, b *opstest.Bench) {
	max32 := float64(1<<32 - 1)
	x := b.Of(t, dtype.F32, layout.Shape{3, 2}, opstest.Sequence(0, 6)...)
	out := b.Output(t, dtype.F32, layout.Shape{3, 2}, 0)
	require.NoError(t, indexops.IndexSelect(b.Stream, out.View, x.View, b.Of(t, dtype.U32, layout.Shape{3}, max32, 2, max32).View, 0))
	b.WantNumbers(t, out, 0, 0, 4, 5, 0, 0)

	ones := func(s layout.Shape) *opstest.Value {
		return b.Value(t, dtype.F32, layout.Contiguous(s), func() dtype.Scalar { return dtype.One(dtype.F32) })
	}
	src := b.Of(t, dtype.F32, layout.Shape{4, 3}, opstest.Sequence(0, 12)...)
	out = ones(layout.Shape{4, 2})
	require.NoError(t, scatter.IndexAdd(b.Stream, out.View, b.Of(t, dtype.I64, layout.Shape{3}, 0, 1, 1).View, src.View, 1))
	b.WantNumbers(t, out, 1, 4, 4, 10, 7, 16, 10, 22)

	longRows(t, b)

	ids := b.Of(t, dtype.U8, layout.Shape{4, 3}, 0, 1, 2, 3, 4, 0, 3, 3, 1, 2, 0, 4)
	out = ones(layout.Shape{4, 5})
	require.NoError(t, scatter.ScatterAdd(b.Stream, out.View, ids.View, src.View, 1))
	b.WantNumbers(t, out, 1, 2, 3, 1, 1, 6, 1, 1, 4, 5, 1, 9, 1, 14, 1, 11, 1, 10, 1, 12)
	out = ones(layout.Shape{4, 5})
	require.NoError(t, scatter.Scatter(b.Stream, out.View, ids.View, src.View, 1))
	b.WantNumbers(t, out, 0, 1, 2, 1, 1, 5, 1, 1, 3, 4, 1, 8, 1, 7, 1, 10, 1, 9, 1, 11)

	out = b.Output(t, dtype.F32, layout.Shape{4, 1}, 0)
	require.NoError(t, indexops.Gather(b.Stream, out.View, src.View, b.Of(t, dtype.U32, layout.Shape{4, 1}, 0, 2, 1, max32).View, 1))
	b.WantNumbers(t, out, 0, 5, 7, 0)

	hot := b.Output(t, dtype.U8, layout.Shape{2, 2, 4}, 0)
	require.NoError(t, indexops.OneHot(b.Stream, hot.View, b.Of(t, dtype.I64, layout.Shape{2, 2}, 0, 2, 1, -1).View, dtype.One(dtype.U8), dtype.Zero(dtype.U8)))
	b.WantNumbers(t, hot, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0)

	square := b.Of(t, dtype.F32, layout.Shape{2, 2}, 1, 2, 3, 4)
	padded := b.Output(t, dtype.F32, layout.Shape{5, 2}, 0)
	require.NoError(t, indexops.Pad(b.Stream, padded.View, square.View, [][2]int{{1, 2}, {0, 0}}, indexops.PadEdge, dtype.Scalar{}))
	b.WantNumbers(t, padded, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4)

	six := b.Output(t, dtype.F32, layout.Shape{2, 3}, 0)
	require.NoError(t, indexops.Flip(b.Stream, six.View, b.Of(t, dtype.F32, layout.Shape{2, 3}, opstest.Sequence(0, 6)...).View, 0, 1))
	b.WantNumbers(t, six, 5, 4, 3, 2, 1, 0)
}

// longRows adds to rows of which several vectors are added at once, and a rest.
func longRows(t *testing.T, b *opstest.Bench) {
	for _, wide := range []int{31, 32, 39, 1063, 2085} {
		src := b.Of(t, dtype.F32, layout.Shape{5, wide}, opstest.Sequence(0, 5*wide)...)
		out, want := b.Of(t, dtype.F32, layout.Shape{4, wide}, opstest.Sequence(7, 4*wide)...), opstest.Sequence(7, 4*wide)
		list := []float64{2, 0, 2, 3, 2}
		for k, to := range list {
			for i := range wide {
				want[int(to)*wide+i] += float64(k*wide + i)
			}
		}
		require.NoError(t, scatter.IndexAdd(b.Stream, out.View, b.Of(t, dtype.U32, layout.Shape{5}, list...).View, src.View, 0))
		b.WantNumbers(t, out, want...)
	}
}

// outOfRange gives every operation a wrong index: it fails with the next call that
// waits, writes nothing outside, and the device goes on.
func outOfRange(t *testing.T, b *opstest.Bench) {
	x := b.Of(t, dtype.F32, layout.Shape{4, 8}, opstest.Sequence(0, 32)...)
	wrong := map[dtype.DType][]int64{dtype.U8: {4, 254}, dtype.I16: {-2, 300}, dtype.I32: {-5, 1 << 30}, dtype.U32: {4, 1 << 31}, dtype.I64: {1<<32 + 1, -1 << 40}}
	for d, list := range wrong {
		if d != dtype.I32 && !b.Takes("OutOfRange/%v", d) {
			continue
		}
		for _, i := range list {
			ids := b.Of(t, d, layout.Shape{3}, 0, float64(i), 1)
			wide := ids.View
			var err error
			wide.Layout, err = ids.Layout.Insert(1)
			require.NoError(t, err)
			wide.Layout, err = wide.Layout.BroadcastTo(layout.Shape{3, 8})
			require.NoError(t, err)
			rows := b.Output(t, dtype.F32, layout.Shape{3, 8}, 0)
			src := b.RandomValue(t, dtype.F32, layout.Shape{3, 8}, 0)
			target := b.RandomValue(t, dtype.F32, layout.Shape{4, 8}, 0)
			check := func(name string, at int, out *opstest.Value, err error) {
				require.NoError(t, err)
				err = b.Stream.Sync()
				require.ErrorIs(t, err, runtime.ErrLaunch, name)
				require.ErrorContains(t, err, fmt.Sprintf("%s: index %d at position %d is out of range", name, i, at))
				require.ErrorIs(t, out.Buf.Err(), runtime.ErrLaunch, "the result has the error, after others have seen it, too")
				require.NoError(t, b.Stream.Discard(out.Buf))
				b.Outside(t, out)
			}
			check("gather", 8, rows, indexops.Gather(b.Stream, rows.View, x.View, wide, 0))
			check("index_select", 1, rows, indexops.IndexSelect(b.Stream, rows.View, x.View, ids.View, 0))
			check("embedding", 1, rows, indexops.Embedding(b.Stream, rows.View, x.View, ids.View))
			check("scatter", 8, target, scatter.Scatter(b.Stream, target.View, wide, src.View, 0))
			check("scatter_add", 8, target, scatter.ScatterAdd(b.Stream, target.View, wide, src.View, 0))
			check("index_add", 1, target, scatter.IndexAdd(b.Stream, target.View, ids.View, src.View, 0))
			places := b.Output(t, dtype.I64, layout.Shape{3}, 0)
			if i < -4 || i >= 4 {
				check("index_put", 1, places, indexops.FromEnd(b.Stream, places.View, ids.View, 4))
			}
			hot := b.Output(t, dtype.F32, layout.Shape{3, 4}, 0)
			check("one_hot", 1, hot, indexops.OneHot(b.Stream, hot.View, ids.View, dtype.One(dtype.F32), dtype.Zero(dtype.F32)))
			if i < 0 || i >= 32 {
				out := b.Output(t, dtype.F32, layout.Shape{3}, 0)
				check("take", 1, out, indexops.Take(b.Stream, out.View, x.View, ids.View))
			}
			require.NoError(t, indexops.IndexSelect(b.Stream, rows.View, x.View, b.Of(t, d, layout.Shape{3}, 3, 0, 1).View, 0))
			require.NoError(t, b.Stream.Sync(), "the device goes on")
		}
	}
}

// indexErrors are operands that do not fit.
func indexErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	x, ids, floats := view(dtype.F32, 4, 8), view(dtype.I32, 3), view(dtype.F32, 3)
	row, out := view(dtype.F32, 3), view(dtype.F32, 3, 8)
	require.ErrorIs(t, indexops.IndexSelect(b.Stream, out, x, floats, 0), ops.ErrDType)
	require.ErrorIs(t, indexops.IndexSelect(b.Stream, out, x, ids, 2), layout.ErrDim)
	require.ErrorIs(t, indexops.IndexSelect(b.Stream, x, x, ids, 0), layout.ErrShape)
	require.ErrorIs(t, indexops.IndexSelect(b.Stream, view(dtype.F64, 3, 8), x, ids, 0), ops.ErrDType)
	require.ErrorIs(t, indexops.Gather(b.Stream, row, x, ids, 0), layout.ErrRank)
	require.ErrorIs(t, indexops.Gather(b.Stream, view(dtype.F32, 5, 9), x, view(dtype.I32, 5, 9), 0), layout.ErrShape)
	require.ErrorIs(t, scatter.Scatter(b.Stream, x, view(dtype.I32, 3, 7), out, 0), layout.ErrShape)
	require.ErrorIs(t, scatter.IndexAdd(b.Stream, x, view(dtype.I32, 4), out, 0), layout.ErrShape)
	require.ErrorIs(t, indexops.Embedding(b.Stream, out, row, ids), layout.ErrRank)
	require.ErrorIs(t, indexops.Take(b.Stream, row, x, floats), ops.ErrDType)
	require.ErrorIs(t, indexops.OneHot(b.Stream, out, view(dtype.I32, 4), dtype.Scalar{}, dtype.Scalar{}), layout.ErrShape)
	require.ErrorIs(t, indexops.Flip(b.Stream, x, x, 0, 0), layout.ErrDuplicate)
	require.ErrorIs(t, indexops.Repeat(b.Stream, x, x, 1), layout.ErrRank)
	require.ErrorIs(t, indexops.Pad(b.Stream, view(dtype.F32, 8, 8), x, [][2]int{{4, 0}, {0, 0}}, indexops.PadReflect, dtype.Scalar{}), layout.ErrNarrow)
	require.ErrorIs(t, indexops.Tril(b.Stream, row, row, 0), layout.ErrRank)
	_, err := indexops.Select(b.Stream, ops.View{DType: dtype.F4})
	require.ErrorIs(t, err, ops.ErrDType)
}
