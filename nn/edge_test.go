package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

// A nil tensor is an error, not a panic, and not a nil result.
func TestNilInputs(t *testing.T) {
	d := open(t)
	for name, l := range map[string]nn.Layer{
		"batch norm": nn.NewBatchNorm(3), "group norm": nn.NewGroupNorm(1, 3), "prelu": nn.NewPReLU(3),
		"conv": nn.NewConv1d(1, 1, 1, nn.ConvOptions{}), "max pool": nn.NewMaxPool3d(2), "linear": nn.NewLinear(2, 2),
		"upsample": &nn.Upsample{Scale: []float64{2}}, "shuffle": &nn.PixelShuffle{Factor: 2}, "unshuffle": &nn.PixelUnshuffle{Factor: 2},
		"unflatten": &nn.Unflatten{Dim: 1, Sizes: []int{2, 2}}, "layer norm": nn.NewLayerNorm(3), "gru": nn.NewGRU(2, 2, nn.RecurrentOptions{}),
		"attention": nn.NewMultiHeadAttention(2, 1, nn.AttentionOptions{}), "moe": nn.NewMoE(2, 2, 2, nn.MoEOptions{TopK: 1}),
		"bag": nn.NewEmbeddingBag(2, 2, nn.BagSum), "swiglu": nn.NewSwiGLU(2, 2),
	} {
		require.NoError(t, nn.Init(l, nn.On{Device: d}), name)
		require.ErrorIs(t, l.Forward(nil).Err(), tensor.ErrArgument, name)
	}
	require.ErrorIs(t, nn.NewBilinear(1, 1, 1).Forward(nil, nil).Err(), tensor.ErrArgument)
}

// Numbers of 16 bits are rounded once: norms of channels have the results of float32.
func TestNormsRoundOnce(t *testing.T) {
	d := open(t)
	for _, dt := range []tensor.DType{tensor.F16, tensor.BF16} {
		x := tensor.Randn(d, dt, 0, 1, 3, 4, 50)
		for _, n := range []nn.Layer{nn.NewGroupNorm(2, 4), nn.NewInstanceNorm(4, nn.InstanceNormOptions{Affine: true}), nn.NewBatchNorm(4)} {
			require.NoError(t, nn.Init(n, nn.On{Device: d}))
			list, err := nn.List(n)
			require.NoError(t, err)
			for _, p := range list[:2] { // weight and bias
				require.NoError(t, p.Set(tensor.Rand(d, dt, 1, 2, 4).Cast(tensor.F32)))
			}
			want, err := n.Forward(x.Cast(tensor.F32)).Cast(dt).Float64s()
			require.NoError(t, err)
			require.NoError(t, nn.Move(n, nn.On{DType: dt}))
			got, err := n.Forward(x).Float64s()
			require.NoError(t, err)
			require.Equal(t, want, got, "%T of %s", n, dt)
		}
	}
}

// What is left is divided by 1 - p, not by that in 16 bits.
func TestDropoutScale(t *testing.T) {
	d := open(t)
	m := &nn.Dropout{P: 0.1}
	m.SetTraining(true)
	x := tensor.Ones(d, tensor.F32, 4096).MulScalar(9)
	y, err := m.Forward(x.Cast(tensor.BF16)).Float64s()
	require.NoError(t, err)
	for _, v := range y {
		require.Contains(t, []float64{0, 10}, v)
	}
}

// The nearest elements of a factor are those of PyTorch, which has no regard for the rounded size.
func TestNearestBy(t *testing.T) {
	d := open(t)
	x := tensor.Arange(d, float32(0), float32(10))
	for _, c := range []struct {
		scale float64
		want  []float64
	}{
		{0.35, []float64{0, 2, 5}},
		{0.6, []float64{0, 1, 3, 5, 6, 8}},
		{1.7, []float64{0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9}},
	} {
		y, err := (&nn.Upsample{Scale: []float64{c.scale}}).Forward(x.Reshape(1, 1, 10)).Float64s()
		require.NoError(t, err)
		require.Equal(t, c.want, y)
		many := x.Unsqueeze(1).Mul(x.AddScalar(1)).Reshape(1, 10, 1, 10).Expand(1, 10, 2, 10)
		z, err := (&nn.Upsample{Scale: []float64{c.scale, 1, c.scale}}).Forward(many).GetOn(2, 1).Float64s()
		require.NoError(t, err)
		for i, v := range z {
			n := len(c.want)
			require.Equal(t, c.want[i/n]*(c.want[i%n]+1), v)
		}
	}
}

// Queries that attend to nothing are 0, whether weights are asked for or not, and products of halfs
// that are too large for them are not infinite.
func TestAttentionWeights(t *testing.T) {
	d := open(t)
	m := nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{NoBias: true})
	require.NoError(t, nn.Init(m, nn.On{Device: d}))
	x := tensor.NewVar(tensor.Randn(d, tensor.F32, 0, 1, 2, 3, 4)).Tensor()
	keys := tensor.From(d, []uint8{0, 0, 0, 1, 0, 1}, 2, 3)
	want, _ := m.Attend(x, x, x, nn.Attend{Keys: keys})
	got, w := m.Attend(x, x, x, nn.Attend{Keys: keys, Weights: true})
	g, err := got.Sum().Add(w.Sum()).Backward()
	require.NoError(t, err)
	for _, y := range []*tensor.Tensor{got.Sub(want).Abs().LtScalar(1e-6), w.Get(0).EqScalar(0), g.Of(x).IsFinite()} {
		least, err := y.Cast(tensor.F32).Min().Float64s()
		require.NoError(t, err)
		require.Equal(t, []float64{1}, least)
	}
	large := tensor.Ones(d, tensor.F32, 1, 2, 4).MulScalar(300).Cast(tensor.F16)
	one := nn.NewMultiHeadAttention(4, 1, nn.AttentionOptions{NoBias: true})
	eye := tensor.Eye(d, tensor.F16, 4)
	one.InProjWeight = nn.ParamOf(tensor.Cat(0, eye, eye, eye))
	one.OutProj.Weight = nn.ParamOf(eye)
	_, w = one.Attend(large, large, large, nn.Attend{Weights: true}) // scores of 180000
	half, err := w.Float64s()
	require.NoError(t, err)
	require.Equal(t, []float64{0.5, 0.5, 0.5, 0.5}, half)
}

type hidden struct{ L *nn.Linear }

// Parameters of an embedded pointer to a struct that is not exported are found, and what SetTraining
// cannot reach is an error.
func TestReach(t *testing.T) {
	list, err := nn.List(&struct{ *hidden }{&hidden{nn.NewLinear(2, 2)}})
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, m := range []any{
		struct{ Drop nn.Dropout }{},
		&struct{ Drops map[string]nn.Dropout }{map[string]nn.Dropout{"a": {}}},
	} {
		require.ErrorIs(t, nn.SetTraining(m, true), nn.ErrStruct)
		require.ErrorContains(t, nn.SetTraining(m, true), "is a copy of a nn.Dropout")
	}
}
