package nn_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/tensor"
)

// stop is a function or a layer whose floating-point operands of these shapes all have gradients.
type stop struct {
	net    any // a layer with parameters, nil for none
	shapes [][]int
	f      func(d *tensor.Device, in []ten) ten // nil for the layer's Forward
}

// of is a stop of a function.
func of(f func(in []ten) ten, shapes ...[]int) stop {
	return stop{shapes: shapes, f: func(_ *tensor.Device, in []ten) ten { return f(in) }}
}

// on is of with the device, for operands of integers.
func on(f func(d *tensor.Device, in []ten) ten, shapes ...[]int) stop {
	return stop{shapes: shapes, f: f}
}

// layer is a stop of a layer.
func layer(net any, shapes ...[]int) stop { return stop{net: net, shapes: shapes} }

// noGradients are functions without a gradient: Sample gives indices, and caches copy what is
// appended without its gradient.
var noGradients = []string{
	"fn.Sample",
	"attention.Cache.Append", "attention.Cache.AppendRotated", "attention.Cache.AttendStep",
	"attention.Rotating.Append", "attention.Rotating.AppendRotated", "attention.Rotating.AttendStep",
	"attention.Paged.AttendStep",
}

func unary(f func(ten) ten, shape ...int) stop {
	return of(func(in []ten) ten { return f(in[0]) }, shape)
}

func binary(f func(x, y ten) ten) stop {
	return of(func(in []ten) ten { return f(in[0], in[1]) }, list(3, 4), list(3, 4))
}

// classes are targets of three rows.
func classes(d *tensor.Device) ten { return tensor.From(d, []int64{1, 0, 3}) }

// signs are 1 and -1, for three pairs.
func signs(like ten) ten { return tensor.From(like.Device(), []float64{1, -1, 1}).Cast(like.DType()) }

var silu = fn.Activation{Kind: fn.KindSilu}

// keysOf are keys and values, which have no gradient, for queries.
func keysOf(q ten) (k, v ten) { return q.RandLike(0, 1).Detach(), q.RandLike(0, 1).Detach() }

// stops are the functions of the packages under nn, and the layers.
var stops = map[string]stop{
	"fn.Activation.Apply":   unary(silu.Apply, 3, 4),
	"fn.Activation.Forward": unary(silu.Forward, 3, 4),
	"fn.BatchNorm": of(func(in []ten) ten { return fn.BatchNorm(in[0], in[1], in[2], in[3], in[4], 1e-3) },
		list(5, 3), list(3), list(3), list(3), list(3)),
	"fn.BatchStats":         unary(func(x ten) ten { m, v := fn.BatchStats(x); return m.Add(v.Sqr()) }, 5, 3),
	"fn.Celu":               unary(func(x ten) ten { return fn.Celu(x, 2) }, 3, 4),
	"fn.ChannelShuffle":     unary(func(x ten) ten { return fn.ChannelShuffle(x, 2) }, 2, 4, 3),
	"fn.CosineSimilarity":   binary(func(x, y ten) ten { return fn.CosineSimilarity(x, y, 1, 1e-8) }),
	"fn.Dropout":            unary(func(x ten) ten { return fn.Dropout(x, 0.3) }, 8, 8),
	"fn.GeGLU":              unary(fn.GeGLU, 3, 4),
	"fn.GroupNorm":          of(func(in []ten) ten { return fn.GroupNorm(in[0], 2, in[1], in[2], 1e-3) }, list(2, 4, 3), list(4), list(4)),
	"fn.GumbelSoftmax":      unary(func(x ten) ten { return fn.GumbelSoftmax(x, 0.7, true, 1) }, 3, 4),
	"fn.HardSigmoid":        unary(fn.HardSigmoid, 3, 4),
	"fn.HardSwish":          unary(fn.HardSwish, 3, 4),
	"fn.InstanceNorm":       of(func(in []ten) ten { return fn.InstanceNorm(in[0], in[1], in[2], 1e-3) }, list(2, 3, 5), list(3), list(3)),
	"fn.LocalResponseNorm":  unary(func(x ten) ten { return fn.LocalResponseNorm(x, 3, 0.5, 0.75, 1) }, 2, 4, 3),
	"fn.LogSigmoid":         unary(fn.LogSigmoid, 3, 4),
	"fn.NewGelu":            unary(fn.NewGelu, 3, 4),
	"fn.Normalize":          unary(func(x ten) ten { return fn.Normalize(x, 2, 1, 1e-12) }, 3, 4),
	"fn.PRelu":              of(func(in []ten) ten { return fn.PRelu(in[0].SubScalar(0.5), in[1]) }, list(2, 3, 4), list(3)),
	"fn.PixelShuffle":       unary(func(x ten) ten { return fn.PixelShuffle(x, 2) }, 1, 4, 2, 2),
	"fn.PixelUnshuffle":     unary(func(x ten) ten { return fn.PixelUnshuffle(x, 2) }, 1, 1, 4, 2),
	"fn.QuickGelu":          unary(fn.QuickGelu, 3, 4),
	"fn.ReGLU":              unary(fn.ReGLU, 3, 4),
	"fn.Relu2":              unary(fn.Relu2, 3, 4),
	"fn.Relu6":              unary(fn.Relu6, 3, 4),
	"fn.Rope":               of(func(in []ten) ten { return fn.Rope(in[0], in[1], in[2]) }, list(1, 2, 3, 4), list(3, 2), list(3, 2)),
	"fn.RopeInterleaved":    of(func(in []ten) ten { return fn.RopeInterleaved(in[0], in[1], in[2]) }, list(1, 2, 3, 4), list(3, 2), list(3, 2)),
	"fn.RopeInterleavedTHD": of(func(in []ten) ten { return fn.RopeInterleavedTHD(in[0], in[1], in[2]) }, list(1, 3, 2, 4), list(3, 2), list(3, 2)),
	"fn.RopeTHD":            of(func(in []ten) ten { return fn.RopeTHD(in[0], in[1], in[2]) }, list(1, 3, 2, 4), list(3, 2), list(3, 2)),
	"fn.Selu":               unary(func(x ten) ten { return fn.Selu(x, 1.5, 1.2) }, 3, 4),
	"fn.Softsign":           unary(fn.Softsign, 3, 4),
	"fn.Swiglu":             unary(fn.Swiglu, 3, 4),

	"loss.BCE": of(func(in []ten) ten {
		return loss.BCE(in[0], in[1], loss.BinaryOptions{Weight: in[2]})
	}, list(3, 4), list(3, 4), list(4)),
	"loss.BCEWithLogits": of(func(in []ten) ten {
		return loss.BCEWithLogits(in[0], in[1], loss.BinaryOptions{Weight: in[2], PosWeight: in[3]})
	}, list(3, 4), list(3, 4), list(4), list(4)),
	"loss.CTC": on(func(d *tensor.Device, in []ten) ten {
		return loss.CTC(in[0].LogSoftmax(2), tensor.From(d, []int64{1, 2, 3, 1}, 2, 2), nil, nil, loss.CTCOptions{})
	}, list(5, 2, 4)),
	"loss.CosineEmbedding": of(func(in []ten) ten {
		return loss.CosineEmbedding(in[0], in[1], signs(in[0]), loss.MarginOptions{Margin: 0.1})
	}, list(3, 4), list(3, 4)),
	"loss.CrossEntropy": of(func(in []ten) ten {
		return loss.CrossEntropy(in[0], in[1], loss.CrossEntropyOptions{LabelSmoothing: 0.1})
	}, list(3, 4), list(3, 4)),
	"loss.CrossEntropy of classes": on(func(d *tensor.Device, in []ten) ten {
		return loss.CrossEntropy(in[0], classes(d), loss.CrossEntropyOptions{})
	}, list(3, 4)),
	"loss.Focal":          of(func(in []ten) ten { return loss.Focal(in[0], in[1], loss.FocalOptions{}) }, list(3, 4), list(3, 4)),
	"loss.GaussianNLL":    of(func(in []ten) ten { return loss.GaussianNLL(in[0], in[1], in[2], loss.GaussianOptions{}) }, list(3, 4), list(3, 4), list(3, 4)),
	"loss.Hinge":          of(func(in []ten) ten { return loss.Hinge(in[0], signs(in[0]), loss.MarginOptions{}) }, list(3)),
	"loss.HingeEmbedding": of(func(in []ten) ten { return loss.HingeEmbedding(in[0], signs(in[0]), loss.MarginOptions{}) }, list(3)),
	"loss.Huber":          binary(func(x, y ten) ten { return loss.Huber(x, y, loss.HuberOptions{}) }),
	"loss.KLDiv":          binary(func(x, y ten) ten { return loss.KLDiv(x, y, loss.KLDivOptions{}) }),
	"loss.L1":             binary(func(x, y ten) ten { return loss.L1(x, y, loss.Options{}) }),
	"loss.LinearCrossEntropy": on(func(d *tensor.Device, in []ten) ten {
		return loss.LinearCrossEntropy(in[0], in[1], in[2], classes(d), loss.CrossEntropyOptions{})
	}, list(3, 5), list(4, 5), list(4)),
	"loss.MSE": binary(func(x, y ten) ten { return loss.MSE(x, y, loss.Options{}) }),
	"loss.MarginRanking": of(func(in []ten) ten {
		return loss.MarginRanking(in[0], in[1], signs(in[0]), loss.MarginOptions{Margin: 2})
	}, list(3), list(3)),
	"loss.NLL": on(func(d *tensor.Device, in []ten) ten {
		return loss.NLL(in[0].LogSoftmax(1), classes(d), loss.ClassOptions{})
	}, list(3, 4)),
	"loss.PoissonNLL": binary(func(x, y ten) ten { return loss.PoissonNLL(x, y, loss.PoissonOptions{}) }),
	"loss.SmoothL1":   binary(func(x, y ten) ten { return loss.SmoothL1(x, y, loss.HuberOptions{}) }),
	"loss.Triplet": of(func(in []ten) ten {
		return loss.Triplet(in[0], in[1], in[2], loss.TripletOptions{Margin: 3})
	}, list(3, 4), list(3, 4), list(3, 4)),

	"attention.Cache.Attend": of(func(in []ten) ten {
		k, v := keysOf(in[0])
		return attention.NewCache(8).Attend(in[0], k, v, attention.Options{})
	}, list(2, 3, 4)),
	"attention.Paged.Attend": of(func(in []ten) ten {
		k, v := keysOf(in[0].Get(0))
		c, err := attention.NewPaged(k.Device(), k.DType(), attention.Pages{Count: 2, Tokens: 4, Heads: 2, KeySize: 4, ValueSize: 4})
		if err != nil {
			return tensor.Fail("paged", err)
		}
		s := c.Open()
		if err := s.Append(k, v); err != nil {
			return tensor.Fail("paged", err)
		}
		return c.Attend(in[0], []*attention.Sequence{s}, attention.Options{})
	}, list(1, 2, 3, 4)),
	"attention.Rotating.Attend": of(func(in []ten) ten {
		k, v := keysOf(in[0])
		return attention.NewRotating(3).Attend(in[0], k, v, attention.Options{})
	}, list(2, 3, 4)),
	"attention.SDPA": of(func(in []ten) ten {
		return attention.SDPA(in[0], in[1], in[2], attention.Options{Causal: true, Mask: in[3], ALiBi: in[4], Sinks: in[5], SoftCap: 5})
	}, list(2, 2, 3, 4), list(2, 2, 5, 4), list(2, 2, 5, 4), list(3, 5), list(2), list(2)),
	"attention.SDPA plain": of(func(in []ten) ten {
		return attention.SDPA(in[0], in[1], in[2], attention.Options{})
	}, list(2, 4, 3, 16), list(2, 2, 5, 16), list(2, 2, 5, 16)),
	"attention.SDPAWithLSE": of(func(in []ten) ten {
		out, lse := attention.SDPAWithLSE(in[0], in[1], in[2], attention.Options{})
		return out.Sum().Add(lse.Sqr().Sum())
	}, list(2, 2, 3, 4), list(2, 2, 5, 4), list(2, 2, 5, 4)),
	"attention.VarLen": of(func(in []ten) ten {
		return attention.VarLen(in[0], in[1], in[2], list(0, 2, 5), list(0, 3, 5), attention.Options{})
	}, list(5, 2, 4), list(5, 2, 4), list(5, 2, 4)),

	"nn.AdaptiveAvgPool": layer(&nn.AdaptiveAvgPool{Sizes: list(3)}, list(1, 2, 5)),
	"nn.AdaptiveMaxPool": layer(&nn.AdaptiveMaxPool{Sizes: list(3)}, list(1, 2, 5)),
	"nn.AvgPool":         layer(nn.NewAvgPool1d(2), list(1, 2, 4)),
	"nn.BatchNorm":       layer(nn.NewBatchNorm(3), list(5, 3)),
	"nn.Bilinear":        layer(nn.NewBilinear(2, 3, 4), list(5, 2), list(5, 3)),
	"nn.Conv":            layer(nn.NewConv2d(2, 3, 2, conv{}), list(1, 2, 4, 4)),
	"nn.ConvTranspose":   layer(nn.NewConvTranspose2d(2, 3, 2, conv{}), list(1, 2, 4, 4)),
	"nn.Dropout":         layer(&nn.Dropout{P: 0.3}, list(8, 8)),
	"nn.Embedding":       called(nn.NewEmbedding(5, 3), func(e *nn.Embedding, d *tensor.Device, _ []ten) ten { return e.Forward(classes(d)) }),
	"nn.EmbeddingBag": called(nn.NewEmbeddingBag(5, 3, nn.BagSum), func(e *nn.EmbeddingBag, d *tensor.Device, in []ten) ten {
		return e.Bags(classes(d), tensor.From(d, []int64{0, 2}), in[0])
	}, list(3)),
	"nn.Flatten":      layer(nn.NewFlatten(), list(2, 3, 4)),
	"nn.GatedMLP":     layer(nn.NewSwiGLU(4, 6), list(3, 4)),
	"nn.GroupNorm":    layer(nn.NewGroupNorm(2, 4), list(2, 4, 3)),
	"nn.Identity":     layer(nn.Identity{}, list(3)),
	"nn.InstanceNorm": layer(nn.NewInstanceNorm(3, nn.InstanceNormOptions{Affine: true}), list(2, 3, 4)),
	"nn.Joint": called(frozen(&three{A: nn.NewLinear(4, 3), B: nn.NewLinear(4, 5)}), func(n *three, _ *tensor.Device, in []ten) ten {
		n.joint = nn.NewJoint(n.A, n.B)
		if err := nn.Join(n); err != nil {
			return tensor.Fail("join", err)
		}
		all := n.joint.Forward(in[0])
		return all[0].Sqr().Sum().Add(all[1].Sum())
	}, list(2, 4)),
	"nn.LayerNorm.ForwardResidual": called(nn.NewLayerNorm(4), func(n *nn.LayerNorm, _ *tensor.Device, in []ten) ten {
		y, sum := n.ForwardResidual(in[0], in[1])
		return y.Mul(sum)
	}, list(3, 4), list(3, 4)),
	"nn.LayerNorm":  layer(nn.NewLayerNorm(4), list(3, 4)),
	"nn.Linear":     layer(nn.NewLinear(4, 3), list(5, 4)),
	"nn.MaxPool":    layer(nn.NewMaxPool1d(2), list(1, 2, 4)),
	"nn.MoE":        layer(nn.NewMoE(4, 6, 3, nn.MoEOptions{TopK: 3}), list(9, 4)),
	"nn.ModeFunc":   layer(&nn.ModeFunc{F: func(x ten, _ bool) ten { return x.Sqr() }}, list(3)),
	"nn.ModuleFunc": layer(nn.ModuleFunc((ten).Sqr), list(3)),
	"nn.MultiHeadAttention": called(nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{BiasKV: true, ZeroKV: true}), func(m *nn.MultiHeadAttention, _ *tensor.Device, in []ten) ten {
		y, _ := m.Attend(in[0], in[1], in[2], nn.Attend{Mask: in[3]})
		return y
	}, list(2, 3, 4), list(2, 5, 4), list(2, 5, 4), list(3, 5)),
	"nn.PReLU": called(nn.NewPReLU(3), func(p *nn.PReLU, _ *tensor.Device, in []ten) ten {
		return p.Forward(in[0].SubScalar(0.5))
	}, list(9, 3)),
	"nn.Padding":        layer(nn.NewPadding(1, 1, tensor.PadReflect), list(1, 2, 4)),
	"nn.PixelShuffle":   layer(&nn.PixelShuffle{Factor: 2}, list(1, 4, 2, 2)),
	"nn.PixelUnshuffle": layer(&nn.PixelUnshuffle{Factor: 2}, list(1, 1, 4, 2)),
	"nn.RMSNorm.ForwardResidual": called(nn.NewRMSNorm(1e-3, 4), func(n *nn.RMSNorm, _ *tensor.Device, in []ten) ten {
		y, sum := n.ForwardResidual(in[0], in[1])
		return y.Mul(sum)
	}, list(3, 4), list(3, 4)),
	"nn.RMSNorm": layer(nn.NewRMSNorm(1e-3, 4), list(3, 4)),
	"nn.Recurrent": called(nn.NewLSTM(3, 2, nn.RecurrentOptions{Layers: 2, Bidirectional: true, Proj: 1}), func(r *nn.LSTM, _ *tensor.Device, in []ten) ten {
		y, s := r.Run(in[0], nn.RecurrentState{H: in[1], C: in[2]})
		return y.Sqr().Sum().Add(s.H.Sum()).Add(s.C.Sum())
	}, list(2, 3, 3), list(4, 2, 1), list(4, 2, 2)),
	"nn.Recurrent GRU": called(nn.NewGRU(3, 2, nn.RecurrentOptions{}), func(r *nn.GRU, _ *tensor.Device, in []ten) ten {
		y, s := r.Run(in[0], nn.RecurrentState{H: in[1]})
		return y.Sqr().Sum().Add(s.H.Sum())
	}, list(2, 3, 3), list(1, 2, 2)),
	"nn.Sequential":              layer(nn.NewSequential(nn.NewLinear(4, 3), nn.NewLinear(3, 2)), list(5, 4)),
	"nn.SpectralNorm":            layer(nn.NewSpectralNorm(nn.NewLinear(4, 3)), list(5, 4)),
	"nn.TransformerEncoder":      layer(nn.NewTransformerEncoder(2, 4, 2, nn.TransformerOptions{Width: 8}), list(2, 3, 4)),
	"nn.TransformerEncoderLayer": layer(nn.NewTransformerEncoderLayer(4, 2, nn.TransformerOptions{Width: 8}), list(2, 3, 4)),
	"nn.TransformerDecoderLayer": called(nn.NewTransformerDecoderLayer(4, 2, nn.TransformerOptions{Width: 8}), func(l *nn.TransformerDecoderLayer, _ *tensor.Device, in []ten) ten {
		return l.Decode(in[0], in[1], nn.Attend{}, nn.Attend{})
	}, list(2, 3, 4), list(2, 5, 4)),
	"nn.Unflatten":  layer(&nn.Unflatten{Dim: 1, Sizes: list(2, 2)}, list(3, 4)),
	"nn.Upsample":   layer(&nn.Upsample{Scale: []float64{2}, Mode: nn.LinearInterpolation}, list(1, 2, 4)),
	"nn.WeightNorm": layer(nn.NewWeightNorm(nn.NewLinear(4, 3)), list(5, 4)),
}

// frozen is a network without variables.
func frozen[L any](net L) L {
	if err := nn.SetFrozen(net, true); err != nil {
		panic(err)
	}
	return net
}

// called is a stop of a layer that is called in another way than by Forward.
func called[L any](net L, f func(net L, d *tensor.Device, in []ten) ten, shapes ...[]int) stop {
	return stop{net, shapes, func(d *tensor.Device, in []ten) ten { return f(net, d, in) }}
}

// TestNoGradientStops demands, of every function of the packages under nn and of every layer, that
// each floating-point operand and parameter gets a gradient that is not 0: where all are variables,
// and where the operand is the only one.
func TestNoGradientStops(t *testing.T) {
	d := open(t)
	for name, s := range stops {
		for _, dt := range []tensor.DType{tensor.F64, tensor.F32} {
			t.Run(name+"/"+dt.String(), func(t *testing.T) {
				if s.net != nil {
					require.NoError(t, nn.Init(s.net, nn.On{Device: d}))
					require.NoError(t, nn.Move(s.net, nn.On{DType: dt}))
					require.NoError(t, nn.SetTraining(s.net, true))
				}
				for only := -1; only < len(s.shapes); only++ {
					s.check(t, d, dt, only)
				}
			})
		}
	}
}

// check makes one operand a variable, or all of them for -1.
func (s *stop) check(t *testing.T, d *tensor.Device, dt tensor.DType, only int) {
	t.Helper()
	var in []ten
	want := map[string]ten{}
	for i, shape := range s.shapes {
		x := tensor.Rand(d, dt, 0.2, 0.9, shape...)
		if only < 0 || i == only {
			x = tensor.NewVar(x).Tensor()
			want["operand "+string(rune('0'+i))] = x
		}
		in = append(in, x)
	}
	if s.net != nil {
		list, err := nn.List(s.net)
		require.NoError(t, err)
		for _, p := range list {
			if !p.IsBuffer() && !p.IsFrozen() {
				want["parameter "+p.Name] = p.Tensor()
			}
		}
	}
	var y ten
	if s.f != nil {
		y = s.f(d, in)
	} else if b, ok := s.net.(*nn.Bilinear); ok {
		y = b.Forward(in[0], in[1])
	} else {
		y = s.net.(nn.Layer).Forward(in[0])
	}
	require.NoError(t, y.Err())
	grads, err := y.Mul(tensor.Rand(d, dt, 0.5, 1, y.Shape()...)).Sum().Backward()
	require.NoError(t, err)
	for name, x := range want {
		g := grads.Of(x)
		require.NotNil(t, g, "%s has no gradient, only %d", name, only)
		most, err := g.Abs().Max().Float64s()
		require.NoError(t, err)
		require.Positive(t, most[0], "%s has a gradient of 0, only %d", name, only)
	}
}

// TestStopsHaveAll finds what has to be among the stops in the source: functions and methods that
// take a tensor and return one, and types with a method Forward.
func TestStopsHaveAll(t *testing.T) {
	found := 0
	for _, pkg := range []string{"fn", "loss", "attention", "."} {
		for _, name := range exported(t, pkg) {
			found++
			if _, ok := stops[name]; !ok {
				require.Contains(t, noGradients, name, "a row in stops is missing")
			}
		}
	}
	require.Greater(t, found, 80)
}

// exported are the functions of a package, and the methods of exported types, with tensors among
// their parameters and results, or of package nn the types that have a method Forward.
func exported(t *testing.T, pkg string) (names []string) {
	t.Helper()
	for _, d := range declarations(t, pkg) {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !f.Name.IsExported() {
			continue
		}
		switch {
		case pkg == "." && f.Recv != nil && f.Name.Name == "Forward":
			names = append(names, "nn."+receiver(f))
		case pkg == "." || !hasTensor(f.Type.Params) || !hasTensor(f.Type.Results):
		case f.Recv == nil:
			names = append(names, pkg+"."+f.Name.Name)
		case ast.IsExported(receiver(f)):
			names = append(names, pkg+"."+receiver(f)+"."+f.Name.Name)
		}
	}
	return names
}

// receiver is the name of the type of a method.
func receiver(f *ast.FuncDecl) string {
	typ := f.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if p, ok := typ.(*ast.IndexExpr); ok {
		typ = p.X
	}
	return typ.(*ast.Ident).Name
}

func declarations(t *testing.T, dir string) (list []ast.Decl) {
	t.Helper()
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		list = append(list, f.Decls...)
	}
	return list
}

// hasTensor reports whether one of the fields is a *tensor.Tensor, or several of them.
func hasTensor(fields *ast.FieldList) bool {
	if fields == nil {
		return false
	}
	for _, f := range fields.List {
		typ := f.Type
		switch list := typ.(type) {
		case *ast.Ellipsis:
			typ = list.Elt
		case *ast.ArrayType:
			typ = list.Elt
		}
		if p, ok := typ.(*ast.StarExpr); ok {
			if s, ok := p.X.(*ast.SelectorExpr); ok && s.Sel.Name == "Tensor" {
				return true
			}
		}
	}
	return false
}
