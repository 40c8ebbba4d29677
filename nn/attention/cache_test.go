package attention

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// steps are how many tokens come at a time.
var steps = []int{3, 1, 1, 5, 1, 1, 1, 9, 1, 2}

const allSteps = 25

// decode compares attention of tokens that come some at a time with that of all at once.
func decode(t *testing.T, d *tensor.Device, o Options, step func(q, k, v *tensor.Tensor) *tensor.Tensor) {
	t.Helper()
	q, k, v := qkv(d, 2, 4, 2, allSteps, allSteps, 8)
	want := SDPA(q, k, v, o)
	at := 0
	for _, n := range steps {
		cut := func(x *tensor.Tensor) *tensor.Tensor { return x.Narrow(2, at, n) }
		same(t, cut(want), step(cut(q), cut(k), cut(v)), 1e-5)
		at += n
	}
	require.Equal(t, allSteps, at)
}

func TestCache(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		for _, room := range []int{1, 4, 64} {
			for _, o := range []Options{{Causal: true}, {Causal: true, ALiBi: tensor.Ones(d, tensor.F32, 4)},
				{Causal: true, Window: &Window{Left: 4}}} {
				c := NewCache(room)
				require.Nil(t, c.Keys())
				decode(t, d, o, func(q, k, v *tensor.Tensor) *tensor.Tensor { return c.Attend(q, k, v, o) })
				require.Equal(t, allSteps, c.Len())
			}
		}
	}
}

func TestCacheKeeps(t *testing.T) {
	d := open(t, "auto")
	_, k, v := qkv(d, 1, 2, 2, 3, 3, 4)
	c := NewCache(2)
	keys, values := c.Append(k, v)
	same(t, k, keys, 0)
	same(t, v, values, 0)
	for range 3 { // views stay as they are, also where the cache has grown
		c.Append(v, k)
	}
	same(t, k, keys, 0)
	same(t, tensor.Cat(2, v, k, k, k), c.Values(), 0)
	require.NoError(t, c.Truncate(3))
	same(t, k, c.Keys(), 0)
	require.ErrorIs(t, c.Truncate(4), tensor.ErrRange)
	for _, bad := range []struct {
		k, v *tensor.Tensor
		kind error
	}{
		{k, v.Narrow(2, 0, 2), tensor.ErrShape},
		{k.Narrow(3, 0, 2), v, tensor.ErrShape},
		{k.Cast(tensor.F16), v, tensor.ErrDTypeMismatch},
		{k, nil, tensor.ErrArgument},
		{k.FlattenAll(), v, tensor.ErrRank},
		{tensor.Fail("first", tensor.ErrEmpty), v, tensor.ErrEmpty},
	} {
		keys, values := c.Append(bad.k, bad.v)
		require.ErrorIs(t, keys.Err(), bad.kind)
		require.ErrorIs(t, values.Err(), bad.kind)
		require.Equal(t, 3, c.Len())
	}
	c.Reset()
	require.Zero(t, c.Len())
	keys, _ = c.Append(k.Cast(tensor.F16), v.Cast(tensor.F16))
	require.Equal(t, tensor.F16, keys.DType())
}

func TestRotating(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		for _, window := range []int{1, 2, 4, 7, 40} {
			for _, o := range []Options{{}, {ALiBi: tensor.Ones(d, tensor.F32, 4)}, {Window: &Window{Left: 2}}, {SoftCap: 3}, {MaskFunc: everyOther}, {ScoreFunc: steep}} {
				r, all := NewRotating(window), o
				all.Causal, all.Window = true, &Window{Left: window - 1}
				if o.Window != nil {
					all.Window.Left = min(window-1, o.Window.Left)
				}
				decode(t, d, all, func(q, k, v *tensor.Tensor) *tensor.Tensor { return r.Attend(q, k, v, o) })
				require.Equal(t, allSteps, r.Len())
			}
		}
	}
}

// everyOther attends to every second token.
func everyOther(query, key int32) bool { return (query-key)%2 == 0 }

// TestRotatingAppend appends to a ring, and checks that what it returns is in order and stays.
func TestRotatingAppend(t *testing.T) {
	d := open(t, "auto")
	r := NewRotating(4)
	tokens := func(from, to int) *tensor.Tensor {
		return tensor.Arange(d, float32(from), float32(to)).Reshape(1, 1, to-from, 1)
	}
	for _, c := range []struct{ from, to, first int }{{0, 2, 0}, {2, 3, 0}, {3, 6, 0}, {6, 7, 3}, {7, 13, 4}, {13, 14, 10}} {
		keys, values := r.Append(tokens(c.from, c.to), tokens(c.from, c.to).Neg())
		same(t, tokens(c.first, c.to), keys, 0)
		same(t, tokens(c.first, c.to).Neg(), values, 0)
	}
	keys, _ := r.Append(tokens(0, 1), tokens(0, 2))
	require.ErrorIs(t, keys.Err(), tensor.ErrShape)
	require.Equal(t, 14, r.Len())
	r.Reset()
	require.Zero(t, r.Len())
}

func TestPaged(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		c, err := NewPaged(d, tensor.F32, Pages{Count: 20, Tokens: 4, Heads: 2, KeySize: 8, ValueSize: 8})
		require.NoError(t, err)
		long, short := c.Open(), c.Open()
		slopes := tensor.Rand(d, tensor.F32, 0, 1, 2, 4)
		q, k, v := qkv(d, 2, 4, 2, allSteps, allSteps, 8)
		at := 0
		for _, n := range steps { // the short one gets every second
			cut := func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Get(i).Narrow(1, at, n) }
			require.NoError(t, long.Append(cut(k, 0), cut(v, 0)))
			require.NoError(t, short.Append(cut(k, 1).Narrow(1, 0, (n+1)/2), cut(v, 1).Narrow(1, 0, (n+1)/2)))
			at += n
			got := c.Attend(q.Narrow(2, 0, n), []*Sequence{long, short}, Options{Causal: true, ALiBi: slopes})
			for i, s := range []*Sequence{long, short} {
				one := Options{Causal: true, ALiBi: slopes.Get(i)}
				same(t, SDPA(q.Get(i).Narrow(1, 0, n), s.Keys(), s.Values(), one), got.Get(i), 1e-5)
			}
		}
		same(t, k.Get(0), long.Keys(), 0)
		same(t, v.Get(0), long.Values(), 0)
		require.Equal(t, allSteps, long.Len())
		require.Equal(t, 20-7-(short.Len()+3)/4, c.Free())
		before := long.Len()
		require.ErrorIs(t, long.Append(tensor.Ones(d, tensor.F32, 2, 99, 8), tensor.Ones(d, tensor.F32, 2, 99, 8)), ErrPages)
		require.Equal(t, before, long.Len())
		long.Close()
		short.Close()
		require.Equal(t, 20, c.Free())
		require.Zero(t, sum(t, c.Attend(q.Narrow(0, 0, 1), []*Sequence{long}, Options{})))
	}
}

func TestPagedErrors(t *testing.T) {
	d := open(t, "auto")
	_, err := NewPaged(d, tensor.F32, Pages{Count: 1})
	require.ErrorIs(t, err, tensor.ErrArgument)
	p := Pages{Count: 2, Tokens: 4, Heads: 2, KeySize: 8, ValueSize: 6}
	c, err := NewPaged(d, tensor.F32, p)
	require.NoError(t, err)
	other, err := NewPaged(d, tensor.F32, p)
	require.NoError(t, err)
	x := func(shape ...int) *tensor.Tensor { return tensor.Ones(d, tensor.F32, shape...) }
	s := c.Open()
	require.ErrorIs(t, s.Append(x(2, 3, 8), x(2, 2, 6)), tensor.ErrShape)
	require.ErrorIs(t, s.Append(x(2, 3, 8), x(2, 3, 8)), tensor.ErrShape)
	require.ErrorIs(t, s.Append(nil, x(2, 3, 6)), tensor.ErrArgument)
	require.ErrorIs(t, s.Append(x(2, 3, 8).Cast(tensor.F16), x(2, 3, 6)), tensor.ErrDTypeMismatch)
	list := []*Sequence{s}
	require.ErrorIs(t, c.Attend(x(2, 2, 1, 8), list, Options{}).Err(), tensor.ErrShape)
	require.ErrorIs(t, c.Attend(x(1, 2, 1, 8), list, Options{Mask: x(1)}).Err(), tensor.ErrArgument)
	require.ErrorIs(t, c.Attend(x(1, 2, 1, 8), list, Options{ALiBi: x(2, 2)}).Err(), tensor.ErrShape)
	require.ErrorIs(t, other.Attend(x(1, 2, 1, 8), list, Options{}).Err(), tensor.ErrArgument)
	require.ErrorIs(t, c.Attend(nil, list, Options{}).Err(), tensor.ErrArgument)
}

func TestVarLen(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		q := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, 9, 4, 8)).Tensor()
		k := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, 12, 2, 8)).Tensor()
		v := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, 12, 2, 6)).Tensor()
		endsQ, endsK := []int{0, 4, 4, 7, 9}, []int{0, 6, 8, 11, 12}
		slopes := tensor.Rand(d, tensor.F32, 0, 1, 4, 4)
		o := Options{Causal: true, ALiBi: slopes}
		got := VarLen(q, k, v, endsQ, endsK, o)
		require.Equal(t, "[9, 4, 6]", got.Shape().String())
		// The same by one mask over all tokens.
		mask := tensor.Zeros(d, tensor.F32, 4, 9, 12).AddScalar(-1e30)
		for i := range 4 {
			for row := endsQ[i]; row < endsQ[i+1]; row++ {
				at := row - endsQ[i+1] + endsK[i+1]
				for key := endsK[i]; key <= at; key++ {
					bias := slopes.Get(i).MulScalar(float64(key-at)).Reshape(4, 1, 1)
					mask = mask.SliceAssign(bias, tensor.All, tensor.Slice(row, row+1), tensor.Slice(key, key+1))
				}
			}
		}
		swap := func(x *tensor.Tensor) *tensor.Tensor { return x.Transpose(0, 1) }
		want := swap(SDPA(swap(q), swap(k), swap(v), Options{Mask: mask}))
		seed := tensor.Randn(d, tensor.F32, 0, 1, 9, 4, 6)
		a, err := got.Narrow(0, 0, 7).BackwardWith(seed.Narrow(0, 0, 7))
		require.NoError(t, err)
		b, err := want.Narrow(0, 0, 7).BackwardWith(seed.Narrow(0, 0, 7))
		require.NoError(t, err)
		same(t, want.Narrow(0, 0, 7), got.Narrow(0, 0, 7), 1e-5)
		require.Zero(t, sum(t, got.Get(7))) // two queries and one key: the first one is in front of it
		same(t, want.Get(8), got.Get(8), 1e-5)
		for _, x := range []*tensor.Tensor{q, k, v} {
			same(t, b.Of(x), a.Of(x), 1e-5)
		}
	}
}

func TestVarLenErrors(t *testing.T) {
	d := open(t, "auto")
	x := func(shape ...int) *tensor.Tensor { return tensor.Ones(d, tensor.F32, shape...) }
	q, k := x(4, 2, 8), x(6, 2, 8)
	for _, c := range []struct {
		q            *tensor.Tensor
		endsQ, endsK []int
		o            Options
		kind         error
	}{
		{x(1, 4, 2, 8), []int{0, 4}, []int{0, 6}, Options{}, tensor.ErrRank},
		{q, []int{0, 4}, []int{0, 5}, Options{}, tensor.ErrShape},
		{q, []int{0, 3, 2, 4}, []int{0, 3, 5, 6}, Options{}, tensor.ErrShape},
		{q, []int{1, 4}, []int{0, 6}, Options{}, tensor.ErrShape},
		{q, []int{0, 2, 4}, []int{0, 6}, Options{}, tensor.ErrShape},
		{q, []int{4}, []int{6}, Options{}, tensor.ErrShape},
		{q, []int{0, 4}, []int{0, 6}, Options{Mask: x(1)}, tensor.ErrArgument},
		{q, []int{0, 4}, []int{0, 6}, Options{ALiBi: x(2, 2)}, tensor.ErrShape},
		{nil, []int{0, 4}, []int{0, 6}, Options{}, tensor.ErrArgument},
	} {
		require.ErrorIs(t, VarLen(c.q, k, k, c.endsQ, c.endsK, c.o).Err(), c.kind)
	}
}

// Tokens of a rotating cache are taken back as long as what their window has is there.
func TestRotatingTruncate(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	x := tensor.Randn(d, tensor.F32, 0, 1, 1, 2, 12, 8)
	part := func(at, n int) *tensor.Tensor { return x.Narrow(-2, at, n) }
	for _, c := range []struct{ stored, to, more int }{{4, 1, 3}, {3, 0, 9}, {9, 8, 1}, {9, 8, 3}, {5, 4, 1}} {
		want, got := NewRotating(4), NewRotating(4)
		want.Attend(part(0, c.to), part(0, c.to), part(0, c.to), Options{})
		got.Attend(part(0, c.stored), part(0, c.stored), part(0, c.stored), Options{})
		require.NoError(t, got.Truncate(c.to))
		require.Equal(t, c.to, got.Len())
		for range 2 { // the second tokens see that the first were stored at their places
			next := part(c.to, c.more)
			a, err := tensor.ToSlice[float32](want.Attend(next, next, next, Options{}))
			require.NoError(t, err)
			b, err := tensor.ToSlice[float32](got.Attend(next, next, next, Options{}))
			require.NoError(t, err)
			require.Equal(t, a, b, c)
			c.to = min(c.to+c.more, 12-c.more)
		}
	}
	r := NewRotating(4)
	r.Attend(part(0, 6), part(0, 6), part(0, 6), Options{})
	require.Equal(t, 5, r.Oldest())
	require.ErrorIs(t, r.Truncate(4), tensor.ErrRange)
	require.ErrorIs(t, r.Truncate(7), tensor.ErrRange)
	require.NoError(t, r.Truncate(5))
	require.ErrorIs(t, r.Truncate(4), tensor.ErrRange, "it was stored over already")
	r.Reset()
	require.Zero(t, r.Oldest())
}
