package tensor_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tensor"
)

func ramp(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i)
	}
	return out
}

func repeat[T any](x T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// onCPU opens the device whose name tensors do not show.
func onCPU(t *testing.T) *tensor.Device {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestString(t *testing.T) {
	d := onCPU(t)
	row := strings.Repeat("42., ", 15) + "42."
	zero := math.Copysign(0, -1)
	for _, c := range []struct {
		name string
		x    *tensor.Tensor
		want string
	}{
		{"109 number", tensor.Item(d, uint32(1234)), "[1234]\nTensor[[], u32]"},
		{"110 fixed", tensor.Item(d, float32(-123.4)), "[-123.4000]\nTensor[[], f32]"},
		{"110 small", tensor.Item(d, float32(-1.234e-5)), "[-1.2340e-5]\nTensor[[], f32]"},
		{"110 large", tensor.Item(d, -1.234e11), "[-1.2340e11]\nTensor[[], f64]"},
		{"110 zero", tensor.Item(d, float32(0)), "[0.]\nTensor[[], f32]"},
		{"111 NaN", tensor.From(d, []float64{0.1234567, 1, -1.2, 4.1, math.NaN()}), "[ 0.1235,  1.0000, -1.2000,  4.1000,     NaN]\nTensor[[5], f64]"},
		{"112 lines", tensor.From(d, repeat(float32(42), 50)), "[" + row + ",\n " + row + ",\n " + row + ",\n 42., 42.]\nTensor[[50], f32]"},
		{"113 edges", tensor.From(d, repeat(float32(42), 11000)), "[42., 42., 42., ..., 42., 42., 42.]\nTensor[[11000], f32]"},
		{"114 empty", tensor.Zeros(d, tensor.U32, 0), "[]\nTensor[[0], u32]"},
		{"no rows", tensor.Zeros(d, tensor.F32, 2, 0), "[]\nTensor[[2, 0], f32]"},
		{"matrix", tensor.From(d, ramp(6), 2, 3), "[[0., 1., 2.],\n [3., 4., 5.]]\nTensor[[2, 3], f32]"},
		{"transposed", tensor.From(d, ramp(6), 2, 3).T(), "[[0., 3.],\n [1., 4.],\n [2., 5.]]\nTensor[[3, 2], f32]"},
		{"matrices", tensor.From(d, ramp(8), 2, 2, 2), "[[[0., 1.],\n  [2., 3.]],\n\n [[4., 5.],\n  [6., 7.]]]\nTensor[[2, 2, 2], f32]"},
		{"wide edges", tensor.From(d, ramp(2000), 2, 1000), "[[0.0000e0, 1.0000e0, 2.0000e0, ..., 9.9700e2, 9.9800e2, 9.9900e2],\n" +
			" [1.0000e3, 1.0010e3, 1.0020e3, ..., 1.9970e3, 1.9980e3, 1.9990e3]]\nTensor[[2, 1000], f32]"},
		{"infinite", tensor.From(d, []float64{math.Inf(-1), zero, math.Inf(1), 2}), "[-inf,  -0.,  inf,   2.]\nTensor[[4], f64]"},
		{"far apart", tensor.From(d, []float32{1, 5000, 0}), "[1.0000e0, 5.0000e3, 0.0000e0]\nTensor[[3], f32]"},
		{"ints", tensor.From(d, []int64{-5, math.MaxInt64}), "[                 -5, 9223372036854775807]\nTensor[[2], i64]"},
		{"halves", tensor.From(d, []dsl.BF16{0x3F80, 0x3FC0}), "[1.0000, 1.5000]\nTensor[[2], bf16]"},
	} {
		require.Equal(t, c.want, c.x.String(), c.name)
	}
}

func TestStringOfEdges(t *testing.T) {
	d := onCPU(t)
	x := tensor.Arange[int32](d, 0, 40*50).Reshape(40, 50)
	o := tensor.ShortPrintOptions()
	require.Equal(t, strings.Join([]string{
		"[[   0,    1, ...,   48,   49],", " [  50,   51, ...,   98,   99],", " ...,",
		" [1900, 1901, ..., 1948, 1949],", " [1950, 1951, ..., 1998, 1999]]", "Tensor[[40, 50], i32]"}, "\n"), x.Text(o))
	o.EdgeItems = 1
	require.Equal(t, "[[   0, ..., 1950],\n ...,\n [  49, ..., 1999]]\nTensor[[50, 40], i32]", x.T().Text(o))
	o.EdgeItems, o.LineWidth = 2, 20
	require.Equal(t, "[   0,    1, ...,\n 1998, 1999]\nTensor[[2000], i32]", x.FlattenAll().Text(o))
	o.EdgeItems = 0
	require.Equal(t, "[...]\nTensor[[40, 50], i32]", x.Text(o))
	require.Equal(t, x.Text(tensor.FullPrintOptions()), x.Text(tensor.PrintOptions{EdgeItems: math.MaxInt, LineWidth: 80}))
	digits := tensor.From(d, []float64{0.5}).Text(tensor.PrintOptions{Threshold: -1, Precision: math.MaxInt, Scientific: tensor.ScientificOff})
	require.Len(t, digits, len("[0.]\nTensor[[1], f64]")+1074)
	o = tensor.FullPrintOptions()
	o.LineWidth = 0
	require.Equal(t, 41, strings.Count(x.Text(o), "\n")+1)
	one := tensor.Arange[int32](d, 0, 1).BroadcastTo(1<<20, 3, 1<<20)
	before := d.Stats().Bytes
	require.Equal(t, "[[[0, ..., 0],\n  ...,\n  [0, ..., 0]],\n\n ...,\n\n [[0, ..., 0],\n  ...,\n  [0, ..., 0]]]\nTensor[[1048576, 3, 1048576], i32]",
		one.Text(tensor.PrintOptions{Threshold: 10, EdgeItems: 1, LineWidth: 80}))
	require.Equal(t, before, d.Stats().Bytes)
}

func TestStringOfEveryType(t *testing.T) {
	d := onCPU(t)
	for _, dt := range []tensor.DType{tensor.U8, tensor.U32, tensor.I16, tensor.I32, tensor.I64} {
		require.Equal(t, fmt.Sprintf("[1, 1]\nTensor[[2], %s]", dt), tensor.Ones(d, dt, 2).String())
	}
	for _, dt := range []tensor.DType{tensor.BF16, tensor.F16, tensor.F32, tensor.F64, tensor.F8E4M3, tensor.F8E5M2} {
		require.Equal(t, fmt.Sprintf("[1.5000, 1.5000]\nTensor[[2], %s]", dt), tensor.Ones(d, dt, 2).MulScalar(1.5).String())
	}
	for _, c := range []struct {
		dt    tensor.DType
		bytes []byte
		want  string
	}{
		{tensor.F4, []byte{0x10, 0x72, 0xF9}, "[ 0.0000,  0.5000,  1.0000,  6.0000, -0.5000, -6.0000]\nTensor[[6], f4]"},
		{tensor.F6E2M3, []byte{0x01, 0xF8, 0xFF}, "[ 0.1250, -0.0000, -7.5000, -7.5000]\nTensor[[4], f6e2m3]"},
		{tensor.F6E3M2, []byte{0xC1, 0xF7, 0x03}, "[  0.0625,  28.0000, -28.0000,   0.0000]\nTensor[[4], f6e3m2]"},
		{tensor.F8E8M0, []byte{127, 128, 126, 255}, "[1.0000, 2.0000, 0.5000,    NaN]\nTensor[[4], f8e8m0]"},
	} {
		require.Equal(t, c.want, tensor.FromBytes(d, c.dt, c.bytes).String())
	}
	// Of packed elements only those that are printed are read, too.
	many := bytes.Repeat([]byte{0x42}, 12000)
	o := tensor.PrintOptions{Precision: 1, Threshold: 10, EdgeItems: 3, LineWidth: 80}
	require.Equal(t, "[[1.0, 2.0, 1.0, ..., 2.0, 1.0, 2.0],\n [1.0, 2.0, 1.0, ..., 2.0, 1.0, 2.0]]\nTensor[[2, 12000], f4]",
		fmt.Sprintf("%.1f", tensor.FromBytes(d, tensor.F4, many, 2, 12000)))
	o.EdgeItems = 1
	require.Equal(t, "[[1., 2.],\n ...,\n [1., 2.]]\nTensor[[12000, 2], f4]", tensor.FromBytes(d, tensor.F4, many, 12000, 2).Text(o))
}

func TestFormat(t *testing.T) {
	d := onCPU(t)
	x := tensor.From(d, []float32{1, 2.5, -0.1})
	end := "\nTensor[[3], f32]"
	for _, c := range []struct{ format, want string }{
		{"%v", "[ 1.0000,  2.5000, -0.1000]" + end},
		{"%s", "[ 1.0000,  2.5000, -0.1000]" + end},
		{"%.2f", "[ 1.00,  2.50, -0.10]" + end},
		{"%.1v", "[ 1.0,  2.5, -0.1]" + end},
		{"%.3e", "[  1.000e0,   2.500e0, -1.000e-1]" + end},
		{"%g", "[   1,  2.5, -0.1]" + end},
		{"%+.1f", "[+1.0, +2.5, -0.1]" + end},
		{"%8.2f", "[    1.00,     2.50,    -0.10]" + end},
		{"%+v", "[ 1.0000,  2.5000, -0.1000]\nTensor[[3], f32, strides [1], offset 0]"},
		{"%#v", "Tensor[1, 2.5, -0.1; f32]"},
		{"%d", "%!d(Tensor[1, 2.5, -0.1; f32])"},
		{"%q", "%!q(Tensor[1, 2.5, -0.1; f32])"},
	} {
		require.Equal(t, c.want, fmt.Sprintf(c.format, x), c.format)
	}
	require.Equal(t, "[2.00, 3.00]\nTensor[[2], f32]", fmt.Sprintf("%.2f", tensor.From(d, []float32{2, 3})))
	require.Equal(t, "[2, 3]\nTensor[[2], i16]", fmt.Sprintf("%d", tensor.From(d, []int16{2, 3})))
	require.Equal(t, "Tensor[dims 2, 3; f32]", fmt.Sprintf("%#v", tensor.From(d, ramp(6), 2, 3).Narrow(1, 0, 3)))
	require.Equal(t, "Tensor[dims 10; f32]", tensor.From(d, ramp(10)).GoString())
	require.Equal(t, "Tensor[7; u8]", tensor.Item(d, uint8(7)).GoString())
	require.Equal(t, "[1., 2.]\nTensor[[2], f32, strides [2], offset 2]", fmt.Sprintf("%+v", tensor.From(d, []float32{0, 0, 1, 0, 2}).Narrow(0, 2, 3).Step(0, 2)))
}

func TestPrintOptions(t *testing.T) {
	d := onCPU(t)
	defer tensor.SetPrintOptions(tensor.CurrentPrintOptions())
	require.Equal(t, tensor.DefaultPrintOptions(), tensor.CurrentPrintOptions())
	x := tensor.From(d, []float32{1, 2.5})
	tensor.SetPrintOptions(tensor.ShortPrintOptions())
	require.Equal(t, "[1.00, 2.50]\nTensor[[2], f32]", x.String())
	tensor.SetPrintOptions(tensor.PrintOptions{Precision: 1, Scientific: tensor.ScientificOn})
	require.Equal(t, "[...]\nTensor[[2], f32]", x.String())
	require.Equal(t, "[1.0e0, 2.5e0]\nTensor[[2], f32]", x.Text(tensor.PrintOptions{Precision: 1, Threshold: 2, Scientific: tensor.ScientificOn}))
	o := tensor.DefaultPrintOptions()
	o.Scientific = tensor.ScientificOff
	require.Equal(t, "[    0.0000, 70000.5000]\nTensor[[2], f32]", tensor.From(d, []float32{1e-6, 70000.5}).Text(o))
}

func TestPrintErrors(t *testing.T) {
	d := onCPU(t)
	x := tensor.From(d, ramp(3)).Add(tensor.From(d, ramp(2)))
	require.Equal(t, x.Err().Error(), x.String())
	require.Equal(t, x.Err().Error(), fmt.Sprint(x))
	require.Equal(t, "Tensor("+x.Err().Error()+")", fmt.Sprintf("%#v", x))
	var none *tensor.Tensor
	require.Equal(t, "<nil>", fmt.Sprint(none))
	require.Equal(t, "Tensor(nil)", fmt.Sprintf("%#v", none))
	freed := tensor.From(d, ramp(3))
	require.NoError(t, freed.Free())
	require.Contains(t, freed.String(), "freed")
}

func TestLogValue(t *testing.T) {
	d := onCPU(t)
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log.Info("step", "x", tensor.From(d, ramp(6), 2, 3))
	require.Equal(t, "level=INFO msg=step x.shape=\"[2, 3]\" x.dtype=f32 x.device="+d.Name()+"\n", out.String())
	out.Reset()
	log.Info("step", "x", tensor.Zeros(nil, tensor.F32))
	require.Contains(t, out.String(), "x.error=\"zeros: invalid argument: no device")
}
