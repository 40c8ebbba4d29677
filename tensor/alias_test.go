package tensor_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// What is assigned to a part of the same memory is what was there before.
func TestAliases(t *testing.T) {
	d := open(t)
	x := count(d, 5)
	require.NoError(t, x.Narrow(0, 1, 4).Assign(x.Narrow(0, 0, 4)))
	require.Equal(t, []float32{0, 0, 1, 2, 3}, list[float32](t, x))
	require.NoError(t, x.Narrow(0, 0, 4).Assign(x.Narrow(0, 1, 4)))
	require.Equal(t, []float32{0, 1, 2, 3, 3}, list[float32](t, x))
	m := count(d, 3, 3)
	require.NoError(t, m.Assign(m.T()))
	require.Equal(t, []float32{0, 3, 6, 1, 4, 7, 2, 5, 8}, list[float32](t, m))
	require.NoError(t, m.Assign(m.Get(2)), "a row that is broadcast over itself")
	require.Equal(t, []float32{2, 5, 8, 2, 5, 8, 2, 5, 8}, list[float32](t, m))
	require.NoError(t, m.Assign(m.Flip(0, 1).Add(m)))
	require.Equal(t, []float32{10, 10, 10}, list[float32](t, m.Get(1)))

	// No operation that is not said to be in place changes an operand, and no result of one
	// shares memory with it but the views that are said to be.
	y := count(d, 2, 3)
	z := y.Contiguous() // y itself
	require.Same(t, y, z)
	c := y.Copy()
	require.NoError(t, c.ZeroSet())
	s := y.SliceScatter(tensor.Ones(d, tensor.F32, 1, 3), 0, 1)
	require.NoError(t, s.ZeroSet())
	r := y.T().Reshape(6) // which no strides do
	require.NoError(t, r.ZeroSet())
	require.Equal(t, []float32{0, 1, 2, 3, 4, 5}, list[float32](t, y))
	require.NoError(t, y.Reshape(6).Narrow(0, 0, 1).OneSet()) // a view
	require.Equal(t, []float32{1, 1, 2, 3, 4, 5}, list[float32](t, y))
	v := tensor.NewVar(y)
	require.NoError(t, y.ZeroSet())
	require.Equal(t, []float32{1, 1, 2, 3, 4, 5}, list[float32](t, v.Tensor()), "a variable has numbers of its own")
}

// Tensors are used by several goroutines at once: what each has computed, read, freed and
// kept in scopes of its own is not disturbed by the others.
func TestGoroutines(t *testing.T) {
	d := open(t)
	shared := count(d, 64, 33)
	want := list[float32](t, shared.T().Sqr().Sum(0))
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for g := range 8 {
		wg.Go(func() {
			for i := range 25 {
				s := tensor.OpenScope()
				v := tensor.NewVar(tensor.Ones(d, tensor.F32, 10).MulScalar(float64(g)))
				y := shared.In(s).T().Sqr().Sum(0)
				got, err := tensor.To1[float32](y)
				if err == nil {
					err = equal(want, got)
				}
				if err == nil {
					grads, failed := v.Tensor().In(s).Sqr().Backward()
					err = failed
					if err == nil {
						got, err = tensor.To1[float32](grads.Of(v.Tensor()))
					}
					if err == nil && got[9] != float32(2*g) {
						err = fmt.Errorf("goroutine %d, round %d: %v", g, i, got)
					}
				}
				if closed := s.Close(); err == nil {
					err = closed
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func equal(want, got []float32) error {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("element %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}
