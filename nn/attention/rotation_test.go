package attention

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// Keys that are turned while they are stored have the bits of those that are turned before, in
// every cache and layout, also where they begin and end at the end of a page or of the ring.
func TestAppendRotated(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
			cos, sin := fn.RopeTable(d, tensor.F32, 6, allSteps, 100, fn.RopeScaling{})
			for _, r := range []Rotation{{Cos: cos, Sin: sin}, {Cos: cos, Sin: sin, Interleaved: true}} {
				of := fn.Rope
				if r.Interleaved {
					of = fn.RopeInterleaved
				}
				thd := tensor.Randn(d, tensor.F32, 0, 1, 2, allSteps, 3, 8).Cast(dt)
				for _, k := range []*tensor.Tensor{thd.Transpose(1, 2), thd.Transpose(1, 2).Contiguous()} {
					v := tensor.Randn(d, tensor.F32, 0, 1, 2, 3, allSteps, 4).Cast(dt)
					rotatedSteps(t, d, k, of(k, cos, sin), v, r)
				}
			}
		}
	}
	d := open(t, "auto") // fn.RopeTHD, whose tables are of the batch
	cos, sin := tensor.Randn(d, tensor.F32, 0, 1, 2, allSteps, 4), tensor.Randn(d, tensor.F32, 0, 1, 2, allSteps, 4)
	k, v := tensor.Randn(d, tensor.F32, 0, 1, 2, allSteps, 3, 8), tensor.Ones(d, tensor.F32, 2, 3, allSteps, 8)
	c := NewCache(4)
	c.AppendRotated(k.Transpose(1, 2), v, Rotation{Cos: cos, Sin: sin})
	same(t, fn.RopeTHD(k, cos, sin).Transpose(1, 2), c.Keys(), 0)
}

// rotatedSteps appends keys some at a time to each kind of cache; turned are those that it has
// then.
func rotatedSteps(t *testing.T, d *tensor.Device, k, turned, v *tensor.Tensor, r Rotation) {
	t.Helper()
	pages, err := NewPaged(d, k.DType(), Pages{Count: 8, Tokens: 4, Heads: 3, KeySize: 8, ValueSize: 4})
	require.NoError(t, err)
	c, ring, two, s := NewCache(4), NewRotating(7), NewRotating(7), pages.Open()
	at := 0
	for _, n := range []int{3, 1, 1, 3, 9, 1, 1, 6} { // to 4, 8 and 24, and behind them
		cut := func(x *tensor.Tensor) *tensor.Tensor { return x.Narrow(2, at, n) }
		keys, values := c.AppendRotated(cut(k), cut(v), r)
		same(t, turned.Narrow(2, 0, at+n), keys, 0)
		same(t, v.Narrow(2, 0, at+n), values, 0)

		keys, values = ring.AppendRotated(cut(k), cut(v), r)
		wantKeys, wantValues := two.Append(cut(turned), cut(v))
		same(t, wantKeys, keys, 0)
		same(t, wantValues, values, 0)

		require.NoError(t, s.AppendRotated(cut(k).Get(0), cut(v).Get(0), r))
		same(t, turned.Get(0).Narrow(1, 0, at+n), s.Keys(), 0)
		same(t, v.Get(0).Narrow(1, 0, at+n), s.Values(), 0)
		at += n
	}
	require.Equal(t, allSteps, at)
}

// A rotation that does not fit is an error, and the cache stays as it was.
func TestRotationErrors(t *testing.T) {
	d := open(t, "auto")
	cos, sin := fn.RopeTable(d, tensor.F32, 8, 5, 0, fn.RopeScaling{})
	x := func(shape ...int) *tensor.Tensor { return tensor.Ones(d, tensor.F32, shape...) }
	c, ring := NewCache(4), NewRotating(2)
	pages, err := NewPaged(d, tensor.F32, Pages{Count: 2, Tokens: 4, Heads: 2, KeySize: 8, ValueSize: 8})
	require.NoError(t, err)
	s := pages.Open()
	good := Rotation{Cos: cos, Sin: sin}
	k := x(2, 3, 8)
	c.AppendRotated(k, k, good)
	ring.AppendRotated(k, k, good)
	require.NoError(t, s.AppendRotated(k, k, good))
	before := c.Keys().Copy()
	for _, bad := range []struct {
		r    Rotation
		kind error
	}{
		{Rotation{}, tensor.ErrArgument},
		{good, tensor.ErrRange}, // of six positions
		{Rotation{Cos: x(9, 4), Sin: x(9, 3)}, tensor.ErrShape},
		{Rotation{Cos: x(9, 5), Sin: x(9, 5)}, tensor.ErrShape},
		{Rotation{Cos: x(9), Sin: x(9)}, tensor.ErrRank},
		{Rotation{Cos: tensor.Fail("first", tensor.ErrEmpty), Sin: sin}, tensor.ErrEmpty},
		{Rotation{Cos: x(9, 4).Cast(tensor.F64), Sin: x(9, 4).Cast(tensor.F64)}, tensor.ErrDTypeMismatch},
	} {
		keys, values := c.AppendRotated(k, k, bad.r)
		require.ErrorIs(t, keys.Err(), bad.kind)
		require.ErrorIs(t, values.Err(), bad.kind)
		keys, _ = ring.AppendRotated(k, k, bad.r)
		require.ErrorIs(t, keys.Err(), bad.kind)
		require.ErrorIs(t, s.AppendRotated(k, k, bad.r), bad.kind)
	}
	require.Equal(t, []int{3, 3, 3}, []int{c.Len(), ring.Len(), s.Len()})
	same(t, before, c.Keys(), 0)
	deep := NewCache(4)
	keys, _ := deep.AppendRotated(x(1, 1, 2, 3, 8), x(1, 1, 2, 3, 8), good)
	require.ErrorIs(t, keys.Err(), tensor.ErrRank)
	require.Nil(t, deep.Keys())
	keys, _ = deep.AppendRotated(k, k, good) // of another shape
	same(t, before, keys, 0)
	deepRing := NewRotating(4)
	keys, _ = deepRing.AppendRotated(x(1, 1, 2, 3, 8), x(1, 1, 2, 3, 8), good)
	require.ErrorIs(t, keys.Err(), tensor.ErrRank)
	keys, _ = deepRing.AppendRotated(k, k, good)
	same(t, before, keys, 0)

	out := x(1, 2, 5, 8)
	for _, bad := range []struct {
		out  *tensor.Tensor
		kind error
	}{
		{x(1, 2, 4, 8), tensor.ErrShape},
		{out.Cast(tensor.BF16), tensor.ErrDTypeMismatch},
		{tensor.NewVar(out).Tensor(), tensor.ErrArgument},
		{nil, tensor.ErrArgument},
		{x(1, 1, 5, 8).BroadcastTo(1, 2, 5, 8), tensor.ErrArgument},
	} {
		require.ErrorIs(t, fn.RopeInto(bad.out, x(1, 2, 5, 8), cos, sin, false), bad.kind)
	}
	require.ErrorIs(t, fn.RopeInto(out, x(1, 2, 6, 8), cos, sin, false), tensor.ErrShape)
}
