package fn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/nn/internal/golden"
	"github.com/gokiln/kiln/tensor"
)

type ts = []*tensor.Tensor

// functions are those of the cases; those of activations are found by their names.
var functions = map[string]golden.Func{
	"selu with":      func(in ts) *tensor.Tensor { return fn.Selu(in[0], 0.7, 1.2) },
	"prelu one":      func(in ts) *tensor.Tensor { return fn.PRelu(in[0], in[1]) },
	"prelu channels": func(in ts) *tensor.Tensor { return fn.PRelu(in[0], in[1]) },
	"prelu vector":   func(in ts) *tensor.Tensor { return fn.PRelu(in[0], in[1]) },

	"group norm":      func(in ts) *tensor.Tensor { return fn.GroupNorm(in[0], 2, in[1], in[2], 1e-5) },
	"group norm bare": func(in ts) *tensor.Tensor { return fn.GroupNorm(in[0], 2, nil, nil, 1e-3) },
	"instance norm":   func(in ts) *tensor.Tensor { return fn.InstanceNorm(in[0], in[1], in[2], 1e-5) },
	"batch norm":      func(in ts) *tensor.Tensor { return batchNorm(in[0], in[1], in[2], 1e-5) },
	"batch norm bare": func(in ts) *tensor.Tensor { return batchNorm(in[0], nil, nil, 1e-3) },
	"batch norm running": func(in ts) *tensor.Tensor {
		return fn.BatchNorm(in[0], in[1].Detach(), in[2].Detach(), in[3], in[4], 1e-5)
	},
	"local response norm":      func(in ts) *tensor.Tensor { return fn.LocalResponseNorm(in[0], 3, 0.5, 0.75, 1.5) },
	"local response norm even": func(in ts) *tensor.Tensor { return fn.LocalResponseNorm(in[0], 4, 0.2, 0.75, 1) },
	"normalize":                func(in ts) *tensor.Tensor { return fn.Normalize(in[0], 2, 1, 1e-12) },
	"normalize 1":              func(in ts) *tensor.Tensor { return fn.Normalize(in[0], 1, 0, 1e-12) },
	"normalize 3":              func(in ts) *tensor.Tensor { return fn.Normalize(in[0], 3, -1, 1e-12) },
	"normalize zero":           func(in ts) *tensor.Tensor { return fn.Normalize(in[0], 2, 1, 0.1) },
	"cosine":                   func(in ts) *tensor.Tensor { return fn.CosineSimilarity(in[0], in[1], 1, 1e-8) },
	"cosine first":             func(in ts) *tensor.Tensor { return fn.CosineSimilarity(in[0], in[1], 0, 0.5) },

	"pixel shuffle":      func(in ts) *tensor.Tensor { return fn.PixelShuffle(in[0], 2) },
	"pixel unshuffle":    func(in ts) *tensor.Tensor { return fn.PixelUnshuffle(in[0], 2) },
	"pixel shuffle bare": func(in ts) *tensor.Tensor { return fn.PixelShuffle(in[0], 3) },
	"channel shuffle":    func(in ts) *tensor.Tensor { return fn.ChannelShuffle(in[0], 3) },
}

func batchNorm(x, weight, bias *tensor.Tensor, eps float64) *tensor.Tensor {
	mean, variance := fn.BatchStats(x)
	return fn.BatchNorm(x, mean.Cast(x.DType()), variance.Cast(x.DType()), weight, bias, eps)
}

// activations are the names of the cases.
var activations = []string{"gelu", "gelu_new", "quick_gelu", "relu", "relu2", "relu6", "silu", "sigmoid", "hard_sigmoid", "tanh",
	"mish", "hard_swish", "softplus", "softsign", "log_sigmoid", "elu", "elu(0.5)", "celu", "celu(2)", "selu", "leaky_relu",
	"leaky_relu(0.2)", "linear", "swiglu", "geglu", "reglu"}

// Values and gradients are those of PyTorch.
func TestGolden(t *testing.T) {
	for _, name := range activations {
		a, err := fn.ParseActivation(name)
		require.NoError(t, err)
		require.Equal(t, name, a.String())
		functions["act "+name] = func(in ts) *tensor.Tensor { return a.Apply(in[0]) }
	}
	golden.Run(t, open(t), "testdata/golden.json", functions, map[string]float64{"act hard_sigmoid": 1e-8}) // PyTorch's sixth is a float32
}

func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}
