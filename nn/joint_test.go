package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
)

// three is layers of one input with a joint.
type three struct {
	A, B, C *nn.Linear
	joint   *nn.Joint `nn:"-"`
}

func (n *three) Join() error { return n.joint.Join() }

func newThree(t *testing.T, d *tensor.Device, layer func(in, out int) *nn.Linear, of ...format.Type) *three {
	t.Helper()
	n := &three{A: layer(64, 32), B: layer(64, 16), C: layer(64, 16)}
	n.joint = nn.NewJoint(n.A, n.B, n.C)
	require.NoError(t, nn.Init(n, nn.On{Device: d}))
	require.NoError(t, nn.SetFrozen(n, true))
	if len(of) > 0 {
		next := 0
		_, err := nn.Quantize(n, func(_ string, w *tensor.Tensor) nn.Quantized {
			if w.Rank() < 2 {
				return nil
			}
			next++
			return quantized.Quantize(w, of[next-1])
		})
		require.NoError(t, err)
	}
	return n
}

// buffers is how many pieces of memory results are in, and fails if they differ from what was
// wanted.
func (n *three) buffers(t *testing.T, x ten, want []ten) int {
	t.Helper()
	in := map[any]bool{}
	for i, y := range n.joint.Forward(x) {
		requireNear(t, want[i], y, 1e-5)
		in[y.Buffer()] = true
	}
	return len(in)
}

// Layers with the same input give what they gave before, by one product where they can be joined.
func TestJoint(t *testing.T) {
	d := open(t)
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 64)
	q4, q8 := format.Q4_0, format.Q8_0
	for name, c := range map[string]struct {
		layer    func(in, out int) *nn.Linear
		of       []format.Type
		products int
	}{
		"plain": {nn.NewLinearNoBias, nil, 1}, "biases": {nn.NewLinear, nil, 1},
		"quantized":  {nn.NewLinearNoBias, []format.Type{q4, q4, q4}, 1},
		"and biases": {nn.NewLinear, []format.Type{q4, q4, q4}, 1},
		"last":       {nn.NewLinear, []format.Type{q4, q4, q8}, 2},
		"first":      {nn.NewLinear, []format.Type{q8, q4, q4}, 2},
		"in between": {nn.NewLinear, []format.Type{q4, q8, q4}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			n := newThree(t, d, c.layer, c.of...)
			want := n.joint.Forward(x)
			weights := []ten{n.A.Weight.Tensor().Copy(), n.B.Weight.Tensor().Copy(), n.C.Weight.Tensor().Copy()}
			require.Equal(t, 3, n.buffers(t, x, want))
			before := nn.Changes()
			require.NoError(t, nn.Join(n))
			require.Equal(t, c.products < 3, nn.Changes() > before)
			require.Equal(t, c.products, n.buffers(t, x, want))
			before = nn.Changes()
			require.NoError(t, nn.Join(n)) // there is nothing left to do
			require.Equal(t, before, nn.Changes())
			for i, l := range []*nn.Linear{n.A, n.B, n.C} {
				requireNear(t, weights[i], l.Weight.Tensor(), 0)
				requireNear(t, want[i], l.Forward(x), 1e-5)
			}
			list, err := nn.List(n)
			require.NoError(t, err)
			require.Equal(t, "a.weight", list[0].Name)
		})
	}
}

// Joined layers that are changed alone are computed alone, and a change in place is one of the
// product.
func TestJointChanges(t *testing.T) {
	d := open(t)
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 64)
	alone := func(n *three) []ten { return []ten{n.A.Forward(x), n.B.Forward(x), n.C.Forward(x)} }
	joined := func(of ...format.Type) *three {
		n := newThree(t, d, nn.NewLinearNoBias, of...)
		require.NoError(t, nn.Join(n))
		require.Equal(t, 1, n.buffers(t, x, alone(n)))
		return n
	}
	n := joined()
	require.NoError(t, n.B.Weight.Set(tensor.Randn(d, tensor.F32, 0, 1, 16, 64)))
	require.Equal(t, 1, n.buffers(t, x, alone(n)))

	n.C.Weight.SetFrozen(false) // it is to be trained
	require.NotNil(t, n.C.Weight.Var())
	require.True(t, n.C.Forward(x).RequiresGrad())
	require.NoError(t, n.C.Weight.Var().Set(tensor.Randn(d, tensor.F32, 0, 1, 16, 64)))
	require.Equal(t, 3, n.buffers(t, x, alone(n)))
	n.C.Weight.SetFrozen(true)
	require.NoError(t, nn.Join(n)) // the others share memory with what was
	require.Equal(t, 3, n.buffers(t, x, alone(n)))

	n = joined()
	_, err := nn.Adapt(n, nn.LoRAOptions{Rank: 2}, func(name string) bool { return name == "a" })
	require.NoError(t, err)
	n.A.Adapter.A, n.A.Adapter.B = nn.ParamOf(tensor.Randn(d, tensor.F32, 0, 1, 2, 64)), nn.ParamOf(tensor.Randn(d, tensor.F32, 0, 1, 32, 2))
	with := alone(n)
	require.Equal(t, 3, n.buffers(t, x, with))
	require.NoError(t, nn.Merge(n, false))
	require.Equal(t, 1, n.buffers(t, x, with))

	n = joined(format.Q4_0, format.Q4_0, format.Q4_0)
	seen := 0
	n.A.Observe(func(string, *tensor.Tensor, *tensor.Tensor) { seen++ })
	n.joint.Forward(x)
	require.Equal(t, 1, seen)
	n.A.Observe(nil)
	_, err = nn.Dequantize(map[string]*nn.Param{"b": n.B.Weight}, 0)
	require.NoError(t, err)
	require.Equal(t, 3, n.buffers(t, x, alone(n)))

	trained := newThree(t, d, nn.NewLinearNoBias)
	trained.A.Weight.SetFrozen(false)
	require.NoError(t, nn.Join(trained))
	require.Equal(t, 2, trained.buffers(t, x, alone(trained)))
	require.True(t, trained.A.Forward(x).RequiresGrad())
}

// Gate and up of a gated layer are one product if they are quantized, for each activation.
func TestJointGated(t *testing.T) {
	d := open(t)
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 64)
	for _, act := range []tensor.Activation{tensor.Silu, tensor.GeluErf, tensor.Relu, tensor.Gelu} {
		m := nn.NewGatedMLP(64, 96, act)
		require.NoError(t, nn.Init(m, nn.On{Device: d}))
		require.NoError(t, nn.SetFrozen(m, true))
		want := m.Forward(x)
		require.NoError(t, nn.Join(m))
		requireNear(t, want, m.Forward(x), 0)
		_, err := nn.Quantize(m, func(_ string, w *tensor.Tensor) nn.Quantized { return quantized.Quantize(w, format.Q8_0) })
		require.NoError(t, err)
		want = m.Forward(x)
		before := nn.Changes()
		require.NoError(t, nn.Join(m))
		require.Greater(t, nn.Changes(), before)
		requireNear(t, want, m.Forward(x), 1e-5)
	}
}

// Layers are joined as they are loaded.
func TestJointLoad(t *testing.T) {
	d := open(t)
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 64)
	of := newThree(t, d, nn.NewLinear)
	from, err := nn.State(of)
	require.NoError(t, err)
	for _, join := range []bool{false, true} {
		n := &three{A: nn.NewLinear(64, 32), B: nn.NewLinear(64, 16), C: nn.NewLinear(64, 16)}
		n.joint = nn.NewJoint(n.A, n.B, n.C)
		require.NoError(t, nn.SetFrozen(n, true))
		_, err = nn.Load(n, from, nn.LoadOptions{On: nn.On{Device: d}, Join: join})
		require.NoError(t, err)
		require.Equal(t, map[bool]int{false: 3, true: 1}[join], n.buffers(t, x, of.joint.Forward(x)))
	}
}
