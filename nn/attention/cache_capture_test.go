package attention

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// A graph cannot hold what is appended to a cache, which stays as it was.
func TestAppendCaptured(t *testing.T) {
	d := open(t, "auto")
	k := tensor.Ones(d, tensor.F32, 2, 3, 8)
	cos, sin := fn.RopeTable(d, tensor.F32, 8, 9, 0, fn.RopeScaling{})
	by := Rotation{Cos: cos, Sin: sin}
	c, ring := NewCache(4), NewRotating(4)
	pages, err := NewPaged(d, tensor.F32, Pages{Count: 2, Tokens: 4, Heads: 2, KeySize: 8, ValueSize: 8})
	require.NoError(t, err)
	s := pages.Open()
	one := func(keys, _ *tensor.Tensor) error { return keys.Err() }
	all := map[string]func() error{
		"cache":            func() error { return one(c.Append(k, k)) },
		"rotated":          func() error { return one(c.AppendRotated(k, k, by)) },
		"rotating":         func() error { return one(ring.Append(k, k)) },
		"rotating rotated": func() error { return one(ring.AppendRotated(k, k, by)) },
		"paged":            func() error { return s.Append(k, k) },
		"paged rotated":    func() error { return s.AppendRotated(k, k, by) },
	}
	for name, fn := range all {
		_, err := d.Capture(fn)
		require.ErrorIs(t, err, runtime.ErrCapturing, name)
	}
	require.Equal(t, []int{0, 0, 0}, []int{c.Len(), ring.Len(), s.Len()})
	require.Nil(t, c.Keys())
	for name, fn := range all {
		require.NoError(t, fn(), name)
	}
}

// Where values cannot be stored, a ring has not lost the keys that new ones are stored over.
func TestRotatingAfterFailure(t *testing.T) {
	d := open(t, "auto")
	x := func(n int, by float64) *tensor.Tensor {
		return tensor.Arange(d, float32(0), float32(8*n)).MulScalar(by).Reshape(1, n, 8)
	}
	ring, other := NewRotating(2), NewRotating(2)
	for _, r := range []*Rotating{ring, other} {
		r.Append(x(2, 1), x(2, 2))
	}
	freed := x(2, 4)
	require.NoError(t, freed.Free())
	_, values := ring.Append(x(2, 3), freed)
	require.ErrorIs(t, values.Err(), tensor.ErrFreed)
	require.Equal(t, 2, ring.Len())
	keys, _ := ring.Append(x(1, 5), x(1, 6))
	want, _ := other.Append(x(1, 5), x(1, 6))
	same(t, want, keys, 0)
}
