package checkpoint_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tests/sim"
	"github.com/gokiln/kiln/tests/sim/devices"
)

func TestMain(m *testing.M) { sim.Main(m) }

// golden is the tensors of testdata/gen.py.
func golden(t testing.TB) *file.Set {
	t.Helper()
	raw, err := os.ReadFile("testdata/checkpoints.safetensors.gz")
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	raw, err = io.ReadAll(z)
	require.NoError(t, err)
	set, err := safetensors.Read(file.FromBytes("checkpoints.safetensors", raw))
	require.NoError(t, err)
	return set
}

// layers are the names of the golden layers.
func layers(set *file.Set) (list []string) {
	for name := range set.Metadata() {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func configOf(t testing.TB, set *file.Set, layer string) checkpoint.Config {
	t.Helper()
	c, err := checkpoint.ParseConfig([]byte(set.Metadata()[layer]))
	require.NoError(t, err, layer)
	return c
}

func load(t testing.TB, d *tensor.Device, set *file.Set, layer string) *checkpoint.Weight {
	t.Helper()
	w, err := checkpoint.Load(d, set, layer, configOf(t, set, layer))
	require.NoError(t, err, layer)
	return w
}

// wanted is the weight of a layer on a device, in the type that the reference computes in.
func wanted(t testing.TB, d *tensor.Device, set *file.Set, layer string) *tensor.Tensor {
	t.Helper()
	e, err := set.Get("want/" + layer)
	require.NoError(t, err)
	return tensor.Load(d, e)
}

// some returns the layers to test on a device: one of each kernel of codes, or all.
func some(d *tensor.Device, set *file.Set) []string {
	if devices.Everything(d) {
		return layers(set)
	}
	return []string{"awq", "fp8", "gptq.order3", "nf4.nested"}
}

func values(t testing.TB, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := x.Float64s()
	require.NoError(t, err)
	return list
}

// Weights have the bits of the references, in the type that these compute in, and their float32 is
// rounded once to other types.
func TestDequantize(t *testing.T) {
	set := golden(t)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		for _, layer := range some(d, set) {
			w, want := load(t, d, set, layer), wanted(t, d, set, layer)
			require.Equal(t, want.Shape(), w.Shape(), layer)
			require.Equal(t, d, w.Device())
			sameBits(t, layer, want, w.Dequantize(want.DType()))
			once := w.Dequantize(tensor.F32)
			for _, dt := range []tensor.DType{tensor.F16, tensor.BF16} {
				if devices.Everything(d) && d.Supports(dt) {
					sameBits(t, layer, once.Cast(dt), w.Dequantize(dt))
				}
			}
		}
	})
}

func sameBits(t testing.TB, name string, want, got *tensor.Tensor) {
	t.Helper()
	require.Equal(t, want.DType(), got.DType(), name)
	a, err := want.Bytes()
	require.NoError(t, err, name)
	b, err := got.Bytes()
	require.NoError(t, err, name)
	if !bytes.Equal(a, b) {
		x, y := values(t, want), values(t, got)
		for i := range x {
			if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
				t.Fatalf("%s: element %d of %v is %v, not %v", name, i, want.Shape(), y[i], x[i])
			}
		}
	}
}

// The scheme is found without a configuration, where tensors tell.
func TestRecognised(t *testing.T) {
	set := golden(t)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	for layer, c := range map[string]struct {
		config checkpoint.Config
		method checkpoint.Method
	}{
		"gptq2": {method: checkpoint.GPTQ}, "gptq3": {method: checkpoint.GPTQ},
		"gptq.order":   {checkpoint.Config{ZeroPointV2: true}, checkpoint.GPTQ},
		"gptq.noindex": {checkpoint.Config{Bits: 8}, checkpoint.GPTQ},
		"gptq.all":     {method: checkpoint.GPTQ},
		"packed4":      {method: checkpoint.CompressedTensors}, "packed8": {method: checkpoint.CompressedTensors},
		"awq": {method: checkpoint.AWQ}, "awq.all": {method: checkpoint.AWQ},
		"nf4": {method: checkpoint.BitsAndBytes}, "fp4": {method: checkpoint.BitsAndBytes},
		"fp8.wide": {method: checkpoint.FP8}, "fp8.rows": {method: checkpoint.FP8},
		"fp8.small": {checkpoint.Config{BlockSize: [2]int{16, 24}}, checkpoint.FP8},
		"fp8":       {checkpoint.Config{BlockSize: [2]int{128, 100}}, checkpoint.FP8}, // of 16 columns
	} {
		w, err := checkpoint.Load(d, set, layer, c.config)
		require.NoError(t, err, layer)
		require.Equal(t, c.method, w.Method(), layer)
		want := wanted(t, d, set, layer)
		sameBits(t, layer, want, w.Dequantize(want.DType()))
	}
}

// Rows are those of the whole weight.
func TestEmbedding(t *testing.T) {
	set := golden(t)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		list := []string{"gptq.order", "nf4.nested", "fp8"}
		if !devices.Everything(d) {
			list = list[:1]
		}
		for _, layer := range list {
			w, want := load(t, d, set, layer), wanted(t, d, set, layer)
			n := w.Shape()[0]
			rows := want.IndexSelect(tensor.From(d, []int64{3, 0, int64(n) - 1, 3}), 0)
			ids := tensor.From(d, []int32{3, 0, int32(n) - 1, 3}).Reshape(2, 2)
			got := w.Embedding(ids, want.DType())
			require.Equal(t, tensor.Shape{2, 2, w.Shape()[1]}, got.Shape(), layer)
			sameBits(t, layer, rows, got)
			none := w.Embedding(ids.Narrow(0, 0, 0), tensor.F32)
			require.Equal(t, tensor.Shape{0, 2, w.Shape()[1]}, none.Shape(), layer)
		}
	})
}

// roundings are how far a product may be from that in float64, in units of the sum of magnitudes.
var roundings = map[tensor.DType]float64{tensor.F32: 1e-6, tensor.F64: 1e-13, tensor.F16: 3 * 0x1p-11, tensor.BF16: 3 * 0x1p-8}

// Products are those with the dequantized weight, of few rows and many and of all types, as are
// their gradients with respect to activations.
func TestLinear(t *testing.T) {
	set := golden(t)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		types := []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64}
		if !devices.Everything(d) {
			types = types[:1]
		}
		types = slices.DeleteFunc(types, func(dt tensor.DType) bool { return !d.Supports(dt) })
		for _, layer := range some(d, set) {
			w := load(t, d, set, layer)
			dense := w.Dequantize(tensor.F32)
			n, k := w.Shape()[0], w.Shape()[1]
			for _, shape := range [][]int{{k}, {3, k}, {2, 5, k}, {0, k}} {
				x := tensor.Randn(d, tensor.F32, 0, 1, shape...)
				up := tensor.Randn(d, tensor.F32, 0, 1, append(slices.Clone(shape[:len(shape)-1]), n)...)
				want, back := products(t, x, up, func(x *tensor.Tensor) *tensor.Tensor { return x.Linear(dense, nil) })
				most := values(t, x.Abs().Linear(dense.Abs(), nil))
				least := values(t, up.Abs().MatMul(dense.Abs()))
				for _, dt := range types {
					got, grad := products(t, x.Cast(dt), up.Cast(dt), w.Linear)
					near(t, layer, dt, want, got, most)
					near(t, layer+", gradient", dt, back, grad, least)
				}
			}
		}
	})
}

// products returns y(x) and the gradient of x for that of y(x).
func products(t testing.TB, x, up *tensor.Tensor, y func(x *tensor.Tensor) *tensor.Tensor) (out, grad []float64) {
	t.Helper()
	v := tensor.NewVar(x)
	r := y(v.Tensor())
	require.Equal(t, x.DType(), r.DType())
	require.Equal(t, up.Shape(), r.Shape())
	g, err := r.Mul(up).Sum().Backward()
	require.NoError(t, err)
	require.Equal(t, x.Shape(), g.Of(v.Tensor()).Shape())
	return values(t, r), values(t, g.Of(v.Tensor()))
}

func near(t testing.TB, name string, dt tensor.DType, want, got, most []float64) {
	t.Helper()
	require.Len(t, got, len(want), name)
	for i := range want {
		// Where the gradient of few products is taken, those of float32 differ by their own
		// roundings.
		if e := math.Abs(got[i] - want[i]); e > max(roundings[dt], 1e-6)*most[i] {
			t.Fatalf("%s in %v: element %d is %v, not %v: %v of the sum of magnitudes", name, dt, i, got[i], want[i], e/most[i])
		}
	}
}

// Few rows are multiplied with a weight that is not rounded to their type.
func TestFewRows(t *testing.T) {
	set := golden(t)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	w := load(t, d, set, "nf4.nested")
	x := tensor.Randn(d, tensor.F32, 0, 1, 8, w.Shape()[1]).Cast(tensor.BF16)
	want := values(t, x.Cast(tensor.F32).Linear(w.Dequantize(tensor.F32), nil).Cast(tensor.BF16))
	other := 0
	for i, v := range values(t, w.Linear(x)) {
		if v != want[i] {
			other++
		}
	}
	require.LessOrEqual(t, other, 2, "of %d", len(want))
}

// A weight of more elements than are dequantized at a time is multiplied in parts.
func TestParts(t *testing.T) {
	set := golden(t)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	for _, layer := range []string{"gptq.order", "nf4.nested", "fp8"} {
		w := load(t, d, set, layer)
		n, k := w.Shape()[0], w.Shape()[1]
		x, up := tensor.Randn(d, tensor.F32, 0, 1, 20, k), tensor.Randn(d, tensor.F32, 0, 1, 20, n)
		want, back := products(t, x, up, w.Linear)
		for _, size := range []int{1, 5 * k, (n-1)*k + 1} {
			end := checkpoint.SetScratch(size)
			got, grad := products(t, x, up, w.Linear)
			end()
			for i := range want {
				require.InDelta(t, want[i], got[i], 1e-4, "%s, %d elements at a time", layer, size)
			}
			for i := range back {
				require.InDelta(t, back[i], grad[i], 1e-4, "%s, gradient, %d elements at a time", layer, size)
			}
		}
	}
}

// x may be a view that begins anywhere.
func TestViews(t *testing.T) {
	set := golden(t)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	w := load(t, d, set, "gptq4")
	k := w.Shape()[1]
	all := tensor.Randn(d, tensor.F32, 0, 1, 3*k+1)
	for name, x := range map[string]*tensor.Tensor{
		"part": all.Narrow(0, 1, k), "columns": all.Narrow(0, 1, 3*k).Reshape(k, 3).T(),
	} {
		want := values(t, x.Linear(w.Dequantize(tensor.F32), nil))
		for i, v := range values(t, w.Linear(x)) {
			require.InDelta(t, want[i], v, 1e-4, name)
		}
	}
}

func TestMoved(t *testing.T) {
	set := golden(t)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	other, err := tensor.Open("cpu:interp")
	require.NoError(t, err)
	for _, layer := range []string{"gptq.order", "nf4.nested"} {
		w := load(t, d, set, layer)
		require.Same(t, w, w.To(d))
		m := w.To(other)
		require.Equal(t, other, m.Device())
		require.Equal(t, w.Size(), m.Size())
		want := wanted(t, other, set, layer)
		sameBits(t, layer, want, m.Dequantize(want.DType()))
		require.NoError(t, m.Free())
		require.Error(t, m.Dequantize(tensor.F32).Err())
		require.NoError(t, w.Dequantize(tensor.F32).Err())
	}
	// 96 by 176 codes of 4 bits, 264 scales of 8 bits, 2 of those, and the values of codes.
	require.Equal(t, 96*176/2+264+2*4+(16+256+1)*4, load(t, d, set, "nf4.nested").Size())
}

func TestMistakes(t *testing.T) {
	set := golden(t)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	w := load(t, d, set, "gptq4")
	for name, c := range map[string]struct {
		err  error
		kind error
	}{
		"columns":     {w.Linear(tensor.Zeros(d, tensor.F32, 3, 95)).Err(), tensor.ErrShape},
		"integers":    {w.Linear(tensor.Zeros(d, tensor.I32, 3, 96)).Err(), tensor.ErrDType},
		"one number":  {w.Linear(tensor.Item[float32](d, 1)).Err(), tensor.ErrRank},
		"to integers": {w.Dequantize(tensor.I32).Err(), tensor.ErrDType},
		"experts":     {w.IndexedMoE(tensor.Zeros(d, tensor.F32, 3, 1, 96), tensor.Zeros(d, tensor.I32, 3, 2)).Err(), tensor.ErrRank},
		"float ids":   {w.Embedding(tensor.Zeros(d, tensor.F32, 3), tensor.F32).Err(), tensor.ErrDType},
		"rows as I32": {w.Embedding(tensor.Zeros(d, tensor.I32, 3), tensor.I32).Err(), tensor.ErrDType},
		"nothing":     {new(checkpoint.Weight).Err(), tensor.ErrArgument},
		"sticky rows": {new(checkpoint.Weight).Embedding(tensor.Zeros(d, tensor.I32, 3), tensor.F32).Err(), tensor.ErrArgument},
		"sticky moe":  {new(checkpoint.Weight).IndexedMoE(nil, nil).Err(), tensor.ErrArgument},
		"sticky":      {new(checkpoint.Weight).To(d).Linear(tensor.Zeros(d, tensor.F32, 3)).Err(), tensor.ErrArgument},
		"sticky free": {new(checkpoint.Weight).Free(), tensor.ErrArgument},
	} {
		require.ErrorIs(t, c.err, c.kind, name)
	}
	for _, id := range []int64{-1, 32, 1 << 32} {
		_, err = w.Embedding(tensor.From(d, []int64{0, id}), tensor.F32).Bytes()
		require.ErrorContains(t, err, "at position 1 is out of range")
	}
	var none *checkpoint.Weight
	require.ErrorIs(t, none.Err(), tensor.ErrArgument)
	require.Nil(t, none.Shape())
	require.Nil(t, none.Device())
	require.Zero(t, none.Size())
	require.Zero(t, none.Method())
	require.Contains(t, w.Dequantize(tensor.I32).Err().Error(), "checkpoint_test.go", "the line of the program")
}
