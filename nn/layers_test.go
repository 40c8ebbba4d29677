package nn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

type conv = nn.ConvOptions

func list(n ...int) []int { return n }

func batchNorm(channels int, change func(*nn.BatchNorm)) *nn.BatchNorm {
	n := nn.NewBatchNorm(channels)
	change(n)
	return n
}

var layers = map[string]func() model{
	"layer_norm":         func() model { return model{net: nn.NewLayerNorm(5)} },
	"layer_norm 2":       func() model { return model{net: nn.NewLayerNorm(3, 5)} },
	"layer_norm no bias": func() model { return model{net: nn.NewLayerNormNoBias(5)} },
	"rms_norm":           func() model { return model{net: nn.NewRMSNorm(0, 5)} },
	"rms_norm eps":       func() model { return model{net: nn.NewRMSNorm(1e-3, 3, 5)} },
	"group_norm":         func() model { return model{net: nn.NewGroupNorm(2, 4)} },
	"group_norm 2":       func() model { return model{net: nn.NewGroupNorm(3, 6)} },
	"instance_norm":      func() model { return model{net: nn.NewInstanceNorm(3, nn.InstanceNormOptions{})} },
	"instance_norm affine": func() model {
		return model{net: nn.NewInstanceNorm(3, nn.InstanceNormOptions{Affine: true})}
	},
	"instance_norm tracked train": func() model {
		return model{net: nn.NewInstanceNorm(3, nn.InstanceNormOptions{Affine: true, Track: true})}
	},
	"instance_norm tracked": func() model {
		return model{net: nn.NewInstanceNorm(3, nn.InstanceNormOptions{Track: true})}
	},
	"batch_norm 1":       func() model { return model{net: nn.NewBatchNorm(3)} },
	"batch_norm 1 train": func() model { return model{net: nn.NewBatchNorm(3)} },
	"batch_norm 2 train": func() model {
		return model{net: batchNorm(3, func(n *nn.BatchNorm) { n.Momentum = 0.3 })}
	},
	"batch_norm 3 train plain": func() model {
		return model{net: batchNorm(2, func(n *nn.BatchNorm) { n.Weight, n.Bias = nil, nil })}
	},
	"batch_norm mean train": func() model {
		return model{net: batchNorm(2, func(n *nn.BatchNorm) { n.Momentum = -1 })}
	},
	"batch_norm untracked": func() model {
		return model{net: batchNorm(2, func(n *nn.BatchNorm) { n.RunningMean, n.RunningVar, n.Batches = nil, nil, nil })}
	},

	"conv1d": func() model { return model{net: nn.NewConv1d(2, 3, 3, conv{})} },
	"conv1d groups": func() model {
		return model{net: nn.NewConv1d(4, 4, 2, conv{Convolution: tensor.Convolution{Stride: list(2), Padding: list(1), Groups: 2}, NoBias: true})}
	},
	"conv1d same": func() model {
		return model{net: nn.NewConv1d(2, 2, 4, conv{Convolution: tensor.Convolution{Dilation: list(2)}, Same: true})}
	},
	"conv1d reflect":   func() model { return padded1(tensor.PadReflect) },
	"conv1d replicate": func() model { return padded1(tensor.PadEdge) },
	"conv1d circular":  func() model { return padded1(tensor.PadCircular) },
	"conv2d reflect":   func() model { return padded2(tensor.PadReflect) },
	"conv2d replicate": func() model { return padded2(tensor.PadEdge) },
	"conv2d circular":  func() model { return padded2(tensor.PadCircular) },
	"conv2d": func() model {
		return model{net: nn.NewConv(2, 3, list(3, 2), conv{Convolution: tensor.Convolution{Stride: list(2, 1), Padding: list(1, 0), Dilation: list(1, 2)}})}
	},
	"conv3d": func() model {
		return model{net: nn.NewConv3d(1, 2, 2, conv{Convolution: tensor.Convolution{Padding: list(1)}})}
	},
	"conv_transpose1d": func() model {
		return model{net: nn.NewConvTranspose1d(2, 3, 3, conv{Convolution: tensor.Convolution{Stride: list(2), Padding: list(1), OutputPadding: list(1)}})}
	},
	"conv_transpose2d": func() model {
		return model{net: nn.NewConvTranspose2d(4, 2, 2, conv{Convolution: tensor.Convolution{Stride: list(2), Groups: 2}})}
	},
	"conv_transpose3d": func() model { return model{net: nn.NewConvTranspose3d(1, 2, 2, conv{NoBias: true})} },

	"max_pool1d": func() model { return model{net: nn.NewMaxPool1d(2)} },
	"max_pool2d": func() model {
		return model{net: &nn.MaxPool{Pooling: tensor.Pooling{Kernel: list(3, 3), Stride: list(2), Padding: list(1)}}}
	},
	"max_pool2d dilated": func() model {
		return model{net: &nn.MaxPool{Pooling: tensor.Pooling{Kernel: list(2, 2), Stride: list(1), Dilation: list(2)}}}
	},
	"max_pool3d": func() model {
		return model{net: &nn.MaxPool{Pooling: tensor.Pooling{Kernel: list(2, 2, 2), Stride: list(1, 2, 2), Padding: list(1)}}}
	},
	"avg_pool1d": func() model {
		return model{net: &nn.AvgPool{Pooling: tensor.Pooling{Kernel: list(3), Stride: list(2), Padding: list(1)}}}
	},
	"avg_pool2d": func() model {
		return model{net: &nn.AvgPool{Pooling: tensor.Pooling{Kernel: list(2, 2), Padding: list(1), Inside: true}}}
	},
	"avg_pool3d": func() model {
		return model{net: &nn.AvgPool{Pooling: tensor.Pooling{Kernel: list(2, 2, 2), Stride: list(1), Padding: list(1)}}}
	},
	"avg_pool3d inside": func() model {
		return model{net: &nn.AvgPool{Pooling: tensor.Pooling{Kernel: list(2, 2, 2), Padding: list(1), Inside: true}}}
	},
	"adaptive_avg_pool1d": func() model { return model{net: &nn.AdaptiveAvgPool{Sizes: list(3)}} },
	"adaptive_avg_pool2d": func() model { return model{net: &nn.AdaptiveAvgPool{Sizes: list(2, 3)}} },
	"adaptive_avg_pool3d": func() model { return model{net: &nn.AdaptiveAvgPool{Sizes: list(2, 1, 3)}} },
	"adaptive_max_pool2d": func() model { return model{net: &nn.AdaptiveMaxPool{Sizes: list(2, 3)}} },
	"adaptive_max_pool3d": func() model { return model{net: &nn.AdaptiveMaxPool{Sizes: list(2, 1, 3)}} },

	"pad zero":      func() model { return model{net: &nn.Padding{Pads: [][2]int{{0, 1}, {1, 2}}}} },
	"pad constant":  func() model { return model{net: &nn.Padding{Pads: [][2]int{{1, 2}}, Value: 3.5}} },
	"pad reflect":   func() model { return model{net: &nn.Padding{Pads: [][2]int{{0, 1}, {1, 2}}, Mode: tensor.PadReflect}} },
	"pad replicate": func() model { return model{net: nn.NewPadding(3, 1, tensor.PadEdge)} },
	"pad circular":  func() model { return model{net: &nn.Padding{Pads: [][2]int{{1, 2}}, Mode: tensor.PadCircular}} },

	"upsample nearest 1": func() model { return model{net: &nn.Upsample{Scale: []float64{2}}} },
	"upsample nearest 3": func() model { return model{net: &nn.Upsample{Sizes: list(3, 2, 4)}} },
	"upsample linear": func() model {
		return model{net: &nn.Upsample{Scale: []float64{1.7}, Mode: nn.LinearInterpolation}}
	},
	"upsample bilinear": func() model {
		return model{net: &nn.Upsample{Scale: []float64{1.7, 2}, Mode: nn.LinearInterpolation}}
	},
	"upsample bilinear corners": func() model {
		return model{net: &nn.Upsample{Sizes: list(5, 4), Mode: nn.LinearInterpolation, AlignCorners: true}}
	},
	"upsample bicubic":   func() model { return model{net: &nn.Upsample{Sizes: list(5, 4), Mode: nn.Bicubic}} },
	"upsample trilinear": func() model { return model{net: &nn.Upsample{Sizes: list(3, 2, 5), Mode: nn.LinearInterpolation}} },
	"upsample trilinear by": func() model {
		return model{net: &nn.Upsample{Scale: []float64{1.5, 2, 1.3}, Mode: nn.LinearInterpolation}}
	},
	"pixel_shuffle":   func() model { return model{net: &nn.PixelShuffle{Factor: 2}} },
	"pixel_unshuffle": func() model { return model{net: &nn.PixelUnshuffle{Factor: 2}} },

	"prelu":          func() model { return model{net: nn.NewPReLU(1)} },
	"prelu channels": func() model { return model{net: nn.NewPReLU(3)} },
	"bilinear": func() model {
		b := nn.NewBilinear(2, 3, 4)
		return one(b, func(in []ten) ten { return b.Forward(in[0], in[1]) })
	},
	"sequential": func() model {
		inner := nn.NewSequential(nn.NewLinear(4, 2), &nn.Flatten{From: 0, To: -1})
		return model{net: nn.NewSequential(nn.NewLinear(3, 4)).Func((ten).Relu).Add(inner)}
	},
	"embedding_bag sum":         func() model { return bag(nn.BagSum) },
	"embedding_bag mean":        func() model { return bag(nn.BagMean) },
	"embedding_bag max":         func() model { return bag(nn.BagMax) },
	"embedding_bag sum padded":  func() model { return paddedBag(nn.BagSum) },
	"embedding_bag mean padded": func() model { return paddedBag(nn.BagMean) },
	"embedding_bag max padded":  func() model { return paddedBag(nn.BagMax) },
	"embedding_bag weighted": func() model {
		e := nn.NewEmbeddingBag(6, 3, nn.BagSum)
		return one(e, func(in []ten) ten { return e.Bags(in[0], in[1], in[2]) })
	},
}

func padded1(mode tensor.PadMode) model {
	return model{net: nn.NewConv1d(2, 2, 3, conv{Convolution: tensor.Convolution{Padding: list(2)}, Mode: mode})}
}

func padded2(mode tensor.PadMode) model {
	return model{net: nn.NewConv2d(1, 2, 3, conv{Convolution: tensor.Convolution{Padding: list(1, 2)}, Mode: mode})}
}

func bag(mode nn.BagMode) model {
	e := nn.NewEmbeddingBag(6, 3, mode)
	return one(e, func(in []ten) ten { return e.Bags(in[0], in[1], nil) })
}

func paddedBag(mode nn.BagMode) model {
	e := nn.NewEmbeddingBag(6, 3, mode)
	e.PaddingID = 2
	return model{net: e}
}

// TestLayers compares all layers with PyTorch's, in float64 and float32.
func TestLayers(t *testing.T) {
	d := open(t)
	cases, err := goldens()
	require.NoError(t, err)
	for name := range cases {
		require.Contains(t, layers, name)
	}
	for name, make := range layers {
		t.Run(name, func(t *testing.T) {
			check(t, d, name, tensor.F64, make())
			check(t, d, name, tensor.F32, make())
		})
	}
}

// TestLayersHalf: layers of float16 give float16, near what PyTorch gives in float64.
func TestLayersHalf(t *testing.T) {
	d := open(t)
	cases, err := goldens()
	require.NoError(t, err)
	for name, make := range layers {
		if strings.HasPrefix(name, "moe") {
			continue // where two scores are near each other, tokens go to another expert
		}
		t.Run(name, func(t *testing.T) {
			m, g := make(), cases[name]
			in := prepare(t, d, g, tensor.F16, m)
			for i, out := range m.results(in) {
				require.NoError(t, out.Err())
				require.Equal(t, tensor.F16, out.DType())
				near(t, "output", g.Outputs[i], out, 3e-2)
			}
		})
	}
}

func TestLayerFaults(t *testing.T) {
	d := open(t)
	ready := func(m any, training bool) nn.Layer {
		require.NoError(t, nn.Init(m, nn.On{Device: d}))
		require.NoError(t, nn.SetTraining(m, training))
		return m.(nn.Layer)
	}
	x := func(shape ...int) ten { return tensor.Ones(d, tensor.F32, shape...) }
	for _, c := range []struct {
		name  string
		layer nn.Layer
		x     ten
		kind  error
		says  string
	}{
		{"one number in a batch", ready(nn.NewBatchNorm(3), true), x(1, 3), tensor.ErrShape, "more than one"},
		{"channels", ready(nn.NewBatchNorm(3), false), x(2, 4), tensor.ErrShape, "[2, 4] has 4 channels, the layer 3"},
		{"eps", ready(batchNorm(3, func(n *nn.BatchNorm) { n.Eps = -1 }), false), x(2, 3), tensor.ErrArgument, "eps of -1"},
		{"rank", ready(nn.NewBatchNorm(3), false), x(3), tensor.ErrRank, "fewer than 2"},
		{"one position", ready(nn.NewInstanceNorm(3, nn.InstanceNormOptions{}), true), x(2, 3, 1), tensor.ErrShape, "one position"},
		{"groups", ready(nn.NewGroupNorm(2, 3), false), x(2, 3), tensor.ErrShape, "2 groups of the channels of [2, 3]"},
		{"convolution", ready(nn.NewConv2d(2, 3, 3, conv{}), false), x(2, 5, 5), tensor.ErrRank, "[2, 5, 5]"},
		{"same and stride", ready(nn.NewConv1d(2, 3, 3, conv{Convolution: tensor.Convolution{Stride: list(2)}, Same: true}), false), x(1, 2, 5), tensor.ErrArgument, "stride of 1"},
		{"transposed and mode", ready(nn.NewConvTranspose1d(2, 3, 3, conv{Mode: tensor.PadEdge}), false), x(1, 2, 5), tensor.ErrArgument, "no padding mode"},
		{"bag", ready(nn.NewEmbeddingBag(3, 2, nn.BagSum), false), x(3).Cast(tensor.I64), tensor.ErrRank, "want (bags, k)"},
		{"shuffle", &nn.PixelShuffle{Factor: 2}, x(1, 6, 2, 2), tensor.ErrShape, "6 channels"},
		{"unshuffle", &nn.PixelUnshuffle{Factor: 2}, x(1, 6, 3, 2), tensor.ErrShape, "[1, 6, 3, 2]"},
		{"bicubic", &nn.Upsample{Sizes: list(3), Mode: nn.Bicubic}, x(1, 6, 3), tensor.ErrArgument, "bicubic"},
		{"sizes", &nn.Upsample{}, x(1, 6, 3), tensor.ErrArgument, "want 1 to 3"},
		{"no value", nn.NewBatchNorm(3), x(2, 3), nn.ErrNoValue, ""},
		{"no value of a slope", nn.NewPReLU(3), x(2, 3), nn.ErrNoValue, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.layer.Forward(c.x).Err()
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.says)
		})
	}
	bad := tensor.Fail("before", tensor.ErrArgument)
	for name, make := range layers {
		m := make()
		if l, ok := m.net.(nn.Layer); ok && m.run == nil {
			require.NoError(t, nn.Init(m.net, nn.On{Device: d}), name)
			require.ErrorContains(t, l.Forward(bad).Err(), "before", name)
		}
	}
	b := ready2(t, d, nn.NewBilinear(2, 3, 4))
	require.ErrorIs(t, b.Forward(x(2, 2), x(3, 3)).Err(), tensor.ErrShape)
}

func ready2[T any](t *testing.T, d *tensor.Device, m T) T {
	t.Helper()
	require.NoError(t, nn.Init(m, nn.On{Device: d}))
	return m
}

// TestBatchNormHalf: statistics of numbers of 16 bits are taken in float32, where their squares and sums
// are not infinite.
func TestBatchNormHalf(t *testing.T) {
	d := open(t)
	n := ready2(t, d, nn.NewBatchNorm(1))
	n.SetTraining(true)
	x := tensor.From(d, []float32{30000, -30000, 60000, 0}, 4, 1)
	half := n.Forward(x.Cast(tensor.F16))
	require.Equal(t, tensor.F16, half.DType())
	variance, err := n.RunningVar.Tensor().Float64s()
	require.NoError(t, err)
	require.InEpsilon(t, 0.9+0.1*1.5e9, variance[0], 1e-5)
	m := ready2(t, d, nn.NewBatchNorm(1))
	m.SetTraining(true)
	want, err := m.Forward(x).Float64s()
	require.NoError(t, err)
	got, err := half.Float64s()
	require.NoError(t, err)
	require.InDeltaSlice(t, want, got, 1e-3)
}

// TestAbsorb: a convolution gives what it and the normalisation behind it gave.
func TestAbsorb(t *testing.T) {
	d := open(t)
	for _, o := range []conv{{}, {NoBias: true}, {Convolution: tensor.Convolution{Groups: 2}}} {
		m := ready2(t, d, &struct {
			Conv *nn.Conv
			Norm *nn.BatchNorm
		}{nn.NewConv2d(4, 6, 2, o), nn.NewBatchNorm(6)})
		require.NoError(t, m.Norm.RunningMean.Set(tensor.Randn(d, tensor.F32, 0, 1, 6)))
		require.NoError(t, m.Norm.RunningVar.Set(tensor.Rand(d, tensor.F32, 1, 2, 6)))
		require.NoError(t, m.Norm.Weight.Set(tensor.Rand(d, tensor.F32, 1, 2, 6)))
		require.NoError(t, m.Norm.Bias.Set(tensor.Randn(d, tensor.F32, 0, 1, 6)))
		x := tensor.Randn(d, tensor.F32, 0, 1, 2, 4, 3, 3)
		want, err := m.Norm.Forward(m.Conv.Forward(x)).Float64s()
		require.NoError(t, err)
		require.NoError(t, m.Conv.Absorb(m.Norm))
		got, err := m.Conv.Forward(x).Float64s()
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-5)
	}
	require.ErrorIs(t, nn.NewConv2d(1, 1, 1, conv{}).Absorb(nn.NewBatchNorm(1)), nn.ErrNoValue)
	require.ErrorIs(t, nn.NewConv2d(1, 1, 1, conv{}).Absorb(&nn.BatchNorm{}), tensor.ErrArgument)
}

func TestSequential(t *testing.T) {
	d := open(t)
	s := nn.NewSequential(nn.Identity{}, nn.NewLinear(2, 3))
	mode := &nn.ModeFunc{F: func(x ten, training bool) ten {
		if training {
			return x.MulScalar(2)
		}
		return x
	}}
	s.Add(mode, &nn.Unflatten{Dim: -1, Sizes: list(3, tensor.Inferred)})
	ready2(t, d, s)
	all := s.ForwardAll(tensor.Ones(d, tensor.F32, 4, 2))
	require.Len(t, all, 4)
	require.NoError(t, all[3].Err())
	require.Equal(t, tensor.Shape{4, 3, 1}, all[3].Shape())
	require.Same(t, all[1], all[2])
	require.NoError(t, nn.SetTraining(s, true))
	requireSame(t, all[1].MulScalar(2), s.ForwardAll(tensor.Ones(d, tensor.F32, 4, 2))[2])
	require.ErrorIs(t, (&nn.Unflatten{Dim: 2}).Forward(all[0]).Err(), tensor.ErrDim)
}
