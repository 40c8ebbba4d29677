package opstest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	indexops "github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/scatter"
	"github.com/gokiln/kiln/runtime"
)

// index tests what reads and writes by indices.
func index(t *testing.T, b *bench) {
	for i, d := range dtype.All() {
		if !b.has(d) {
			continue
		}
		ids := dtype.Ints()[i%5]
		for k := range 3 {
			b.part(t, func(t *testing.T, b *bench) { b.gathers(t, d, ids, i+k, k) }, "Gather/%v/%d", d, k)
			b.part(t, func(t *testing.T, b *bench) { b.scatters(t, d, ids, i+k, k) }, "Scatter/%v/%d", d, k)
			b.part(t, func(t *testing.T, b *bench) {
				b.take(t, d, ids, i+k)
				b.oneHot(t, d, ids, i+k)
				b.fromEnd(t, ids, i+k)
			}, "Take/%v/%d", d, k)
		}
		t.Run(fmt.Sprintf("WholeRows/%v", d), func(t *testing.T) { b.wholeRows(t, d) })
		b.part(t, func(t *testing.T, b *bench) { b.selects(t, d, ids, i) }, "Select/%v", d)
		b.part(t, func(t *testing.T, b *bench) { b.rearrange(t, d, i) }, "Rearrange/%v", d)
	}
	t.Run("Cases", func(t *testing.T) { indexCases(t, b) })
	t.Run("OutOfRange", func(t *testing.T) { outOfRange(t, b) })
	t.Run("Errors", func(t *testing.T) { indexErrors(t, b) })
}

// space goes through all indices of a shape, in order.
func space(s layout.Shape, f func(at []int)) {
	at := make([]int, len(s))
	for range s.Count() {
		f(at)
		for d := len(s) - 1; d >= 0; d-- {
			if at[d]++; at[d] < s[d] {
				break
			}
			at[d] = 0
		}
	}
}

// flatIndex is where the element with some indices comes in row-major order.
func flatIndex(s layout.Shape, at []int) int {
	n := 0
	for d := range s {
		n = n*s[d] + at[d]
	}
	return n
}

// none is the index of a type that stands for none: all its bits are set.
func none(d dtype.DType) dtype.Scalar { return dtype.FromBits(d, ^uint64(0)>>(64-d.Bits())) }

// ids puts indices below n on the device, some of them none.
func (b *bench) ids(t *testing.T, d dtype.DType, l layout.Layout, n int) *value {
	return b.value(t, d, l, func() dtype.Scalar {
		if b.rng.IntN(8) == 0 {
			return none(d)
		}
		return dtype.FromInt(d, int64(b.rng.IntN(min(n, 127))))
	})
}

func (b *bench) any(t *testing.T, d dtype.DType, s layout.Shape, kind int) *value {
	return b.value(t, d, layoutOf(t, kinds[kind%len(kinds)], s), func() dtype.Scalar { return b.number(d) })
}

func (b *bench) room(t *testing.T, d dtype.DType, s layout.Shape, kind int) *value {
	return b.result(t, d, layoutOf(t, kinds[kind%4], s))
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

func (b *bench) gathers(t *testing.T, d, id dtype.DType, kind, k int) {
	t.Helper()
	for n, c := range indexed {
		x := b.any(t, d, c.shape, kind+n)
		to := slices.Clone(c.shape)
		to[c.dim] = c.ids
		if k == 1 && c.dim > 0 {
			to[0] = max(to[0]-1, 1) // other dimensions of ids may be shorter
		}
		ids := b.ids(t, id, layoutOf(t, kinds[(kind+n+1)%len(kinds)], to), c.shape[c.dim])
		out := b.room(t, d, to, kind)
		require.NoError(t, indexops.Gather(b.s, out.View, x.View, ids.View, c.dim-k%2*len(to)))
		b.wantSelected(t, out, x, func(at []int) dtype.Scalar { return ids.want[flatIndex(to, at)] }, c.dim)

		to = slices.Clone(c.shape)
		to[c.dim] = c.ids
		list := b.ids(t, id, layoutOf(t, kinds[(kind+n)%4], layout.Shape{c.ids}), c.shape[c.dim])
		out = b.room(t, d, to, kind+1)
		require.NoError(t, indexops.IndexSelect(b.s, out.View, x.View, list.View, c.dim))
		b.wantSelected(t, out, x, func(at []int) dtype.Scalar { return list.want[at[c.dim]] }, c.dim)
	}
	x := b.any(t, d, layout.Shape{10, 64}, kind)
	rows := layout.Shape{3, 4}
	ids := b.ids(t, id, layoutOf(t, kinds[kind%len(kinds)], rows), 10)
	out := b.room(t, d, layout.Shape{3, 4, 64}, kind)
	require.NoError(t, indexops.Embedding(b.s, out.View, x.View, ids.View))
	flat := &value{View: out.View, all: out.all}
	got := b.read(t, flat)
	space(layout.Shape{3, 4, 64}, func(at []int) {
		i := ids.want[at[0]*4+at[1]]
		want := dtype.Zero(d)
		if i != none(id) {
			want = x.want[int(i.Int())*64+at[2]]
		}
		require.Equal(t, want, got[flatIndex(layout.Shape{3, 4, 64}, at)])
	})
}

// wholeRows gathers rows that begin at multiples of 8 bytes, so that they are moved
// by larger pieces than elements, with a wrong index at the end.
func (b *bench) wholeRows(t *testing.T, d dtype.DType) {
	t.Helper()
	lie := func(s layout.Shape) layout.Layout {
		l, err := layout.New(s, s.Strides(), 2*8-guard)
		require.NoError(t, err)
		return l
	}
	x := b.value(t, d, lie(layout.Shape{10, 48}), func() dtype.Scalar { return b.number(d) })
	ids := b.ids(t, dtype.U32, layout.Contiguous(layout.Shape{7}), 10)
	for _, by := range []string{"embedding", "index_select", "gather"} {
		out := b.result(t, d, lie(layout.Shape{7, 48}))
		run := func(ids ops.View) error {
			switch by {
			case "embedding":
				return indexops.Embedding(b.s, out.View, x.View, ids)
			case "index_select":
				return indexops.IndexSelect(b.s, out.View, x.View, ids, 0)
			}
			var err error
			ids.Layout, err = layout.New(layout.Shape{7, 48}, []int{1, 0}, ids.Layout.Offset())
			require.NoError(t, err)
			return indexops.Gather(b.s, out.View, x.View, ids, 0)
		}
		require.NoError(t, run(ids.View))
		b.wantSelected(t, out, x, func(at []int) dtype.Scalar { return ids.want[at[0]] }, 0)
		at := 4
		if by == "gather" {
			at *= 48
		}
		require.NoError(t, run(b.of(t, dtype.U32, layout.Shape{7}, 0, 1, 2, 3, 77, 5, 6).View))
		require.ErrorContains(t, b.s.Sync(), fmt.Sprintf("index 77 at position %d is out of range", at))
	}
}

// wantSelected compares a result with the elements of x at indices along a dimension.
func (b *bench) wantSelected(t *testing.T, out, x *value, id func(at []int) dtype.Scalar, dim int) {
	t.Helper()
	got, n := b.read(t, out), 0
	space(out.Layout.Shape(), func(at []int) {
		want := dtype.Zero(x.DType)
		if i := id(at); i != none(i.DType()) {
			from := slices.Clone(at)
			from[dim] = int(i.Int())
			want = x.want[flatIndex(x.Layout.Shape(), from)]
		}
		require.Equal(t, want, got[n], "element %v of %v", at, out.Layout)
		n++
	})
}

func (b *bench) scatters(t *testing.T, d, id dtype.DType, kind, k int) {
	t.Helper()
	small := func() dtype.Scalar { return dtype.FromInt(d, int64(b.rng.IntN(5))) } // sums are exact
	for n, c := range indexed {
		from := slices.Clone(c.shape)
		from[c.dim] = c.ids
		src := b.value(t, d, layoutOf(t, kinds[(kind+n)%len(kinds)], from), small)
		ids := b.ids(t, id, layoutOf(t, kinds[(kind+n+1)%len(kinds)], from), c.shape[c.dim])
		list := b.ids(t, id, layout.Contiguous(layout.Shape{c.ids}), c.shape[c.dim])
		out := b.value(t, d, layoutOf(t, kinds[(kind+n)%4], c.shape), small)
		want := slices.Clone(out.want)
		exact := make([]float64, len(want)) // sums that are rounded once
		for i := range want {
			exact[i] = want[i].Float()
		}
		add := func(id dtype.Scalar, at []int, set bool) {
			if id == none(id.DType()) {
				return
			}
			to := slices.Clone(at)
			to[c.dim] = int(id.Int())
			i, x := flatIndex(c.shape, to), src.want[flatIndex(from, at)]
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
			require.NoError(t, scatter.Scatter(b.s, out.View, ids.View, src.View, c.dim))
			space(from, func(at []int) { add(ids.want[flatIndex(from, at)], at, true) })
		case 1:
			require.NoError(t, scatter.ScatterAdd(b.s, out.View, ids.View, src.View, c.dim-len(from)))
			space(from, func(at []int) { add(ids.want[flatIndex(from, at)], at, false) })
		default:
			require.NoError(t, scatter.IndexAdd(b.s, out.View, list.View, src.View, c.dim))
			space(from, func(at []int) { add(list.want[at[c.dim]], at, false) })
		}
		require.NoError(t, compare(b.read(t, out), want, 0), "%d: %v of %v %v by %v", k, c, d, out.Layout, id)
	}
}

func (b *bench) take(t *testing.T, d, id dtype.DType, kind int) {
	t.Helper()
	for _, shape := range []layout.Shape{{4, 5, 6}, {120}} {
		x := b.any(t, d, shape, kind)
		ids := b.ids(t, id, layoutOf(t, kinds[(kind+1)%len(kinds)], layout.Shape{7, 33}), 120)
		out := b.room(t, d, layout.Shape{7, 33}, kind)
		require.NoError(t, indexops.Take(b.s, out.View, x.View, ids.View))
		for i, got := range b.read(t, out) {
			want := dtype.Zero(d)
			if ids.want[i] != none(id) {
				want = x.want[ids.want[i].Int()]
			}
			require.Equal(t, want, got)
		}
	}
}

// fromEnd draws places from both ends.
func (b *bench) fromEnd(t *testing.T, id dtype.DType, kind int) {
	t.Helper()
	const n = 40
	shape := layout.Shape{3, 50}
	from := make([]float64, shape.Count())
	for i := range from {
		from[i] = float64(b.rng.IntN(n))
		if id != dtype.U8 && id != dtype.U32 && b.rng.IntN(2) == 0 {
			from[i] -= n
		}
	}
	ids, out := b.of(t, id, shape, from...), b.room(t, dtype.I64, shape, kind)
	require.NoError(t, indexops.FromEnd(b.s, out.View, ids.View, n))
	for i, got := range b.read(t, out) {
		require.Equal(t, (int64(from[i])+n)%n, got.Int(), "%v of %v", from[i], id)
	}
}

func (b *bench) oneHot(t *testing.T, d, id dtype.DType, kind int) {
	t.Helper()
	ids := b.ids(t, id, layoutOf(t, kinds[kind%len(kinds)], layout.Shape{3, 5}), 40)
	out := b.room(t, d, layout.Shape{3, 5, 40}, kind)
	on, off := dtype.FromInt(d, 3), dtype.FromInt(d, 1)
	require.NoError(t, indexops.OneHot(b.s, out.View, ids.View, on, off))
	for i, got := range b.read(t, out) {
		want := off
		if ids.want[i/40].Int() == int64(i%40) {
			want = on
		}
		require.Equal(t, want, got)
	}
}

func (b *bench) selects(t *testing.T, d, m dtype.DType, kind int) {
	t.Helper()
	for k, s := range append([]layout.Shape{{2000}}, shapes...) {
		mask := b.value(t, m, layoutOf(t, kinds[(kind+k)%len(kinds)], s), func() dtype.Scalar { return dtype.FromInt(m, int64(b.rng.IntN(2))) })
		x := b.any(t, d, s, kind+k+1)
		sel, err := indexops.Select(b.s, mask.View)
		require.NoError(t, err)
		var want []dtype.Scalar
		for i, y := range x.want {
			if mask.want[i].Int() != 0 {
				want = append(want, y)
			}
		}
		require.Equal(t, len(want), sel.Count())
		out := b.result(t, d, layout.Contiguous(layout.Shape{len(want)}))
		require.NoError(t, sel.Masked(b.s, out.View, x.View))
		require.NoError(t, compare(b.read(t, out), want, 0))
		require.NoError(t, sel.Free(b.s))
		b.nonzero(t, x)

		v := b.number(d)
		out = b.room(t, d, s, kind)
		require.NoError(t, indexops.MaskedFill(b.s, out.View, mask.View, x.View, v))
		for i, got := range b.read(t, out) {
			want := x.want[i]
			if mask.want[i].Int() != 0 {
				want = v
			}
			require.Equal(t, want, got)
		}
	}
}

func (b *bench) nonzero(t *testing.T, x *value) {
	t.Helper()
	sel, err := indexops.Select(b.s, x.View)
	require.NoError(t, err)
	var want []dtype.Scalar
	n, i := 0, 0
	space(x.Layout.Shape(), func(at []int) {
		if f := x.want[i].Float(); f != 0 {
			n++
			for _, k := range at {
				want = append(want, dtype.FromInt(dtype.I64, int64(k)))
			}
		}
		i++
	})
	require.Equal(t, n, sel.Count())
	out := b.result(t, dtype.I64, layout.Contiguous(layout.Shape{n, x.Layout.Rank()}))
	require.NoError(t, sel.Nonzero(b.s, out.View))
	require.NoError(t, compare(b.read(t, out), want, 0))
	require.NoError(t, sel.Free(b.s))
}

// rearrange tests what moves elements.
func (b *bench) rearrange(t *testing.T, d dtype.DType, kind int) {
	t.Helper()
	for k, s := range []layout.Shape{{7}, {4, 40}, {3, 5, 6}, {2, 0}} {
		x := b.any(t, d, s, kind+k)
		n := len(s)
		// from returns which element of x comes to an index of out, -1 for the number v.
		check := func(name string, to layout.Shape, run func(out ops.View) error, v dtype.Scalar, from func(at []int) []int) {
			out := b.room(t, d, to, kind+k+1)
			require.NoError(t, run(out.View), name)
			got, i := b.read(t, out), 0
			space(to, func(at []int) {
				want := v
				if f := from(at); f != nil {
					want = x.want[flatIndex(s, f)]
				}
				require.Equal(t, want, got[i], "%s of %v: element %v", name, x.Layout, at)
				i++
			})
		}
		last := n - 1
		check("flip", s, func(out ops.View) error { return indexops.Flip(b.s, out, x.View, -1) }, dtype.Scalar{}, func(at []int) []int {
			at = slices.Clone(at)
			at[last] = s[last] - 1 - at[last]
			return at
		})
		check("roll", s, func(out ops.View) error { return indexops.Roll(b.s, out, x.View, -9, 0) }, dtype.Scalar{}, func(at []int) []int {
			at = slices.Clone(at)
			at[0] = (at[0] + 9) % s[0]
			return at
		})
		twice, counts := slices.Clone(s), make([]int, n)
		for i := range twice {
			counts[i] = i + 2
			twice[i] *= i + 2
		}
		check("repeat", twice, func(out ops.View) error { return indexops.Repeat(b.s, out, x.View, counts...) }, dtype.Scalar{}, func(at []int) []int {
			at = slices.Clone(at)
			for i := range at {
				at[i] %= s[i]
			}
			return at
		})
		b.pads(s, x, check)
		if n > 1 {
			check("tril", s, func(out ops.View) error { return indexops.Tril(b.s, out, x.View, 1) }, dtype.FromBits(d, 0), func(at []int) []int {
				if at[last]-at[last-1] <= 1 {
					return at
				}
				return nil
			})
			check("triu", s, func(out ops.View) error { return indexops.Triu(b.s, out, x.View, 2) }, dtype.FromBits(d, 0), func(at []int) []int {
				if at[last]-at[last-1] >= 2 {
					return at
				}
				return nil
			})
		}
	}
	b.cat(t, d, kind)
	out := b.room(t, d, layout.Shape{2, 5, 6}, kind)
	require.NoError(t, indexops.Eye(b.s, out.View))
	for i, got := range b.read(t, out) {
		require.Equal(t, dtype.FromFloat(d, truth(i%30/6 == i%6)), got)
	}
}

// pads tries the modes of Pad with as much as they can add.
func (b *bench) pads(s layout.Shape, x *value, check func(string, layout.Shape, func(ops.View) error, dtype.Scalar, func([]int) []int)) {
	v := b.number(x.DType)
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
		check(fmt.Sprint("pad ", mode, pads), to, func(out ops.View) error { return indexops.Pad(b.s, out, x.View, pads, mode, v) }, v, func(at []int) []int {
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

func (b *bench) cat(t *testing.T, d dtype.DType, kind int) {
	t.Helper()
	var in []*value
	var views []ops.View
	for i, n := range []int{3, 0, 40, 1} {
		v := b.any(t, d, layout.Shape{2, n, 3}, kind+i)
		in, views = append(in, v), append(views, v.View)
	}
	out := b.room(t, d, layout.Shape{2, 44, 3}, kind)
	require.NoError(t, indexops.Cat(b.s, out.View, 1, views...))
	var want []dtype.Scalar
	for i := range 2 {
		for _, v := range in {
			half := len(v.want) / 2
			want = append(want, v.want[i*half:(i+1)*half]...)
		}
	}
	require.NoError(t, compare(b.read(t, out), want, 0))
	require.ErrorIs(t, indexops.Cat(b.s, out.View, 0, views...), layout.ErrShape)
}

// of puts numbers on the device, row-major.
func (b *bench) of(t *testing.T, d dtype.DType, s layout.Shape, numbers ...float64) *value {
	t.Helper()
	i := -1
	return b.value(t, d, layout.Contiguous(s), func() dtype.Scalar {
		i++
		return dtype.FromFloat(d, numbers[i])
	})
}

// count returns the numbers from a on, n of them.
func count(a, n int) (list []float64) {
	for i := range n {
		list = append(list, float64(a+i))
	}
	return list
}

// wantNumbers compares a result with numbers.
func (b *bench) wantNumbers(t *testing.T, out *value, numbers ...float64) {
	t.Helper()
	var got []float64
	for _, x := range b.read(t, out) {
		got = append(got, x.Float())
	}
	require.Equal(t, numbers, got)
}

// indexCases are examples with known results.
func indexCases(t *testing.T, b *bench) {
	max32 := float64(1<<32 - 1)
	x := b.of(t, dtype.F32, layout.Shape{3, 2}, count(0, 6)...)
	out := b.room(t, dtype.F32, layout.Shape{3, 2}, 0)
	require.NoError(t, indexops.IndexSelect(b.s, out.View, x.View, b.of(t, dtype.U32, layout.Shape{3}, max32, 2, max32).View, 0))
	b.wantNumbers(t, out, 0, 0, 4, 5, 0, 0)

	ones := func(s layout.Shape) *value {
		return b.value(t, dtype.F32, layout.Contiguous(s), func() dtype.Scalar { return dtype.One(dtype.F32) })
	}
	src := b.of(t, dtype.F32, layout.Shape{4, 3}, count(0, 12)...)
	out = ones(layout.Shape{4, 2})
	require.NoError(t, scatter.IndexAdd(b.s, out.View, b.of(t, dtype.I64, layout.Shape{3}, 0, 1, 1).View, src.View, 1))
	b.wantNumbers(t, out, 1, 4, 4, 10, 7, 16, 10, 22)

	longRows(t, b)

	ids := b.of(t, dtype.U8, layout.Shape{4, 3}, 0, 1, 2, 3, 4, 0, 3, 3, 1, 2, 0, 4)
	out = ones(layout.Shape{4, 5})
	require.NoError(t, scatter.ScatterAdd(b.s, out.View, ids.View, src.View, 1))
	b.wantNumbers(t, out, 1, 2, 3, 1, 1, 6, 1, 1, 4, 5, 1, 9, 1, 14, 1, 11, 1, 10, 1, 12)
	out = ones(layout.Shape{4, 5})
	require.NoError(t, scatter.Scatter(b.s, out.View, ids.View, src.View, 1))
	b.wantNumbers(t, out, 0, 1, 2, 1, 1, 5, 1, 1, 3, 4, 1, 8, 1, 7, 1, 10, 1, 9, 1, 11)

	out = b.room(t, dtype.F32, layout.Shape{4, 1}, 0)
	require.NoError(t, indexops.Gather(b.s, out.View, src.View, b.of(t, dtype.U32, layout.Shape{4, 1}, 0, 2, 1, max32).View, 1))
	b.wantNumbers(t, out, 0, 5, 7, 0)

	hot := b.room(t, dtype.U8, layout.Shape{2, 2, 4}, 0)
	require.NoError(t, indexops.OneHot(b.s, hot.View, b.of(t, dtype.I64, layout.Shape{2, 2}, 0, 2, 1, -1).View, dtype.One(dtype.U8), dtype.Zero(dtype.U8)))
	b.wantNumbers(t, hot, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0)

	square := b.of(t, dtype.F32, layout.Shape{2, 2}, 1, 2, 3, 4)
	padded := b.room(t, dtype.F32, layout.Shape{5, 2}, 0)
	require.NoError(t, indexops.Pad(b.s, padded.View, square.View, [][2]int{{1, 2}, {0, 0}}, indexops.PadEdge, dtype.Scalar{}))
	b.wantNumbers(t, padded, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4)

	six := b.room(t, dtype.F32, layout.Shape{2, 3}, 0)
	require.NoError(t, indexops.Flip(b.s, six.View, b.of(t, dtype.F32, layout.Shape{2, 3}, count(0, 6)...).View, 0, 1))
	b.wantNumbers(t, six, 5, 4, 3, 2, 1, 0)
}

// longRows adds to rows of which several vectors are added at once, and a rest.
func longRows(t *testing.T, b *bench) {
	for _, wide := range []int{31, 32, 39, 1063, 2085} {
		src := b.of(t, dtype.F32, layout.Shape{5, wide}, count(0, 5*wide)...)
		out, want := b.of(t, dtype.F32, layout.Shape{4, wide}, count(7, 4*wide)...), count(7, 4*wide)
		list := []float64{2, 0, 2, 3, 2}
		for k, to := range list {
			for i := range wide {
				want[int(to)*wide+i] += float64(k*wide + i)
			}
		}
		require.NoError(t, scatter.IndexAdd(b.s, out.View, b.of(t, dtype.U32, layout.Shape{5}, list...).View, src.View, 0))
		b.wantNumbers(t, out, want...)
	}
}

// outOfRange has every operation told a wrong index: it fails with the next call that
// waits, writes nothing outside, and the device goes on.
func outOfRange(t *testing.T, b *bench) {
	x := b.of(t, dtype.F32, layout.Shape{4, 8}, count(0, 32)...)
	wrong := map[dtype.DType][]int64{dtype.U8: {4, 254}, dtype.I16: {-2, 300}, dtype.I32: {-5, 1 << 30}, dtype.U32: {4, 1 << 31}, dtype.I64: {1<<32 + 1, -1 << 40}}
	for d, list := range wrong {
		for _, i := range list {
			ids := b.of(t, d, layout.Shape{3}, 0, float64(i), 1)
			wide := ids.View
			var err error
			wide.Layout, err = ids.Layout.Insert(1)
			require.NoError(t, err)
			wide.Layout, err = wide.Layout.BroadcastTo(layout.Shape{3, 8})
			require.NoError(t, err)
			rows := b.room(t, dtype.F32, layout.Shape{3, 8}, 0)
			src := b.any(t, dtype.F32, layout.Shape{3, 8}, 0)
			target := b.any(t, dtype.F32, layout.Shape{4, 8}, 0)
			check := func(name string, at int, out *value, err error) {
				require.NoError(t, err)
				err = b.s.Sync()
				require.ErrorIs(t, err, runtime.ErrLaunch, name)
				require.ErrorContains(t, err, fmt.Sprintf("%s: index %d at position %d is out of range", name, i, at))
				require.ErrorIs(t, out.Buf.Err(), runtime.ErrLaunch, "the result has the error, after others have seen it, too")
				require.NoError(t, b.s.Discard(out.Buf))
				b.read(t, out) // nothing around the result has changed
			}
			check("gather", 8, rows, indexops.Gather(b.s, rows.View, x.View, wide, 0))
			check("index_select", 1, rows, indexops.IndexSelect(b.s, rows.View, x.View, ids.View, 0))
			check("embedding", 1, rows, indexops.Embedding(b.s, rows.View, x.View, ids.View))
			check("scatter", 8, target, scatter.Scatter(b.s, target.View, wide, src.View, 0))
			check("scatter_add", 8, target, scatter.ScatterAdd(b.s, target.View, wide, src.View, 0))
			check("index_add", 1, target, scatter.IndexAdd(b.s, target.View, ids.View, src.View, 0))
			places := b.room(t, dtype.I64, layout.Shape{3}, 0)
			if i < -4 || i >= 4 {
				check("index_put", 1, places, indexops.FromEnd(b.s, places.View, ids.View, 4))
			}
			hot := b.room(t, dtype.F32, layout.Shape{3, 4}, 0)
			check("one_hot", 1, hot, indexops.OneHot(b.s, hot.View, ids.View, dtype.One(dtype.F32), dtype.Zero(dtype.F32)))
			if i < 0 || i >= 32 {
				out := b.room(t, dtype.F32, layout.Shape{3}, 0)
				check("take", 1, out, indexops.Take(b.s, out.View, x.View, ids.View))
			}
			require.NoError(t, indexops.IndexSelect(b.s, rows.View, x.View, b.of(t, d, layout.Shape{3}, 3, 0, 1).View, 0))
			require.NoError(t, b.s.Sync(), "the device goes on")
		}
	}
}

// indexErrors are operands that do not fit.
func indexErrors(t *testing.T, b *bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.any(t, d, s, 0).View }
	x, ids, floats := view(dtype.F32, 4, 8), view(dtype.I32, 3), view(dtype.F32, 3)
	row, out := view(dtype.F32, 3), view(dtype.F32, 3, 8)
	require.ErrorIs(t, indexops.IndexSelect(b.s, out, x, floats, 0), ops.ErrDType)
	require.ErrorIs(t, indexops.IndexSelect(b.s, out, x, ids, 2), layout.ErrDim)
	require.ErrorIs(t, indexops.IndexSelect(b.s, x, x, ids, 0), layout.ErrShape)
	require.ErrorIs(t, indexops.IndexSelect(b.s, view(dtype.F64, 3, 8), x, ids, 0), ops.ErrDType)
	require.ErrorIs(t, indexops.Gather(b.s, row, x, ids, 0), layout.ErrRank)
	require.ErrorIs(t, indexops.Gather(b.s, view(dtype.F32, 5, 9), x, view(dtype.I32, 5, 9), 0), layout.ErrShape)
	require.ErrorIs(t, scatter.Scatter(b.s, x, view(dtype.I32, 3, 7), out, 0), layout.ErrShape)
	require.ErrorIs(t, scatter.IndexAdd(b.s, x, view(dtype.I32, 4), out, 0), layout.ErrShape)
	require.ErrorIs(t, indexops.Embedding(b.s, out, row, ids), layout.ErrRank)
	require.ErrorIs(t, indexops.Take(b.s, row, x, floats), ops.ErrDType)
	require.ErrorIs(t, indexops.OneHot(b.s, out, view(dtype.I32, 4), dtype.Scalar{}, dtype.Scalar{}), layout.ErrShape)
	require.ErrorIs(t, indexops.Flip(b.s, x, x, 0, 0), layout.ErrDuplicate)
	require.ErrorIs(t, indexops.Repeat(b.s, x, x, 1), layout.ErrRank)
	require.ErrorIs(t, indexops.Pad(b.s, view(dtype.F32, 8, 8), x, [][2]int{{4, 0}, {0, 0}}, indexops.PadReflect, dtype.Scalar{}), layout.ErrNarrow)
	require.ErrorIs(t, indexops.Tril(b.s, row, row, 0), layout.ErrRank)
	_, err := indexops.Select(b.s, ops.View{DType: dtype.F4})
	require.ErrorIs(t, err, ops.ErrDType)
}
