package checkpoint_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tests/sim/devices"
)

// quantizeLike makes of the golden numbers of a layer a weight of its scheme.
func quantizeLike(t testing.TB, d *tensor.Device, set *file.Set, layer string) *checkpoint.Weight {
	t.Helper()
	e, err := set.Get("x/" + layer)
	require.NoError(t, err)
	x := tensor.Load(d, e).Cast(tensor.F32)
	switch layer {
	case "fp8":
		return checkpoint.QuantizeFP8(x, 128, 128)
	case "fp8.small":
		return checkpoint.QuantizeFP8(x, 16, 24)
	}
	return checkpoint.QuantizeNF4(x, 64, layer == "nf4.nested")
}

// Quantizers make the tensors of the references, byte for byte.
func TestQuantize(t *testing.T) {
	set := golden(t)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		for _, layer := range []string{"nf4", "fp8", "fp8.small", "nf4.nested"} {
			w := quantizeLike(t, d, set, layer)
			require.NoError(t, w.Err(), layer)
			list, err := w.Entries(layer)
			require.NoError(t, err)
			for _, e := range list {
				sameEntry(t, set, e)
			}
		}
	})
}

// sameEntry compares a tensor with the golden one of its name.
func sameEntry(t testing.TB, set *file.Set, e *file.Entry) {
	t.Helper()
	want, err := set.Get(e.Name)
	require.NoError(t, err)
	require.Equal(t, want.DType, e.DType, e.Name)
	a, err := want.Bytes()
	require.NoError(t, err)
	b, err := e.Bytes()
	require.NoError(t, err)
	if want.DType == tensor.U8 && len(want.Shape()) == 1 && a[0] == '{' {
		require.JSONEq(t, string(a), string(b), e.Name)
		return
	}
	require.Equal(t, want.Shape(), e.Shape(), e.Name)
	require.Equal(t, a, b, e.Name)
}

// What is written is read again.
func TestEntries(t *testing.T) {
	set := golden(t)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	for _, layer := range []string{"nf4", "nf4.nested", "fp4", "fp8.wide", "fp8.rows", "fp8.one"} {
		w := load(t, d, set, layer)
		list, err := w.Entries("")
		require.NoError(t, err, layer)
		path := filepath.Join(t.TempDir(), "layer.safetensors")
		require.NoError(t, safetensors.WriteFile(path, nil, list...))
		again, err := safetensors.Open(path)
		require.NoError(t, err)
		back, err := checkpoint.Load(d, again, "", configOf(t, set, layer))
		require.NoError(t, err, layer)
		require.NoError(t, again.Close())
		want := wanted(t, d, set, layer)
		sameBits(t, layer, want, back.Dequantize(want.DType()))
	}
	_, err = load(t, d, set, "gptq4").Entries("x")
	require.ErrorIs(t, err, checkpoint.ErrUnsupported)
	_, err = new(checkpoint.Weight).Entries("x")
	require.ErrorIs(t, err, tensor.ErrArgument)
}

// Blocks of zeros stay zeros, and other types of numbers are those of float32.
func TestQuantizeZeros(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	x := tensor.Cat(1, tensor.Zeros(d, tensor.F32, 3, 32), tensor.Ones(d, tensor.F32, 3, 32))
	for name, w := range map[string]*checkpoint.Weight{
		"nf4": checkpoint.QuantizeNF4(x, 32, false), "nested": checkpoint.QuantizeNF4(x, 32, true),
		"half": checkpoint.QuantizeNF4(x.Cast(tensor.F16), 32, false),
		"fp8":  checkpoint.QuantizeFP8(x.Cast(tensor.BF16), 128, 32),
	} {
		require.NoError(t, w.Err(), name)
		require.Equal(t, values(t, x), values(t, w.Dequantize(tensor.F32)), name)
	}
}

// A number in the middle of two values gets the lower one.
func TestQuantizeTies(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	x := make([]float32, 32)
	x[0], x[1], x[2] = -1, (-1-0.6961928009986877)/2, (0.7229568362236023+1)/2
	w := checkpoint.QuantizeNF4(tensor.From(d, x, 1, 32), 32, false)
	list, err := tensor.ToSlice[float32](w.Dequantize(tensor.F32))
	require.NoError(t, err)
	require.Equal(t, []float32{-1, -1, 0.7229568362236023, 0}, list[:4])
}

func TestQuantizeMistakes(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	x := tensor.Zeros(d, tensor.F32, 4, 32)
	for name, c := range map[string]struct {
		w    *checkpoint.Weight
		kind error
	}{
		"block":     {checkpoint.QuantizeNF4(x, 48, false), tensor.ErrArgument},
		"no block":  {checkpoint.QuantizeNF4(x, 0, false), tensor.ErrArgument},
		"columns":   {checkpoint.QuantizeNF4(x.Reshape(32, 4), 64, false), checkpoint.ErrUnsupported},
		"integers":  {checkpoint.QuantizeNF4(x.Cast(tensor.I32), 64, false), tensor.ErrDType},
		"no matrix": {checkpoint.QuantizeFP8(x.Reshape(128), 128, 128), tensor.ErrRank},
		"rows":      {checkpoint.QuantizeFP8(x, 0, 128), checkpoint.ErrUnsupported},
		"narrow":    {checkpoint.QuantizeFP8(x, 128, 12), checkpoint.ErrUnsupported},
		"empty":     {checkpoint.QuantizeFP8(tensor.Zeros(d, tensor.F32, 0, 8), 128, 128), checkpoint.ErrUnsupported},
		"sticky":    {checkpoint.QuantizeFP8(x.Reshape(5), 128, 128), tensor.ErrShape},
	} {
		require.ErrorIs(t, c.w.Err(), c.kind, name)
	}
}
