package tensor_test

import (
	"errors"
	"fmt"
	"reflect"
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// settled opens the CPU and collects what other tests have left there.
func settled(t *testing.T) *tensor.Device {
	t.Helper()
	d := open(t)
	t.Cleanup(func() { d.SetMemoryLimit(0) })
	collect(d, 0)
	return d
}

// collect collects garbage until no more than some bytes are left, for twenty seconds.
func collect(d *tensor.Device, left int64) int64 {
	for range 2000 {
		goruntime.GC()
		if d.Stats().Bytes <= left {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return d.Stats().Bytes
}

// becomes waits until the device has so many bytes: memory that Go has just collected is
// freed a moment later.
func becomes(t *testing.T, d *tensor.Device, bytes int64) {
	t.Helper()
	for range 2000 {
		if d.Stats().Bytes == bytes {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.Equal(t, bytes, d.Stats().Bytes)
}

func TestScope(t *testing.T) {
	d := settled(t)
	x := tensor.From(d, ramp(1000))
	before := d.Stats().Bytes
	s := tensor.OpenScope()
	a := x.In(s).Exp()
	b := a.Add(x).Reshape(10, 100).T()
	c := s.Keep(b.Narrow(0, 0, 5))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	becomes(t, d, before+4000) // what is kept, and nothing else
	require.Len(t, list[float32](t, c), 50)
	require.Len(t, list[float32](t, b), 1000, "the same memory")
	require.NoError(t, c.Free())
	becomes(t, d, before)
	require.ErrorIs(t, a.Neg().Err(), tensor.ErrFreed)
	require.Len(t, list[float32](t, x), 1000, "made before")
	require.Nil(t, s.Keep(nil))
}

func TestScopesNest(t *testing.T) {
	d := settled(t)
	x := tensor.From(d, ramp(1000))
	before := d.Stats().Bytes
	outer := tensor.OpenScope()
	var inner *tensor.Tensor
	y := tensor.InScope(func(in ...*tensor.Tensor) *tensor.Tensor {
		inner = in[0].Exp()
		return inner.Neg()
	}, x.In(outer))
	becomes(t, d, before+4000)
	require.Len(t, list[float32](t, y), 1000)

	z := x.Sqr() // is no part of the scope
	left := outer.Open()
	w := x.In(left).Cos().Add(y) // of two scopes it is in the inner one
	v := y.Neg()
	require.NoError(t, outer.Close())
	becomes(t, d, before+12000)
	require.Len(t, list[float32](t, z), 1000)
	require.Len(t, list[float32](t, w), 1000)
	require.NoError(t, left.Close())
	becomes(t, d, before+4000)
	for _, freed := range []*tensor.Tensor{inner, y, v, w} {
		require.ErrorIs(t, freed.Neg().Err(), tensor.ErrFreed)
	}
	goruntime.KeepAlive(z)
}

// What belongs to a scope says its operands, not who computes it; what is kept goes on outside.
func TestScopeIsAMark(t *testing.T) {
	d := settled(t)
	x := tensor.From(d, ramp(1000))
	before := d.Stats().Bytes
	s := tensor.OpenScope()
	var wg sync.WaitGroup
	made := make([]*tensor.Tensor, 8)
	for i := range made {
		wg.Go(func() { made[i] = x.In(s).MulScalar(float64(i)).Sum().Sqrt() })
	}
	wg.Wait()
	own := s.Own(tensor.From(d, ramp(1000)))
	likes := []*tensor.Tensor{own.ZerosLike(), own.FullLike(2), own.EmptyLike(), own.RandLike(0, 1), own.RandnLike(0, 1)}
	kept := s.Keep(own.Neg())
	v := tensor.NewVar(own.AddScalar(1))
	require.NoError(t, s.Close())
	for _, freed := range append(append(made, likes...), own) {
		require.ErrorIs(t, freed.Neg().Err(), tensor.ErrFreed)
	}
	becomes(t, d, before+8000)
	require.Len(t, list[float32](t, kept.Neg()), 1000, "belongs to no scope any more")
	require.Len(t, list[float32](t, v.Tensor()), 1000, "a variable belongs to none")
	require.ErrorIs(t, x.In(s).Err(), tensor.ErrArgument)
	require.ErrorIs(t, x.In(nil).Err(), tensor.ErrArgument)
	require.ErrorIs(t, s.Own(x).Err(), tensor.ErrArgument)
	goruntime.KeepAlive(x)
}

// Goroutines with scopes of their own, and some that compute in a scope while it is closed, free
// what is theirs and nothing else.
func TestScopesOfGoroutines(t *testing.T) {
	d := settled(t)
	x := tensor.From(d, ramp(100))
	before := d.Stats().Bytes
	shared := tensor.OpenScope()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for range 50 {
				s := shared.Open()
				y := s.Keep(x.In(s).AddScalar(float64(g)).MulScalar(2))
				if err := s.Close(); err != nil {
					t.Error(err)
					return
				}
				z, err := tensor.To1[float32](y)
				if errors.Is(err, tensor.ErrFreed) {
					return // the shared scope was closed
				}
				if err != nil || z[1] != 2*float32(g)+2 {
					t.Error(g, z, err)
					return
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	require.NoError(t, shared.Close())
	wg.Wait()
	require.Equal(t, before, collect(d, before))
	goruntime.KeepAlive(x)
}

// TestScopeHasAll calls every method of tensors in a scope, and goes back: the scope frees all
// that was made, results and what operations need on the way.
func TestScopeHasAll(t *testing.T) {
	d := settled(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for m := range reflect.TypeFor[*tensor.Tensor]().Methods() {
		if m.Name == "In" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			var s *tensor.Scope
			var before int64
			results := resultsWith(t, d, m, func(x ten) ten {
				before = d.Stats().Bytes
				s = tensor.OpenScope()
				return x.In(s)
			})
			if results == nil {
				return
			}
			for _, y := range results {
				require.NoError(t, y.Err())
				if y.RequiresGrad() && y.DType().IsFloat() {
					_, err := y.Backward()
					require.True(t, err == nil || m.Name == "LU", "%v", err)
				}
			}
			require.NoError(t, s.Close())
			require.Zero(t, d.Stats().Bytes-before-unscoped[m.Name])
		})
	}
}

// unscoped is the bytes of what special calls compute of operands that are in no scope.
var unscoped = map[string]int64{"MaskedSelect": 4}

// What is kept has its gradient, too.
func TestScopeKeepsGradients(t *testing.T) {
	d := settled(t)
	v := tensor.NewVar(tensor.From(d, ramp(1000)))
	s := tensor.OpenScope()
	y := s.Keep(v.Tensor().In(s).MulScalar(0.001).Exp().Sqr())
	waste := v.Tensor().In(s).Neg()
	require.NoError(t, s.Close())
	require.ErrorIs(t, waste.Neg().Err(), tensor.ErrFreed)
	s = tensor.OpenScope()
	g, err := y.In(s).Backward()
	require.NoError(t, err)
	s.KeepGradients(g)
	require.NoError(t, s.Close())
	require.InDelta(t, 0.002, list[float32](t, g.Of(v.Tensor()))[0], 1e-6)
}

// A program that works in scopes has no more memory at the end of a step than at its
// beginning, without the garbage collector.
func TestNoLeaks(t *testing.T) {
	d := settled(t)
	x, y := tensor.From(d, ramp(64), 8, 8), tensor.From(d, ramp(64), 8, 8)
	w := tensor.NewVar(tensor.Ones(d, tensor.F32, 8, 8))
	step := func(x *tensor.Tensor) {
		loss := w.Tensor().Mul(x).Sub(y).Sqr().Sum()
		g, err := loss.Backward()
		require.NoError(t, err)
		require.NoError(t, w.Set(w.Tensor().Sub(g.Of(w.Tensor()).MulScalar(1e-6))))
	}
	scoped := func() {
		s := tensor.OpenScope()
		step(x.In(s))
		require.NoError(t, s.Close())
	}
	const held = 3 * 8 * 8 * 4
	require.EqualValues(t, held, collect(d, held))
	for range 20 {
		scoped()
		becomes(t, d, held)
	}
	for range 20 {
		step(x)
	}
	require.EqualValues(t, held, collect(d, held), "nor with it")
	goruntime.KeepAlive([]any{x, y, w})
}

func TestPeakBytes(t *testing.T) {
	d := settled(t)
	x := tensor.Zeros(d, tensor.F32, 1000)
	held := d.Stats().Bytes
	d.ResetPeak()
	require.Equal(t, held, d.PeakBytes())
	y := x.Exp()
	require.NoError(t, y.Free())
	z := x.Neg()
	require.NoError(t, z.Free())
	require.Equal(t, held+4000, d.PeakBytes(), "both had the memory, one after the other")
	goruntime.KeepAlive(x)
}

func TestOutOfMemory(t *testing.T) {
	d := settled(t)
	x := tensor.Zeros(d, tensor.F32, 1<<18) // 1 MiB
	require.NoError(t, d.Synchronize())
	d.SetMemoryLimit(d.Stats().Bytes + 5<<20)
	y := x
	for range 100 { // all but the last one are garbage
		y = y.AddScalar(1)
	}
	require.NoError(t, y.Err())
	require.EqualValues(t, 100, list[float32](t, y.Narrow(0, 0, 1))[0])

	err := x.Reshape(1, 1<<18).BroadcastTo(8, 1<<18).Exp().Err()
	require.ErrorIs(t, err, tensor.ErrOutOfMemory)
	require.ErrorContains(t, err, "exp: [8, 262144] of f32: "+d.Runtime().Info().Name+": allocate: ")
	require.ErrorContains(t, err, "8.0 MiB wanted, ")
	require.ErrorContains(t, err, "of this program, ")
	require.ErrorContains(t, err, " free on the device, limited to ")
	require.ErrorContains(t, err, "(memory_test.go:")
	require.NoError(t, x.Exp().Err(), "the device is still usable")
	goruntime.KeepAlive(x)
}

func ExampleScope() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	x := tensor.From(dev, []float32{1, 2, 3})
	s := tensor.OpenScope()
	squares := x.In(s).Sqr()
	y := s.Keep(squares.AddScalar(1).Sqrt())
	if err := s.Close(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(y)
	_, err = tensor.To1[float32](squares)
	fmt.Println(errors.Is(err, tensor.ErrFreed))
	// Output:
	// [1.4142, 2.2361, 3.1623]
	// Tensor[[3], f32]
	// true
}

// What a kept tensor's gradient needs besides operands is kept, too: indices, masks.
func TestScopeKeepsIndices(t *testing.T) {
	d := open(t)
	v := tensor.NewVar(tensor.From(d, []float32{3, 1, 4, 1}))
	numbers := tensor.From(d, []int64{2, 0, 2, 1})
	loss := tensor.InScope(func(in ...*tensor.Tensor) *tensor.Tensor {
		x, ids := in[0], in[1].AddScalar(0)
		sorted, _ := x.Sort(0, false)
		return x.Gather(ids, 0).Add(x.IndexSelect(ids, 0)).Add(x.ScatterAdd(ids, x, 0)).
			Add(x.MaskedFill(x.GtScalar(2), 5)).Add(sorted).Add(x.MaxPool(tensor.Pooling{Kernel: []int{1}})).
			Sum().Add(x.MaskedSelect(x.GtScalar(1)).Sum())
	}, v.Tensor(), numbers)
	g, err := loss.Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{7, 7, 9, 5}, list[float32](t, g.Of(v.Tensor())))
}

// A backward pass has the gradients of few results at one time, in a scope and without one: what is
// not needed any more is freed, but for what a hook has seen.
func TestBackwardFrees(t *testing.T) {
	d := open(t)
	const n, deep = 1 << 18, 24
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing is collected
	for _, scoped := range []bool{false, true} {
		x := tensor.NewVar(tensor.Rand(d, tensor.F32, 0.5, 1, 4, n/4)).Tensor()
		in, middle, seen := x, ten(nil), ten(nil)
		if s := tensor.OpenScope(); scoped {
			in = x.In(s)
		}
		y := in
		for i := range deep {
			y = y.Mul(y).Add(in.Narrow(0, 0, 1)).AddScalar(0.5).Sqrt() // four results, and parts of one
			if i == deep/2 {
				middle = y
			}
		}
		_, err := middle.OnGradient(func(g ten) ten { seen = g; return nil })
		require.NoError(t, err)
		loss := y.Sum()
		require.NoError(t, loss.Err())
		d.ResetPeak()
		before := d.PeakBytes()
		grads, err := loss.Backward()
		require.NoError(t, err)
		took := float64(d.PeakBytes()-before) / (4 * n)
		require.Less(t, took, 16.0, "scoped %v: tensors of the size of a result", scoped)
		_, err = seen.Float64s()
		require.NoError(t, err, "what a hook has kept")
		_, err = grads.Of(x).Float64s()
		require.NoError(t, err)
		again, err := loss.Backward()
		require.NoError(t, err)
		alike(t, grads.Of(x), again.Of(x), 0, "again")
	}
}
