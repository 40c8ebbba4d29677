package tensor_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	kruntime "github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// here is the line that calls it, n lines further.
func here(n int) string {
	_, _, line, _ := runtime.Caller(1)
	return fmt.Sprintf("(changes_test.go:%d)", line+n)
}

// doubled writes twice the numbers of a tensor in their place.
type doubled struct{}

func (doubled) Name() string { return "doubled" }
func (doubled) Forward(x ten) error {
	return tensor.Launch(doubleKernel, kruntime.Cover(x.Count(), 64), x, x.Layout())
}

// TestChangedInPlace changes, between a formula and its gradient, what the gradient needs, in every way
// there is: it is an error that names both lines.
func TestChangedInPlace(t *testing.T) {
	d := open(t)
	ids := tensor.From(d, []int64{1, 0, 1})
	for name, change := range map[string]func(x ten) error{
		"ConstSet":      func(x ten) error { return x.ConstSet(dtype.New(1.5)) },
		"ZeroSet":       ten.ZeroSet,
		"OneSet":        ten.OneSet,
		"Assign":        func(x ten) error { return x.Assign(x.MulScalar(2)) },
		"of a view":     func(x ten) error { return x.Narrow(0, 2, 1).Assign(x.Get(0)) },
		"of a step":     func(x ten) error { return x.Step(0, 2).ZeroSet() },
		"SliceSet":      func(x ten) error { return x.SliceSet(tensor.Ones(d, tensor.F32, 1), 0, 1) },
		"ScatterSet":    func(x ten) error { return x.ScatterSet(ids, x.Neg(), 0) },
		"ScatterAddSet": func(x ten) error { return x.ScatterAddSet(ids, x.Neg(), 0) },
		"IndexAddSet":   func(x ten) error { return x.IndexAddSet(ids, x.Neg(), 0) },
		"Copy2D":        func(x ten) error { return x.Copy2D(0, 1, x.Neg(), 0, 1, 1, 1) },
		"InPlace1":      func(x ten) error { return tensor.InPlace1(doubled{}, x) },
		"Launch":        func(x ten) error { return tensor.Launch(doubleKernel, kruntime.Cover(3, 64), x, x.Layout()) },
	} {
		t.Run(name, func(t *testing.T) {
			w := tensor.NewVar(tensor.From(d, []float32{1, 2, 3})).Tensor()
			x := tensor.From(d, []float32{4, 5, 6})
			y, made := w.Mul(x), here(0)
			require.NoError(t, change(x))
			g, err := y.Backward()
			require.Nil(t, g)
			require.ErrorIs(t, err, tensor.ErrChanged)
			require.ErrorContains(t, err, "mul "+made)
			require.Regexp(t, `\[3\], which .* \(changes_test.go:\d+\) has changed since`, err.Error())
			// What needs no numbers that were changed is right.
			z := w.Add(x)
			require.NoError(t, change(x))
			g, err = z.Backward()
			require.NoError(t, err)
			require.Equal(t, []float32{1, 1, 1}, list[float32](t, g.Of(w)))
		})
	}
}

func TestChangedNamesBothLines(t *testing.T) {
	d := open(t)
	v := tensor.NewVar(tensor.From(d, []float32{1, 2, 3}))
	y, made := v.Tensor().Sqr(), here(0)
	require.NoError(t, v.Set(tensor.From(d, []float32{1, 1, 1})))
	changed := here(-1)
	_, err := y.Backward()
	require.EqualError(t, err, "backward: changed in place: the gradient of sqr "+made+" needs a tensor of [3], which set "+changed+
		" has changed since: change a Copy, or call Backward before "+here(-2))
	require.NoError(t, err2(v.Tensor().Sqr().Backward()))

	// A result that was changed is not what its formula gave.
	x := v.Tensor().AddScalar(1)
	made = here(-1)
	require.NoError(t, x.ZeroSet())
	changed = here(-1)
	_, err = x.Sum().Backward()
	require.EqualError(t, err, "backward: changed in place: the result of add "+made+", of [3], was changed by const set "+changed+
		" before it was used: its gradient is not that of what it was computed from; change a Copy "+here(-2))
	_, err = x.Backward()
	require.ErrorIs(t, err, tensor.ErrChanged)
	x = v.Tensor().AddScalar(1)
	sum := x.Sum()
	require.NoError(t, x.ZeroSet()) // behind its use, and its numbers are not needed
	require.NoError(t, err2(sum.Backward()))

	// Views of a variable are what it is.
	turned := v.Tensor().Unsqueeze(0).T()
	require.NoError(t, v.Set(tensor.From(d, []float32{4, 5, 6})))
	g, err := turned.Sqr().Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{8, 10, 12}, list[float32](t, g.Of(v.Tensor())))
}

func err2(_ *tensor.Gradients, err error) error { return err }

// Results, indices, masks, and what is computed again are found, and tensors of one buffer that a
// program has made are views of each other.
func TestChangedElsewhere(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.From(d, []float32{1, 2, 3})).Tensor()
	ids := func() ten { return tensor.From(d, []int64{0, 2, 1}) }
	for name, f := range map[string]func() (y, change ten){
		"Exp":          func() (y, change ten) { y = x.Exp(); return y.Sum(), y },
		"view of Exp":  func() (y, change ten) { y = x.Exp(); return y.Sum(), y.Narrow(0, 1, 2) },
		"Gather":       func() (y, change ten) { i := ids(); return x.Gather(i, 0), i },
		"Scatter":      func() (y, change ten) { i := ids(); return x.Scatter(i, x, 0), i },
		"ScatterAdd":   func() (y, change ten) { i := ids(); return x.ScatterAdd(i, x, 0), i },
		"IndexAdd":     func() (y, change ten) { i := ids(); return x.IndexAdd(i, x, 0), i },
		"IndexSelect":  func() (y, change ten) { i := ids(); return x.IndexSelect(i, 0), i },
		"Embedding":    func() (y, change ten) { i := ids(); return x.Unsqueeze(1).Embedding(i), i },
		"Take":         func() (y, change ten) { i := ids(); return x.Take(i), i },
		"MaskedFill":   func() (y, change ten) { i := ids(); return x.MaskedFill(i, 7), i },
		"MaskedSelect": func() (y, change ten) { i := ids(); return x.MaskedSelect(i), i },
		"Where":        func() (y, change ten) { i := ids(); return i.Where(x, x.Neg()), i },
		"Sort":         func() (y, change ten) { y, i := x.Sort(0, true); return y, i },
		"MaxPoolWithIndices": func() (y, change ten) {
			y, i := x.MaxPoolWithIndices(tensor.Pooling{Kernel: []int{2}})
			return y, i
		},
		"ScatterReduce": func() (y, change ten) { i := ids(); return x.ScatterReduce(tensor.ScatterMax, i, x, 0, true), i },
		"Checkpoint": func() (y, change ten) {
			c := x.Detach().Copy()
			return tensor.Checkpoint(func(in ...ten) ten { return in[0].Mul(in[1]) }, x, c), c
		},
		"FromBuffer": func() (y, change ten) {
			c := x.Detach().Copy()
			return x.Mul(c), tensor.FromBuffer(d, c.Buffer(), tensor.F32, c.Layout())
		},
	} {
		for _, graph := range []bool{false, true} {
			y, change := f()
			require.NoError(t, err2(y.BackwardBy(tensor.BackwardOptions{Graph: graph})), name)
			require.NoError(t, change.ZeroSet())
			g, err := y.BackwardBy(tensor.BackwardOptions{Graph: graph})
			require.ErrorIs(t, err, tensor.ErrChanged, name)
			require.Nil(t, g)
		}
	}
	// A variable that a function uses without being given it.
	w := tensor.NewVar(tensor.From(d, []float32{4, 5, 6}))
	y := tensor.Checkpoint(func(in ...ten) ten { return in[0].Mul(w.Tensor()) }, x)
	require.NoError(t, w.Set(x.Detach().Copy()))
	require.ErrorIs(t, err2(y.Backward()), tensor.ErrChanged)

	// The first gradient needs nothing of x that was changed since, the second one does.
	once, err := x.Mul(w.Tensor()).BackwardBy(tensor.BackwardOptions{Graph: true})
	require.NoError(t, err)
	twice, err := x.Mul(w.Tensor().Sqr()).BackwardBy(tensor.BackwardOptions{Graph: true})
	require.NoError(t, err)
	require.NoError(t, w.Set(tensor.From(d, []float32{1, 1, 1})))
	require.NoError(t, err2(once.Of(x).Sqr().Backward()))
	require.ErrorIs(t, err2(twice.Of(x).Backward()), tensor.ErrChanged)
}

// TestNoGradIsCarried calls every method of tensors: what is computed from a tensor of NoGrad is
// never recorded, also on goroutines that the program starts.
func TestNoGradIsCarried(t *testing.T) {
	d := open(t)
	w := tensor.NewVar(tensor.From(d, []float64{1})).Tensor()
	for m := range reflect.TypeFor[ten]().Methods() {
		if slices.Contains(constant, m.Name) {
			continue
		}
		for _, y := range resultsWith(t, d, m, func(x ten) ten { return x.NoGrad() }) {
			require.NoError(t, y.Err(), m.Name)
			assert.False(t, y.Cast(tensor.F64).Sum().Add(w).RequiresGrad(), "%s loses the mark", m.Name)
		}
	}
	ids := tensor.From(d, []int64{0}).NoGrad()
	for _, y := range []ten{w.Gather(ids, 0), w.IndexSelect(ids, 0), w.Unsqueeze(1).Embedding(ids), w.Take(ids), w.MaskedFill(ids, 1), ids.Where(w, w), tensor.Cat(0, w, ids.Cast(tensor.F64)), w.ScatterAdd(ids, w, 0), ids.OneHot(1, tensor.F64, 1, 0).Mul(w), w.Index(ids)} {
		require.NoError(t, y.Err())
		require.False(t, y.RequiresGrad())
	}
	x := tensor.From(d, []float64{2})
	require.True(t, x.NoGrad().Mul(w).Detach().Mul(w).RequiresGrad())
	_, err := x.NoGrad().Mul(w).Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
	require.ErrorContains(t, err, "NoGrad")

	var all sync.WaitGroup
	used, trained := make([]ten, 8), make([]ten, 8)
	for i := range used {
		in := x.NoGrad()
		all.Go(func() { used[i] = in.Mul(w).Exp().Sum() })
		all.Go(func() { trained[i] = x.Mul(w).Exp().Sum() })
	}
	all.Wait()
	for i := range used {
		require.False(t, used[i].RequiresGrad())
		require.True(t, trained[i].RequiresGrad())
	}
}

// The zero Gradients takes what a program computed itself.
func TestGradientsOfProgram(t *testing.T) {
	d := open(t)
	v := tensor.NewVar(tensor.Ones(d, tensor.F32, 2))
	var g tensor.Gradients
	g.Set(v.Tensor(), nil)
	require.Zero(t, g.Len())
	g.Set(v.Tensor(), v.Tensor().Detach())
	require.Equal(t, 1, g.Len())
	require.NotNil(t, g.Of(v.Tensor()))
}
