package tensor_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// Methods whose gradients are not compared with finite differences here. The result of constant
// ones does not change with the numbers, or operands with a gradient are an error; slopes of flat
// ones are 0 wherever there is one, and undone ones say that they have no gradient. Those that
// keep dimensions are others in another shape, and the gradient of To is compared in
// TestToEveryDevice.
var (
	constant = []string{"Detach", "EmptyLike", "FullLike", "NoGrad", "OnesLike", "RandLike", "RandnLike", "ScaledMatMul", "ZerosLike"}
	flat     = []string{"Ceil", "Floor", "Round", "RoundEven", "RoundTo", "Sign", "Trunc"}
	undone   = []string{"LU"}
	others   = []string{"In", "LogSumExpKeep", "MaxKeep", "MeanKeep", "MinKeep", "ProdKeep", "To"}
)

// TestNoGradientStops calls every method of tensors with variables: whatever gives
// floating-point numbers has a gradient, which finite differences are compared with, or is
// among the few that have none.
func TestNoGradientStops(t *testing.T) {
	d := open(t)
	formulas := selected(t, "grad_test.go", "scatter_test.go")
	tracked := 0
	for m := range reflect.TypeFor[*tensor.Tensor]().Methods() {
		t.Run(m.Name, func(t *testing.T) {
			for i, y := range resultsOf(t, d, m) {
				require.NoError(t, y.Err())
				signs := i > 0 && m.Name == "LU" || i == 0 && m.Name == "LogDet"
				if y.DType().IsFloat() && !signs {
					hasGradient(t, m.Name, y, formulas)
					tracked++
				}
			}
		})
	}
	require.Greater(t, tracked, 150)
}

// hasGradient checks what a method gave of a variable.
func hasGradient(t *testing.T, method string, y ten, formulas map[string]bool) {
	t.Helper()
	if slices.Contains(constant, method) {
		require.False(t, y.RequiresGrad(), "it has a gradient now")
		return
	}
	require.True(t, y.RequiresGrad(), "the gradient stops")
	g, err := y.Backward()
	if slices.Contains(undone, method) {
		require.ErrorIs(t, err, tensor.ErrNoGradient)
		return
	}
	require.NoError(t, err)
	if slices.Contains(flat, method) {
		return
	}
	require.Positive(t, g.Len())
	require.True(t, formulas[method] || slices.Contains(others, method), "there are no finite differences of it")
}

// resultsOf calls a method that returns tensors with a variable, a matrix that is positive
// definite, and with operands that fit it.
func resultsOf(t *testing.T, d *tensor.Device, m reflect.Method) []ten {
	t.Helper()
	return resultsWith(t, d, m, func(x ten) ten { return x })
}

// resultsWith is resultsOf with what is made of the variable.
func resultsWith(t *testing.T, d *tensor.Device, m reflect.Method, made func(x ten) ten) []ten {
	t.Helper()
	one, many := reflect.TypeFor[ten](), reflect.TypeFor[[]ten]()
	if m.Type.NumOut() == 0 || m.Type.Out(0) != one && m.Type.Out(0) != many {
		return nil
	}
	ids := tensor.Zeros(d, tensor.I64, 2, 2)
	x := made(tensor.NewVar(tensor.From(d, []float64{0.7, 0.2, 0.2, 0.6}, 2, 2)).Tensor())
	if f := special[m.Name]; f != nil {
		return f(x, ids)
	}
	in := []reflect.Value{reflect.ValueOf(x)}
	for i := 1; i < m.Type.NumIn(); i++ {
		switch p := m.Type.In(i); {
		case m.Type.IsVariadic() && i == m.Type.NumIn()-1: // none
		case p == one:
			in = append(in, reflect.ValueOf(x))
		case p.Kind() == reflect.Float64:
			in = append(in, reflect.ValueOf(0.5))
		case p.Kind() == reflect.Int:
			in = append(in, reflect.ValueOf(0))
		case p.Kind() == reflect.Bool:
			in = append(in, reflect.ValueOf(false))
		default:
			require.Failf(t, "unknown operands", "%s wants a row in special, for its %v", m.Name, p)
		}
	}
	var out []ten
	for _, y := range m.Func.Call(in) {
		out = append(out, y.Interface().(ten))
	}
	return out
}

// unlikeFloats is for methods that are for integers alone.
func unlikeFloats(_, _ ten) []ten { return nil }

// inScope closes nothing: the result has its operand's memory.
func inScope(x, _ ten) []ten { return []ten{x.In(tensor.OpenScope())} }

func both(x, y ten) []ten { return []ten{x, y} }

// special are calls of the methods that want operands of other kinds.
var special = map[string]func(x, ids ten) []ten{
	"And": unlikeFloats, "Bincount": unlikeFloats, "Not": unlikeFloats, "OneHot": unlikeFloats, "Or": unlikeFloats, "Shl": unlikeFloats, "Shr": unlikeFloats, "Xor": unlikeFloats,

	"In":              inScope,
	"AdaptiveAvgPool": func(x, _ ten) []ten { return []ten{x.AdaptiveAvgPool(1)} },
	"AdaptiveMaxPool": func(x, _ ten) []ten { return []ten{x.AdaptiveMaxPool(1)} },
	"AvgPool":         func(x, _ ten) []ten { return []ten{x.AvgPool(tensor.Pooling{Kernel: []int{2}})} },
	"BincountOf":      func(x, ids ten) []ten { return []ten{ids.BincountOf(x, 3)} },
	"BroadcastTo":     func(x, _ ten) []ten { return []ten{x.BroadcastTo(3, 2, 2)} },
	"Bucketize":       func(x, _ ten) []ten { return []ten{x.Bucketize(x.Get(0), false)} },
	"Cast":            func(x, _ ten) []ten { return []ten{x.Cast(tensor.F32), x.Cast(tensor.F8E5M2)} },
	"Chunk":           func(x, _ ten) []ten { return x.Chunk(2, 0) },
	"Col2Im":          func(x, _ ten) []ten { return []ten{x.Col2Im(tensor.Windows{Kernel: []int{1}}, 2)} },
	"ConvBias": func(x, _ ten) []ten {
		y := x.Unsqueeze(0)
		return both(y.ConvBias(y, x.Narrow(0, 0, 1).Narrow(1, 0, 1).Reshape(1), tensor.Convolution{}), y.Detach().ConvBias(y.Detach(), x.Narrow(0, 0, 1).Narrow(1, 0, 1).Reshape(1), tensor.Convolution{}))
	},
	"ConvTransposeBias": func(x, _ ten) []ten {
		y := x.Unsqueeze(0)
		return []ten{y.ConvTransposeBias(y.Transpose(0, 1), x.Narrow(0, 0, 1).Narrow(1, 0, 1).Reshape(1), tensor.Convolution{})}
	},
	"CumProdAs":     func(x, _ ten) []ten { return []ten{x.CumProdAs(tensor.F32, 0)} },
	"CumSumAs":      func(x, _ ten) []ten { return []ten{x.CumSumAs(tensor.F32, 0)} },
	"LayerNormOver": func(x, _ ten) []ten { return []ten{x.LayerNormOver(x.Shape(), x, x, 1)} },
	"PadAll":        func(x, _ ten) []ten { return []ten{x.PadAll([][2]int{{1, 0}, {0, 1}}, tensor.PadEdge, 0)} },
	"ProdAs":        func(x, _ ten) []ten { return []ten{x.ProdAs(tensor.F32)} },
	"RMSNormOver":   func(x, _ ten) []ten { return []ten{x.RMSNormOver(x.Shape(), x, 1)} },
	"SumAs":         func(x, _ ten) []ten { return []ten{x.SumAs(tensor.F32)} },
	"Conv":          func(x, _ ten) []ten { x = x.Unsqueeze(0); return []ten{x.Conv(x, tensor.Convolution{})} },
	"ConvTranspose": func(x, _ ten) []ten {
		x = x.Unsqueeze(0)
		return []ten{x.ConvTranspose(x.Transpose(0, 1), tensor.Convolution{})}
	},
	"Diagonal":  func(x, _ ten) []ten { return []ten{x.Diagonal(0, 0, 1)} },
	"Dot":       func(x, _ ten) []ten { return []ten{x.Get(0).Dot(x.Get(1))} },
	"Embedding": func(x, ids ten) []ten { return []ten{x.Embedding(ids)} },
	"Expand":    func(x, _ ten) []ten { return []ten{x.Expand(3, 2, 2)} },
	"Gather":    func(x, ids ten) []ten { return []ten{x.Gather(ids, 0)} },
	"GridSample": func(x, _ ten) []ten {
		x = x.Unsqueeze(0).Unsqueeze(0)
		return []ten{x.GridSample(x, tensor.Sampling{})}
	},
	"GroupedMatMul": func(x, ids ten) []ten {
		ends, w := ids.Get(0).Narrow(0, 0, 1), x.Unsqueeze(0)
		return both(x.GroupedMatMul(w.Detach(), ends), x.Detach().GroupedMatMul(w, ends))
	},
	"Histc":       func(x, _ ten) []ten { return []ten{x.Histc(3, 0, 1)} },
	"IRFFT":       func(x, _ ten) []ten { return []ten{x.IRFFT(2, 0)} },
	"Im2Col":      func(x, _ ten) []ten { return []ten{x.Im2Col(tensor.Windows{Kernel: []int{2}})} },
	"IndexAdd":    func(x, ids ten) []ten { return []ten{x.IndexAdd(ids.Get(0), x, 0)} },
	"IndexPut":    func(x, ids ten) []ten { return []ten{x.IndexPut([]ten{ids.Get(0)}, x, true)} },
	"IndexSelect": func(x, ids ten) []ten { return []ten{x.IndexSelect(ids.Get(0), 0)} },
	"LayerNorm": func(x, _ ten) []ten {
		return both(x.LayerNorm(0, x.Get(0), nil, 1), x.Detach().LayerNorm(0, nil, x.Get(0), 1))
	},
	"LayerNormResidual": func(x, _ ten) []ten {
		y, sum := x.LayerNormResidual(x.Detach(), 0, nil, nil, 1)
		z, both := x.Detach().LayerNormResidual(x, 0, x.Get(0), x.Get(1), 1)
		return []ten{y, sum, z, both}
	},
	"Linear": func(x, _ ten) []ten { return both(x.Linear(x, x.Get(0)), x.Detach().Linear(x.Detach(), x.Get(0))) },
	"LinearWith": func(x, _ ten) []ten {
		e := tensor.Epilogue{Act: tensor.Silu, Up: x}
		return both(x.LinearWith(x, tensor.Epilogue{Residual: x}), x.Detach().LinearWith(x.Detach(), e))
	},
	"MV":         func(x, _ ten) []ten { return []ten{x.MV(x.Get(0))} },
	"MaskedFill": func(x, ids ten) []ten { return []ten{x.MaskedFill(ids, 1)} },
	"MaskedScatter": func(x, ids ten) []ten {
		return both(x.MaskedScatter(ids, x.Detach()), x.Detach().MaskedScatter(ids, x))
	},
	"MaskedSelect":       func(x, ids ten) []ten { return []ten{x.MaskedSelect(ids.EqScalar(0))} },
	"MatMulAs":           func(x, _ ten) []ten { return []ten{x.MatMulAs(x, tensor.F64)} },
	"MaxPool":            func(x, _ ten) []ten { return []ten{x.MaxPool(tensor.Pooling{Kernel: []int{2}})} },
	"MaxPoolWithIndices": func(x, _ ten) []ten { return both(x.MaxPoolWithIndices(tensor.Pooling{Kernel: []int{2}})) },
	"MaxUnpool":          func(x, ids ten) []ten { return []ten{x.MaxUnpool(ids, 4)} },
	"Pad":                func(x, _ ten) []ten { return []ten{x.Pad(0, 1, 1, tensor.PadEdge, 0)} },
	"Permute":            func(x, _ ten) []ten { return []ten{x.Permute(1, 0)} },
	"RMSNorm":            func(x, _ ten) []ten { return both(x.RMSNorm(0, nil, 1), x.Detach().RMSNorm(0, x.Get(0), 1)) },
	"RMSNormResidual": func(x, _ ten) []ten {
		y, sum := x.RMSNormResidual(x.Detach(), 0, nil, 1)
		z, both := x.Detach().RMSNormResidual(x, 0, x.Get(0), 1)
		return []ten{y, sum, z, both}
	},
	"Reshape": func(x, _ ten) []ten { return []ten{x.Reshape(4)} },
	"ScaledMatMul": func(x, _ ten) []ten {
		x = x.Detach()
		y, one := x.Cast(tensor.F8E4M3), x.Narrow(0, 0, 1).Narrow(1, 0, 1).Cast(tensor.F32)
		return []ten{y.ScaledMatMul(y, one, one, tensor.F32)}
	},
	"Scatter": func(x, ids ten) []ten { return both(x.Scatter(ids, x.Detach(), 0), x.Detach().Scatter(ids, x, 0)) },
	"ScatterAdd": func(x, ids ten) []ten {
		return both(x.ScatterAdd(ids, x.Detach(), 0), x.Detach().ScatterAdd(ids, x, 0))
	},
	"ScatterReduce":   func(x, ids ten) []ten { return []ten{x.ScatterReduce(tensor.ScatterMax, ids, x, 0, true)} },
	"SliceAssign":     func(x, _ ten) []ten { return both(x.SliceAssign(x.Detach()), x.Detach().SliceAssign(x)) },
	"SolveTriangular": func(x, _ ten) []ten { return []ten{x.SolveTriangular(x, tensor.Triangle{})} },
	"Split":           func(x, _ ten) []ten { return x.Split([]int{1, 1}, 0) },
	"Step":            func(x, _ ten) []ten { return []ten{x.Step(0, 2)} },
	"Take":            func(x, ids ten) []ten { return []ten{x.Take(ids)} },
	"TensorDot":       func(x, _ ten) []ten { return []ten{x.TensorDot(x, []int{0}, []int{1})} },
	"To":              func(x, _ ten) []ten { return []ten{x.To(x.Device())} },
	"Unfold":          func(x, _ ten) []ten { return []ten{x.Unfold(0, 2, 1)} },
	"UpsampleNearest": func(x, _ ten) []ten { return []ten{x.UpsampleNearest(3)} },
	"Where":           func(x, ids ten) []ten { return both(ids.Where(x, x.Detach()), ids.Where(x.Detach(), x)) },
}
