package tensor_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
)

// The methods that no other test has a number for.
func TestMethods(t *testing.T) {
	d := open(t)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	x := tensor.From(d, []float32{-1.5, 0.5, 2.5, nan, -inf})
	a, b := tensor.From(d, []int32{12, 10, 0, -8}), tensor.From(d, []int32{10, 3, 1, 1})
	m := tensor.New(d, [][]float32{{1, 0, 2}, {0, 0, 0}})
	for name, c := range map[string]struct {
		got  *tensor.Tensor
		want []float32
	}{
		"Not":               {a.Not(), []float32{-13, -11, -1, 7}},
		"OnesLike":          {a.OnesLike(), []float32{1, 1, 1, 1}},
		"And":               {a.And(b), []float32{8, 2, 0, 0}},
		"Or":                {a.Or(b), []float32{14, 11, 1, -7}},
		"Xor":               {a.Xor(b), []float32{6, 9, 1, -7}},
		"Shl":               {a.Shl(b), []float32{12 << 10, 80, 0, -16}},
		"Shr":               {a.Shr(b), []float32{0, 1, 0, -4}},
		"LogicalAnd":        {a.LogicalAnd(b), []float32{1, 1, 0, 1}},
		"LogicalOr":         {a.LogicalOr(b.ZerosLike()), []float32{1, 1, 0, 1}},
		"LogicalXor":        {a.LogicalXor(b), []float32{0, 0, 1, 0}},
		"LogicalNot":        {a.LogicalNot(), []float32{0, 0, 1, 0}},
		"IsNaN":             {x.IsNaN(), []float32{0, 0, 0, 1, 0}},
		"IsInf":             {x.IsInf(), []float32{0, 0, 0, 0, 1}},
		"IsFinite":          {x.IsFinite(), []float32{1, 1, 1, 0, 0}},
		"Trunc":             {x.Narrow(0, 0, 3).Trunc(), []float32{-1, 0, 2}},
		"RoundEven":         {x.Narrow(0, 0, 3).RoundEven(), []float32{-2, 0, 2}},
		"EqScalar":          {x.EqScalar(0.5), []float32{0, 1, 0, 0, 0}},
		"NeScalar":          {x.NeScalar(0.5), []float32{1, 0, 1, 1, 1}},
		"LtScalar":          {x.LtScalar(0.5), []float32{1, 0, 0, 0, 1}},
		"LeScalar":          {x.LeScalar(0.5), []float32{1, 1, 0, 0, 1}},
		"GtScalar":          {x.GtScalar(0.5), []float32{0, 0, 1, 0, 0}},
		"GeScalar":          {x.GeScalar(0.5), []float32{0, 1, 1, 0, 0}},
		"MeanKeep":          {m.MeanKeep(1), []float32{1, 0}},
		"ProdKeep":          {m.AddScalar(1).ProdKeep(0), []float32{2, 1, 3}},
		"Any":               {m.Any(1), []float32{1, 0}},
		"AnyKeep":           {m.AnyKeep(0), []float32{1, 0, 1}},
		"All":               {m.All(0), []float32{0, 0, 0}},
		"AllKeep":           {m.AddScalar(1).AllKeep(1), []float32{1, 1}},
		"LogSumExpKeep":     {m.Narrow(0, 1, 1).Narrow(1, 0, 1).LogSumExpKeep(1), []float32{0}},
		"Squeeze":           {m.Narrow(0, 0, 1).Squeeze(0), []float32{1, 0, 2}},
		"Squeeze of no 1":   {m.Squeeze(0), []float32{1, 0, 2, 0, 0, 0}},
		"Mod":               {a.Mod(b), []float32{2, 1, 0, 0}},
		"Remainder":         {a.Neg().Remainder(tensor.From(d, []int32{10, 3, 1, -3})), []float32{8, 2, 0, -1}},
		"Remainder by 0":    {a.Remainder(a.ZerosLike()), []float32{12, 10, 0, -8}},
		"Div by 0":          {a.Div(a.ZerosLike()), []float32{0, 0, 0, 0}},
		"sum of nothing":    {m.Narrow(0, 0, 0).Sum(0), []float32{0, 0, 0}},
		"product of none":   {m.Narrow(0, 0, 0).Prod(0), []float32{1, 1, 1}},
		"softmax of -inf":   {tensor.From(d, []float32{-inf, -inf}).Softmax(0).IsNaN(), []float32{1, 1}},
		"broadcast nothing": {m.Narrow(1, 0, 0).Add(tensor.Ones(d, tensor.F32, 2, 1)), []float32{}},
	} {
		require.NoError(t, c.got.Err(), name)
		require.Equal(t, c.want, list[float32](t, c.got.Cast(tensor.F32)), name)
	}
	require.Equal(t, tensor.Shape{2, 1}, m.MeanKeep(1).Shape())
	require.Equal(t, tensor.Shape{1, 1}, m.AnyKeep().Shape())
	require.True(t, m.T().IsFortranContiguous())
	require.False(t, m.IsFortranContiguous())
	require.Same(t, d.Runtime().DefaultStream(), d.Stream())
	require.Same(t, d, tensor.On(d.Runtime()))

	require.NoError(t, a.ConstSet(dtype.New(2.5)))
	require.Equal(t, []int32{2, 2, 2, 2}, list[int32](t, a))
	cube, err := tensor.To3[float32](count(d, 2, 1, 3))
	require.NoError(t, err)
	require.Equal(t, [][][]float32{{{0, 1, 2}}, {{3, 4, 5}}}, cube)
	var w bytes.Buffer
	n, err := tensor.From(d, []int16{1, -1}).WriteTo(&w)
	require.NoError(t, err)
	require.EqualValues(t, 4, n)
	require.Equal(t, []byte{1, 0, 255, 255}, w.Bytes())
	r := tensor.Zeros(d, tensor.BF16, 3).RandnLike(0, 1)
	require.Equal(t, tensor.BF16, r.DType())
	require.Equal(t, tensor.Shape{3}, r.Shape())

	v := tensor.NewVar(x)
	y := v.Tensor().Sqr()
	z := y.Add(v.Tensor())
	require.Equal(t, []*tensor.Tensor{z, y, v.Tensor()}, tensor.TopologicalOrder(z))
}

// Every type is converted to every other by value; those for storage are not.
func TestCasts(t *testing.T) {
	d := open(t)
	values := []float64{0, 1, 2.75, -3.5, 300, -1e10, math.NaN(), math.Inf(1), math.Inf(-1)}
	for _, from := range allTypes() {
		if !from.Computes() {
			packed := tensor.FromBytes(d, from, []byte{1, 2, 3})
			require.NoError(t, packed.Err())
			for _, to := range []tensor.DType{tensor.F32, tensor.U8, tensor.F8E8M0} {
				if to != from {
					require.ErrorIs(t, packed.Cast(to).Err(), tensor.ErrDType, "%v to %v", from, to)
				}
			}
			require.ErrorIs(t, packed.Add(packed).Err(), tensor.ErrDType)
			require.ErrorIs(t, packed.Exp().Err(), tensor.ErrDType)
			require.ErrorIs(t, packed.Sum().Err(), tensor.ErrDType)
			require.ErrorIs(t, packed.ZerosLike().Err(), tensor.ErrDType)
			raw, err := packed.Copy().Bytes()
			require.NoError(t, err)
			require.Equal(t, []byte{1, 2, 3}, raw)
			continue
		}
		if !d.Supports(from) {
			continue
		}
		var raw []byte
		for _, v := range values {
			raw = dtype.FromFloat(from, v).Append(raw)
		}
		x := tensor.FromBytes(d, from, raw)
		for _, to := range allTypes() {
			if !d.Supports(to) {
				continue
			}
			for _, kind := range []string{"dense", "narrowed"} {
				y := laid(x, kind).Cast(to)
				require.NoError(t, y.Err(), "%v to %v", from, to)
				for i, v := range values {
					want := dtype.FromFloat(from, v).Convert(to)
					got, err := y.Get(i).Item()
					require.NoError(t, err)
					same := got.Bits() == want.Bits() || math.IsNaN(want.Float()) && math.IsNaN(got.Float())
					require.True(t, same, "%v of %v to %v: %v, want %v", v, from, to, got, want)
				}
			}
		}
	}
}

// To brings tensors of any layout to every device there is, and back, with their gradient.
func TestToEveryDevice(t *testing.T) {
	names := append([]string{"cpu:interp", "cpu:interp8"}, tensor.Devices("")...)
	for _, from := range names {
		for _, to := range names {
			a, err := tensor.Open(from)
			require.NoError(t, err)
			b, err := tensor.Open(to)
			require.NoError(t, err)
			v := tensor.NewVar(count(a, 3, 4))
			for _, x := range layouts(v.Tensor()) {
				y := x.To(b)
				require.NoError(t, y.Err())
				require.Same(t, b, y.Device())
				require.Equal(t, list[float32](t, x), list[float32](t, y))
				g, err := y.Sqr().To(a).Backward()
				require.NoError(t, err)
				require.Equal(t, list[float32](t, v.Tensor().MulScalar(2)), list[float32](t, g.Of(v.Tensor())))
			}
			packed := tensor.FromBytes(a, tensor.F4, []byte{0x12, 0x34}, 3).To(b)
			raw, err := packed.Bytes()
			require.NoError(t, err)
			require.Equal(t, []byte{0x12, 0x34}, raw)
			require.Empty(t, list[float32](t, tensor.Zeros(a, tensor.F32, 0, 3).To(b)))
			require.NoError(t, a.Close())
			require.NoError(t, b.Close())
		}
	}
}

// Tensors of eight dimensions, of which no two can be joined, are operands as others are.
func TestRank8(t *testing.T) {
	d := open(t)
	order := []int{7, 0, 6, 1, 5, 2, 4, 3}
	x := count(d, 2, 3, 2, 1, 2, 2, 3, 2)
	y := x.Permute(order...)
	back := y.Contiguous().Permute(1, 3, 5, 7, 6, 4, 2, 0)
	require.Equal(t, list[float32](t, x), list[float32](t, back))
	require.Equal(t, list[float32](t, x.Sqr()), list[float32](t, y.Mul(y.Contiguous()).Permute(1, 3, 5, 7, 6, 4, 2, 0)))
	require.Equal(t, list[float32](t, x.Sum(0, 2, 4, 6)), list[float32](t, y.Sum(1, 5, 6, 2).Permute(1, 3, 2, 0)))
	require.Equal(t, list[float32](t, x.Max(1, 3, 5, 7)), list[float32](t, y.Max(3, 7, 4, 0).Permute(0, 2, 3, 1)))
	require.Equal(t, list[float32](t, x.IndexSelect(tensor.From(d, []int64{2, 0}), 6)), list[float32](t, y.IndexSelect(tensor.From(d, []int64{2, 0}), 2).Permute(1, 3, 5, 7, 6, 4, 2, 0)))
	require.Equal(t, list[float32](t, x.CumSum(1)), list[float32](t, y.CumSum(3).Permute(1, 3, 5, 7, 6, 4, 2, 0)))
	require.Equal(t, list[float32](t, tensor.Cat(2, x, x)), list[float32](t, tensor.Cat(5, y, y).Permute(1, 3, 5, 7, 6, 4, 2, 0)))
	require.Equal(t, list[float32](t, x.MatMul(x.T())), list[float32](t, y.Permute(1, 3, 5, 7, 6, 4, 2, 0).MatMul(x.T())))
	sorted, _ := x.Sort(1, true)
	turned, _ := y.Sort(3, true)
	require.Equal(t, list[float32](t, sorted), list[float32](t, turned.Permute(1, 3, 5, 7, 6, 4, 2, 0)))
}
