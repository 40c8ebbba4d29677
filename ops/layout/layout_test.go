package layout_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/layout"
)

type shape = layout.Shape

func TestShape(t *testing.T) {
	assert.Equal(t, 24, shape{2, 3, 4}.Count())
	assert.Equal(t, 1, shape{}.Count())
	assert.Equal(t, "[2, 3]", shape{2, 3}.String())
	assert.Equal(t, "[]", shape{}.String())
	assert.ErrorIs(t, shape{2, -3}.Check(), layout.ErrShape)
	assert.ErrorIs(t, shape{1 << 40, 1 << 40}.Check(), layout.ErrTooLarge)
	assert.NoError(t, shape{1 << 40, 0, 1 << 40}.Check())

	for _, c := range []struct {
		in, want shape
		n        int
	}{
		{shape{-1, 2}, shape{2, 2}, 4}, {shape{-1}, shape{0}, 0}, {shape{2, -1}, shape{2, 0}, 0}, {shape{4}, shape{4}, 4},
		{shape{2, 2, 2}, nil, 4}, {shape{3, -1}, nil, 4}, {shape{0, -1}, nil, 0}, {shape{-1, -1}, nil, 4}, {shape{-2}, nil, 4}, {shape{1 << 40, 1 << 40, -1}, nil, 4},
	} {
		got, err := c.in.Fill(c.n)
		if c.want == nil {
			assert.Error(t, err, "%v", c.in)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

func TestBroadcast(t *testing.T) {
	got, err := layout.Broadcast(shape{3, 1}, shape{2, 1, 4})
	require.NoError(t, err)
	assert.Equal(t, shape{2, 3, 4}, got)
	got, err = layout.Broadcast(shape{0}, shape{1})
	require.NoError(t, err)
	assert.Equal(t, shape{0}, got)
	_, err = layout.Broadcast(shape{0}, shape{2})
	require.ErrorIs(t, err, layout.ErrBroadcast)
	_, err = layout.Broadcast(shape{3, 4}, shape{3, 5})
	require.EqualError(t, err, "incompatible shapes for broadcasting: [3, 4] and [3, 5], 4 and 5")
}

func TestDims(t *testing.T) {
	d, err := layout.Dim(-1, 3)
	require.NoError(t, err)
	require.Equal(t, 2, d)
	_, err = layout.Dim(3, 3)
	require.EqualError(t, err, "dimension out of range: 3, want -3 to 2")
	_, err = layout.Dim(0, 0)
	require.ErrorIs(t, err, layout.ErrDim)
	dims, err := layout.Dims([]int{-1, 0}, 3)
	require.NoError(t, err)
	require.Equal(t, []int{0, 2}, dims)
	_, err = layout.Dims([]int{-1, 2}, 3)
	require.ErrorIs(t, err, layout.ErrDuplicate)
	_, err = layout.Dims(nil, 0)
	require.NoError(t, err)
}

// TestBlocks has the cases of the peer's documentation.
func TestBlocks(t *testing.T) {
	l := layout.Contiguous(shape{2, 3, 4})
	row, err := l.Index(0, 1)
	require.NoError(t, err)
	column, err := l.Index(1, 1)
	require.NoError(t, err)
	turned, err := l.Transpose(0, 1)
	require.NoError(t, err)
	last, err := l.Transpose(1, 2)
	require.NoError(t, err)
	for _, c := range []struct {
		of     layout.Layout
		length int
		starts []int
	}{
		{l, 24, []int{0}}, {row, 12, []int{12}}, {column, 4, []int{4, 16}}, {turned, 4, []int{0, 12, 4, 16, 8, 20}}, {last, 1, []int{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20, 13, 17, 21, 14, 18, 22, 15, 19, 23}},
		{layout.Contiguous(shape{2, 0}), 0, nil}, {layout.Layout{}, 1, []int{0}},
	} {
		n, starts := c.of.Blocks()
		assert.Equal(t, c.length, n)
		assert.Equal(t, c.starts, slices.Collect(starts))
	}
}

func TestErrors(t *testing.T) {
	l := layout.Contiguous(shape{2, 3})
	many, err := l.BroadcastTo(shape{1 << 40, 2, 3})
	require.NoError(t, err)
	for _, c := range []struct {
		do   func() error
		want string
	}{
		{func() error { _, err := l.Narrow(1, 2, 2); return err }, "range out of bounds: start 2, length 2 of dimension 1 in [2, 3]"},
		{func() error { _, err := l.Narrow(2, 0, 1); return err }, "dimension out of range: 2, want -2 to 1"},
		{func() error { _, err := l.Narrow(0, -1, 1); return err }, "range out of bounds: start -1"},
		{func() error { _, err := l.Step(0, 0); return err }, "range out of bounds: step 0"},
		{func() error { _, err := l.Permute(0); return err }, "unexpected number of dimensions: [0] is no permutation"},
		{func() error { _, err := l.Permute(0, 0); return err }, "duplicate dimension"},
		{func() error { _, err := l.BroadcastTo(shape{3, 3}); return err }, "incompatible shapes for broadcasting: [2, 3] to [3, 3]"},
		{func() error { _, err := l.BroadcastTo(shape{3}); return err }, "incompatible shapes for broadcasting: [2, 3] to [3]"},
		{func() error { _, err := l.Unfold(1, 4, 1); return err }, "range out of bounds: windows of 4"},
		{func() error { _, _, err := l.Reshape(shape{4}); return err }, "shape mismatch: cannot reshape a tensor of 6 elements to [4]"},
		{func() error { _, err := layout.New(shape{2}, []int{1, 1}, 0); return err }, "unexpected number of dimensions"},
		{func() error { _, err := layout.New(shape{2}, []int{-1}, 0); return err }, "must not be negative"},
		{func() error { _, err := layout.New(shape{3}, []int{1 << 62}, 0); return err }, "shape too large"},
		{func() error { _, err := layout.New(shape{1 << 31, 1 << 31}, []int{1 << 33, 1}, 0); return err }, "shape too large"},
		{func() error { _, err := layout.New(shape{2}, []int{1}, math.MaxInt); return err }, "shape too large"},
		{func() error { _, err := many.Unfold(0, 1<<39, 1); return err }, "shape too large"},
		{func() error { _, err := l.Diagonal(0, 1, 1); return err }, "duplicate dimension"},
		{func() error { _, err := l.Insert(3); return err }, "dimension out of range"},
	} {
		assert.ErrorContains(t, c.do(), c.want)
	}
}

// TestFar has numbers with which sums would be beyond all others.
func TestFar(t *testing.T) {
	l, err := layout.Contiguous(shape{1, 1}).Diagonal(math.MinInt, 0, 1)
	require.NoError(t, err)
	require.Equal(t, shape{0}, l.Shape())
	_, err = layout.New(shape{9, 0}, []int{1 << 62, 1}, 1<<62)
	require.NoError(t, err, "no elements are nowhere")
	for n, want := range map[int]int{0: 0, 1: 1, 5: 1} {
		l, err := layout.Contiguous(shape{n, 3}).Step(0, math.MaxInt)
		require.NoError(t, err)
		require.Equal(t, shape{want, 3}, l.Shape())
	}
}

// plain is a tensor as a list of indices and where they are: views are made by moving
// the entries.
type plain struct {
	shape shape
	at    []int
}

func (p plain) get(index []int) int {
	n := 0
	for i, x := range index {
		n = n*p.shape[i] + x
	}
	return p.at[n]
}

func (p plain) view(s shape, from func(index []int) []int) plain {
	out := plain{shape: s}
	for n := range s.Count() {
		index := make([]int, len(s))
		for i := len(s) - 1; i >= 0; i-- {
			index[i] = n % s[i]
			n /= s[i]
		}
		out.at = append(out.at, p.get(from(index)))
	}
	return out
}

// TestViews makes chains of views at random, of layouts and of lists of offsets.
func TestViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		s := make(shape, rng.IntN(5))
		for i := range s {
			s[i] = rng.IntN(5)
		}
		l, p := layout.Contiguous(s), plain{shape: s}
		for i := range s.Count() {
			p.at = append(p.at, i)
		}
		for range rng.IntN(6) {
			l, p = step(t, rng, l, p)
			require.Equal(t, p.shape, l.Shape())
			require.Equal(t, p.at, slices.Collect(l.Offsets()), "%v", l)
			facts(t, l, p)
		}
	}
}

// facts checks what a layout says of itself.
func facts(t *testing.T, l layout.Layout, p plain) {
	t.Helper()
	dense, twice := true, false
	seen := map[int]bool{}
	for i, at := range p.at {
		dense = dense && at == l.Offset()+i
		twice = twice || seen[at]
		seen[at] = true
		require.Less(t, at, l.Offset()+l.Span())
	}
	require.Equal(t, dense, l.IsContiguous(), "%v", l)
	if len(p.at) > 0 {
		require.True(t, !twice || l.Overlaps(), "%v", l)
		require.Equal(t, l.Offset()+l.Span()-1, slices.Max(p.at))
	}
	var all []int
	n, starts := l.Blocks()
	for start := range starts {
		for i := range n {
			all = append(all, start+i)
		}
	}
	require.Equal(t, p.at, all)

	m := layout.Merge(l, layout.Contiguous(l.Shape()))
	for i, at := range p.at {
		place, rest := m.Offsets[0], i
		for k, n := range m.Sizes {
			place += rest % n * m.Strides[0][k]
			rest /= n
		}
		require.Equal(t, at, place)
	}
	if r, ok, err := l.Reshape(shape{layout.Inferred}); err == nil && ok {
		require.Equal(t, p.at, slices.Collect(r.Offsets()))
	} else if l.Count() > 0 {
		require.NoError(t, err)
		require.False(t, l.IsContiguous())
	}
}

func step(t *testing.T, rng *rand.Rand, l layout.Layout, p plain) (layout.Layout, plain) {
	t.Helper()
	rank := l.Rank()
	must := func(l layout.Layout, err error) layout.Layout { require.NoError(t, err); return l }
	if rank == 0 || rng.IntN(6) == 0 && rank < 6 {
		d := rng.IntN(rank + 1)
		s := slices.Insert(slices.Clone(p.shape), d, 1)
		return must(l.Insert(d)), plain{s, p.at}
	}
	d := rng.IntN(rank)
	with := func(n int) shape { s := slices.Clone(p.shape); s[d] = n; return s }
	moved := func(index []int, x int) []int { index = slices.Clone(index); index[d] = x; return index }
	switch rng.IntN(8) {
	case 0:
		start := rng.IntN(p.shape[d] + 1)
		n := rng.IntN(p.shape[d] - start + 1)
		return must(l.Narrow(d-rank, start, n)), p.view(with(n), func(i []int) []int { return moved(i, i[d]+start) })
	case 1:
		e := rng.IntN(rank)
		s := slices.Clone(p.shape)
		s[d], s[e] = s[e], s[d]
		return must(l.Transpose(d, e)), p.view(s, func(i []int) []int { i = slices.Clone(i); i[d], i[e] = i[e], i[d]; return i })
	case 2:
		order := rng.Perm(rank)
		s := make(shape, rank)
		for i, o := range order {
			s[i] = p.shape[o]
		}
		return must(l.Permute(order...)), p.view(s, func(i []int) []int {
			out := make([]int, rank)
			for k, o := range order {
				out[o] = i[k]
			}
			return out
		})
	case 3:
		if p.shape[d] == 1 {
			n := rng.IntN(4)
			return must(l.BroadcastTo(with(n))), p.view(with(n), func(i []int) []int { return moved(i, 0) })
		}
	case 4:
		by := 1 + rng.IntN(3)
		n := (p.shape[d] + by - 1) / by
		return must(l.Step(d, by)), p.view(with(n), func(i []int) []int { return moved(i, i[d]*by) })
	case 5:
		size, by := rng.IntN(p.shape[d]+1), 1+rng.IntN(3)
		if rank < 6 {
			s := append(with((p.shape[d]-size)/by+1), size)
			return must(l.Unfold(d, size, by)), p.view(s, func(i []int) []int { return moved(i[:rank], i[d]*by+i[rank]) })
		}
	case 6:
		if p.shape[d] > 0 {
			at := rng.IntN(p.shape[d])
			return must(l.Index(d, at)), p.view(slices.Delete(slices.Clone(p.shape), d, d+1), func(i []int) []int { return slices.Insert(slices.Clone(i), d, at) })
		}
	case 7:
		if e := rng.IntN(rank); e != d {
			off := rng.IntN(5) - 2
			n := max(0, min(p.shape[d]-max(-off, 0), p.shape[e]-max(off, 0)))
			s := append(shape{}, p.shape...)
			s = append(slices.Delete(slices.Delete(s, max(d, e), max(d, e)+1), min(d, e), min(d, e)+1), n)
			return must(l.Diagonal(off, d, e)), p.view(s, func(i []int) []int {
				k := i[len(i)-1]
				out := slices.Insert(slices.Clone(i[:len(i)-1]), min(d, e), 0)
				out = slices.Insert(out, max(d, e), 0)
				out[d], out[e] = k+max(-off, 0), k+max(off, 0)
				return out
			})
		}
	}
	return l, p
}

func TestFortran(t *testing.T) {
	l, err := layout.Contiguous(shape{2, 3, 4}).Permute(2, 1, 0)
	require.NoError(t, err)
	require.True(t, l.IsFortranContiguous())
	require.False(t, l.IsContiguous())
	require.True(t, layout.Contiguous(shape{4}).IsFortranContiguous())
	require.Equal(t, "[4, 3, 2] strides [1, 4, 12] offset 0", l.String())
}
