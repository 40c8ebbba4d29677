package nn_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/safetensors"
)

func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// net has what names are made of: fields, tags, slices, maps, interfaces, embedded structs, a shared
// parameter.
type net struct {
	Embed  *nn.Embedding `nn:"wte"`
	Blocks []*block
	More   map[string]nn.Layer
	common `nn:",inline"`
	Head   *nn.Linear
	Note   string
	Memo   *nn.Linear `nn:"-"`
}

type block struct {
	InProj *nn.Linear
	QKV    nn.Layer
	Drop   nn.Dropout
}

type common struct{ Scale *nn.Param }

func newNet() *net {
	n := &net{
		Embed:  nn.NewEmbedding(5, 4),
		Blocks: []*block{{InProj: nn.NewLinear(4, 3), QKV: nn.NewLinearNoBias(3, 6)}, {InProj: nn.NewLinear(4, 3)}},
		More:   map[string]nn.Layer{"b": nn.NewLinearNoBias(2, 2), "a": nn.NewLinearNoBias(2, 2)},
		common: common{Scale: nn.NewBuffer(nn.Constant(2), 3)},
		Memo:   nn.NewLinear(9, 9),
	}
	n.Head = &nn.Linear{Weight: n.Embed.Weight}
	return n
}

func TestList(t *testing.T) {
	list, err := nn.List(newNet())
	require.NoError(t, err)
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{
		"wte.weight", "blocks.0.in_proj.weight", "blocks.0.in_proj.bias", "blocks.0.qkv.weight",
		"blocks.1.in_proj.weight", "blocks.1.in_proj.bias", "more.a.weight", "more.b.weight", "scale",
	}, names)
	require.Equal(t, []string{"head.weight"}, list[0].Aliases)
	n, err := nn.CountParams(newNet())
	require.NoError(t, err)
	require.Equal(t, 20+12+3+18+12+3+4+4, n)
}

func TestListFaults(t *testing.T) {
	type ring struct {
		W    *nn.Param
		Next any
	}
	r := &ring{W: nn.NewParam(nn.Zeros, 1)}
	r.Next = r
	type inner struct{ W *nn.Param }
	p := func() *nn.Param { return nn.NewParam(nn.Zeros, 1) }
	for _, c := range []struct {
		name, says string
		m          any
	}{
		{"hidden", "field w of", &struct{ w *nn.Linear }{nn.NewLinear(1, 1)}},
		{"hidden in a slice", "field w of", &struct{ w []inner }{[]inner{{p()}}}},
		{"twice", `two parameters have the name "weight"`, &struct {
			A *nn.Param `nn:"weight"`
			B *nn.Param `nn:"weight"`
		}{p(), p()}},
		{"ring", `"next" is a part of itself`, r},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := nn.List(c.m)
			require.ErrorIs(t, err, nn.ErrStruct)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestInitAndLoad(t *testing.T) {
	d := open(t)
	n := newNet()
	x := tensor.Ones(d, tensor.F32, 2, 4)
	require.ErrorIs(t, n.Blocks[0].InProj.Forward(x).Err(), nn.ErrNoValue)
	require.ErrorContains(t, n.Blocks[0].InProj.Forward(x).Err(), "nn.Init or nn.Load")
	require.NoError(t, nn.Init(n, nn.On{Device: d}))
	require.NoError(t, n.Blocks[0].InProj.Forward(x).Err())

	path := filepath.Join(t.TempDir(), "net.safetensors")
	require.NoError(t, nn.Save(path, n, map[string]string{"kind": "test"}))
	set, err := safetensors.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })

	m := newNet()
	report, err := nn.Load(m, nn.File(set), nn.LoadOptions{On: nn.On{Device: d, DType: tensor.F64}})
	require.NoError(t, err)
	require.Empty(t, report.Missing)
	require.Equal(t, tensor.F64, m.Head.Weight.Tensor().DType())
	requireSame(t, n.Head.Weight.Tensor().Cast(tensor.F64), m.Embed.Weight.Tensor())
	requireSame(t, n.Scale.Tensor().Cast(tensor.F64), m.Scale.Tensor())

	// Values go to the memory that there is: whoever has the tensor sees them.
	w := m.Head.Weight.Tensor()
	_, err = nn.Load(m, nn.Memory{"model.wte.weight": tensor.Ones(d, tensor.F32, 5, 4)}, nn.LoadOptions{Prefix: "model", Lenient: true})
	require.NoError(t, err)
	requireSame(t, tensor.Ones(d, tensor.F64, 5, 4), w)
	require.Same(t, w, m.Head.Weight.Tensor())
}

// Sizes that no layer has are told with the parameter's name; a layer without features is one.
func TestInitSizes(t *testing.T) {
	d := open(t)
	err := nn.Init(nn.NewLinear(-1, 2), nn.On{Device: d})
	require.ErrorIs(t, err, tensor.ErrShape)
	require.ErrorContains(t, err, "init weight: ")
	require.ErrorContains(t, err, "negative")
	l := nn.NewLinear(0, 2)
	require.NoError(t, nn.Init(l, nn.On{Device: d}))
	require.NoError(t, l.Weight.Tensor().Err())
}

// A norm of a weight does not leave an adapter out in silence.
func TestNormsOfAdaptedLayers(t *testing.T) {
	d := open(t)
	l := nn.NewLinear(2, 2)
	n, err := nn.Adapt(l, nn.LoRAOptions{Rank: 1}, nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, m := range []nn.Layer{nn.NewWeightNorm(l), nn.NewSpectralNorm(l)} {
		require.NoError(t, nn.Init(m, nn.On{Device: d}))
		err := m.Forward(tensor.Ones(d, tensor.F32, 1, 2)).Err()
		require.ErrorIs(t, err, tensor.ErrArgument)
		require.ErrorContains(t, err, "nn.Merge")
	}
}

func TestLoadFaults(t *testing.T) {
	d := open(t)
	on := nn.On{Device: d}
	state := nn.Memory{"h.weight": tensor.Ones(d, tensor.F32, 2, 3), "extra": tensor.Ones(d, tensor.F32, 1)}
	l := nn.NewLinear(3, 2)
	rename := func(name string) string { return "h." + name }

	report, err := nn.Load(l, state, nn.LoadOptions{On: on, Rename: rename})
	require.ErrorIs(t, err, nn.ErrNames)
	require.ErrorContains(t, err, "missing: bias; unexpected: extra")
	require.Equal(t, &nn.Report{Missing: []string{"bias"}, Unexpected: []string{"extra"}}, report)
	require.False(t, l.Weight.HasValue())

	_, err = nn.Load(l, state, nn.LoadOptions{On: on, Rename: rename, Lenient: true})
	require.NoError(t, err)
	require.True(t, l.Weight.HasValue())

	_, err = nn.Load(nn.NewLinearNoBias(4, 2), state, nn.LoadOptions{On: on, Rename: rename, Lenient: true})
	require.ErrorIs(t, err, tensor.ErrShape)
	require.ErrorContains(t, err, `weight from "h.weight"`)
	require.ErrorContains(t, err, "[2, 4]")

	_, err = nn.Load(nn.NewLinear(3, 2), state, nn.LoadOptions{Lenient: true, Rename: rename})
	require.ErrorContains(t, err, "no device")
}

func TestFrozen(t *testing.T) {
	d := open(t)
	l := nn.NewLinear(3, 2)
	require.NoError(t, nn.Init(l, nn.On{Device: d}))
	grads := func() *tensor.Gradients {
		x := tensor.NewVar(tensor.Ones(d, tensor.F32, 1, 3))
		g, err := l.Forward(x.Tensor()).Sum().Backward()
		require.NoError(t, err)
		require.NotNil(t, g.Of(x.Tensor()))
		return g
	}
	require.NotNil(t, grads().Of(l.Weight.Tensor()))
	require.NoError(t, nn.SetFrozen(l, true))
	vars, err := nn.Trainable(l)
	require.NoError(t, err)
	require.Empty(t, vars)
	require.Nil(t, grads().Of(l.Weight.Tensor()))
	require.NoError(t, nn.SetFrozen(l, false))
	require.NotNil(t, grads().Of(l.Weight.Tensor()))
}

func TestDropout(t *testing.T) {
	d := open(t)
	m := &struct{ Drop nn.Dropout }{nn.Dropout{P: 0.25}}
	x := tensor.Ones(d, tensor.F32, 4096)
	require.Same(t, x, m.Drop.Forward(x))
	require.NoError(t, nn.SetTraining(m, true))
	y, err := m.Drop.Forward(x).Float64s()
	require.NoError(t, err)
	zero := 0
	for _, v := range y {
		if v == 0 {
			zero++
		} else {
			require.InDelta(t, 4.0/3, v, 1e-6)
		}
	}
	require.InDelta(t, 1024, zero, 5*math.Sqrt(4096*0.25*0.75))
	require.ErrorIs(t, (&nn.Dropout{P: 1}).Forward(x).Err(), nil)
	bad := &nn.Dropout{P: 1}
	bad.SetTraining(true)
	require.ErrorIs(t, bad.Forward(x).Err(), tensor.ErrArgument)
}

func TestInitializers(t *testing.T) {
	d := open(t)
	d.SetSeed(1)
	draw := func(init nn.Initializer, shape ...int) []float64 {
		x, err := init(d, tensor.F32, shape).Float64s()
		require.NoError(t, err)
		return x
	}
	moments := func(x []float64) (mean, std, low, high float64) {
		low, high = math.Inf(1), math.Inf(-1)
		for _, v := range x {
			mean, low, high = mean+v/float64(len(x)), min(low, v), max(high, v)
		}
		for _, v := range x {
			std += (v - mean) * (v - mean) / float64(len(x))
		}
		return mean, math.Sqrt(std), low, high
	}
	for _, c := range []struct {
		name            string
		init            nn.Initializer
		mean, std, most float64
	}{
		{"normal", nn.Normal(1, 2), 1, 2, 20},
		{"uniform", nn.Uniform(-1, 3), 1, 4 / math.Sqrt(12), 3},
		{"He", nn.Scaled(nn.FanIn, nn.GainReLU, false), 0, math.Sqrt2 / 16, 1},
		{"He, out, uniform", nn.Scaled(nn.FanOut, nn.GainReLU, true), 0, math.Sqrt2 / 16, math.Sqrt2 / 16 * math.Sqrt(3)},
		{"Glorot", nn.Scaled(nn.FanMean, 1, true), 0, 1.0 / 16, math.Sqrt(3) / 16},
		{"truncated", nn.TruncatedNormal(1, 2, -1, 3), 1, 2 * 0.53956, 3},
		{"constant", nn.Constant(3), 3, 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			mean, std, low, high := moments(draw(c.init, 256, 256))
			require.InDelta(t, c.mean, mean, 5*c.std/256+1e-9)
			require.InDelta(t, c.std, std, 5*c.std/256)
			require.LessOrEqual(t, high, c.most*1.000001)
			require.GreaterOrEqual(t, low, 2*c.mean-c.most*1.000001-c.std*8)
		})
	}
	for _, shape := range [][]int{{4, 6}, {6, 4}, {4, 2, 3}} {
		q, err := nn.Orthogonal(2)(d, tensor.F64, shape).Reshape(shape[0], -1).Float64s()
		require.NoError(t, err)
		rows := shape[0]
		cols := len(q) / rows
		at := func(i, k int) float64 { return q[i*cols+k] }
		few, many := rows, cols
		if rows > cols {
			few, many = cols, rows
			at = func(i, k int) float64 { return q[k*cols+i] }
		}
		for i := range few {
			for j := range few {
				dot := 0.0
				for k := range many {
					dot += at(i, k) * at(j, k)
				}
				want := 0.0
				if i == j {
					want = 4
				}
				require.InDelta(t, want, dot, 1e-9)
			}
		}
	}
	require.ErrorIs(t, nn.Scaled(nn.FanIn, 1, true)(d, tensor.F32, tensor.Shape{3}).Err(), tensor.ErrRank)
}

func requireSame(t *testing.T, want, got *tensor.Tensor) {
	t.Helper()
	a, err := want.Float64s()
	require.NoError(t, err)
	b, err := got.Float64s()
	require.NoError(t, err)
	require.Equal(t, a, b)
}

// A parameter that is wide keeps 32 bits in a network of fewer, and has 64 in one of these.
func TestWide(t *testing.T) {
	d := open(t)
	net := func() *struct{ A, B, C *nn.Param } {
		return &struct{ A, B, C *nn.Param }{
			nn.NewParam(nn.Constant(0.1), 2).Wide(), nn.NewParam(nn.Constant(0.1), 2),
			nn.NewBuffer(nn.Constant(0.1), 2).Wide(),
		}
	}
	n := net()
	require.NoError(t, nn.Init(n, nn.On{Device: d, DType: tensor.BF16}))
	source := nn.Memory{}
	for name, p := range map[string]*nn.Param{"a": n.A, "b": n.B, "c": n.C} {
		source[name] = tensor.Ones(d, tensor.F32, 2).MulScalar(0.1)
		want := map[bool]tensor.DType{true: tensor.BF16, false: tensor.F32}[name == "b"]
		require.Equal(t, want, p.Tensor().DType(), name)
	}
	requireSame(t, source["a"], n.A.Tensor())
	m := net()
	_, err := nn.Load(m, source, nn.LoadOptions{On: nn.On{Device: d, DType: tensor.F16}})
	require.NoError(t, err)
	requireSame(t, source["a"], m.A.Tensor())
	requireSame(t, source["c"], m.C.Tensor())
	require.Equal(t, tensor.F16, m.B.Tensor().DType())
	require.NoError(t, nn.Move(m, nn.On{DType: tensor.BF16}))
	requireSame(t, source["a"], m.A.Tensor())
	require.NoError(t, nn.Move(m, nn.On{DType: tensor.F64}))
	require.Equal(t, tensor.F64, m.A.Tensor().DType())
}
