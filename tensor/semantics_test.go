package tensor_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
)

// inType is a tensor of numbers in a type.
func inType(d *tensor.Device, dt tensor.DType, x ...float64) ten {
	var raw []byte
	for _, v := range x {
		raw = dtype.FromFloat(dt, v).Append(raw)
	}
	return tensor.FromBytes(d, dt, raw)
}

// Sums and products of integers are of type I64, and SumAs and those like it are for others.
func TestIntegersWiden(t *testing.T) {
	d := open(t)
	matches := tensor.Full(d, dtype.New(float32(3)), 1000).EqScalar(3)
	require.Equal(t, []int64{1000}, list[int64](t, matches.Sum()))
	require.Equal(t, []uint8{232}, list[uint8](t, matches.SumAs(tensor.U8)))
	require.Equal(t, []float32{1000}, list[float32](t, matches.SumAs(tensor.F32)))
	for _, dt := range dtype.Ints() {
		x := inType(d, dt, 100, 90, 80, 70, 60, 50).Reshape(2, 3)
		for _, y := range layouts(x) {
			require.Equal(t, []int64{270, 180}, list[int64](t, y.Sum(1)), dt)
			require.Equal(t, []int64{170, 150, 130}, list[int64](t, y.SumKeep(0)), dt)
			require.Equal(t, []int64{720000, 210000}, list[int64](t, y.Prod(-1)), dt)
			require.Equal(t, []int64{7000, 5400, 4000}, list[int64](t, y.ProdKeep(0)), dt)
			require.Equal(t, []int64{24500, 11000}, list[int64](t, y.SumSqr(1)), dt)
			require.Equal(t, []int64{100, 190, 270, 70, 130, 180}, list[int64](t, y.CumSum(1)), dt)
			require.Equal(t, []int64{100, 90, 80, 7000, 5400, 4000}, list[int64](t, y.CumProd(0)), dt)
		}
		for _, y := range []ten{x.SumAs(dt, 0), x.ProdAs(dt), x.CumSumAs(dt, 0), x.CumProdAs(dt, 1), x.Get(0).Dot(x.Get(1)), tensor.Einsum("ij,ij->i", x, x), tensor.Einsum("ij->", x), x.Max(), x.Min(0)} {
			require.Equal(t, dt, y.DType())
		}
		want := x.Cast(tensor.I64).Cast(dt)
		require.Equal(t, list[int64](t, want.CumSumAs(dt, 1).Cast(tensor.I64)), list[int64](t, want.Cast(tensor.I64).CumSum(1).Cast(dt).Cast(tensor.I64)), "wraps")
		require.Equal(t, []float32{135}, list[float32](t, x.Get(0).CumSumAs(tensor.F32, 0).Get(2).MulScalar(0.5)))
		require.Equal(t, []int64{0, 0, 0}, list[int64](t, x.Narrow(0, 0, 0).Sum(0)))
		require.Equal(t, []int64{1}, list[int64](t, x.Narrow(0, 0, 0).Prod()))
		require.ErrorIs(t, x.Mean().Err(), tensor.ErrDType)
	}
	// What 64 bits do not hold wraps.
	most := tensor.From(d, []int64{math.MaxInt64, 1})
	require.Equal(t, []int64{math.MinInt64}, list[int64](t, most.Sum()))
	require.Equal(t, []int64{4 * math.MaxUint32}, list[int64](t, tensor.Full(d, dtype.New(uint32(math.MaxUint32)), 4).Sum()))
	for _, dt := range dtype.Floats() {
		require.Equal(t, dt, inType(d, dt, 1, 2).Sum().DType())
	}
	x := tensor.NewVar(tensor.From(d, []float32{1, 2, 3}))
	g, err := x.Tensor().SumAs(tensor.F64).Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1, 1}, list[float32](t, g.Of(x.Tensor())))
	require.ErrorIs(t, x.Tensor().SumAs(tensor.F4).Err(), tensor.ErrDType)
	require.ErrorIs(t, x.Tensor().CumProdAs(tensor.F8E8M0, 0).Err(), tensor.ErrDType)
}

// exact is a number without rounding; NaN and infinities are none.
func exact(s dtype.Scalar) *big.Float {
	if s.DType().IsInt() {
		return new(big.Float).SetInt64(s.Int())
	}
	return big.NewFloat(s.Float())
}

// TestScalarsOfOtherTypes compares elements of all types with numbers that their types have not: the
// answers are those for the numbers.
func TestScalarsOfOtherTypes(t *testing.T) {
	d := open(t)
	inf := math.Inf(1)
	elements := []float64{-inf, -1e19, -1 << 40, -32769, -300, -128, -1.5, -1, 0, 0.5, 1, 2, 127, 128, 254, 255, 256, 300, 32767, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 53, 1<<53 + 2, 1e19, inf}
	numbers := append([]float64{0.1, -0.1, 254.5, 255.5, 1<<31 - 0.5, 1 << 63, -(1 << 63), 1<<63 - 1024, 1e300, -1e300, math.NaN()}, elements...)
	for _, dt := range dtype.All() {
		if !d.Supports(dt) {
			continue
		}
		x := inType(d, dt, elements...)
		if dt == tensor.I64 {
			x = tensor.Cat(0, x, tensor.From(d, []int64{1<<53 + 1, 1<<60 + 1, math.MaxInt64, math.MinInt64 + 1}))
		}
		n := x.Count()
		for _, v := range numbers {
			got := [][]uint8{list[uint8](t, x.EqScalar(v)), list[uint8](t, x.NeScalar(v)), list[uint8](t, x.LtScalar(v)), list[uint8](t, x.LeScalar(v)), list[uint8](t, x.GtScalar(v)), list[uint8](t, x.GeScalar(v))}
			if dt.IsFloat() {
				v = dtype.FromFloat(dt, v).Float()
			}
			for i := range n {
				e, err := x.Get(i).Item()
				require.NoError(t, err)
				want := [6]bool{1: true}
				if v == v && e.Float() == e.Float() {
					c := exact(e).Cmp(big.NewFloat(v))
					want = [6]bool{c == 0, c != 0, c < 0, c <= 0, c > 0, c >= 0}
				}
				for k := range want {
					require.Equal(t, want[k], got[k][i] == 1, "comparison %d of %v %v with %v", k, dt, e, v)
				}
			}
		}
	}
	for _, dt := range dtype.Floats() {
		x := tensor.Zeros(d, dt, 3).FullLike(0.1)
		require.Equal(t, []uint8{1, 1, 1}, list[uint8](t, x.EqScalar(0.1)), dt)
		require.Equal(t, []uint8{0, 0, 0}, list[uint8](t, x.LtScalar(0.1)), dt)
		require.Equal(t, []uint8{1, 1, 1}, list[uint8](t, x.GeScalar(0.1)), dt)
	}
	u := tensor.From(d, []uint8{0, 1, 255})
	require.Equal(t, []uint8{1, 1, 1}, list[uint8](t, u.GtScalar(-1)))
	require.Equal(t, []uint8{1, 0, 0}, list[uint8](t, tensor.From(d, []int32{0, 1, 2}).LtScalar(0.5)))
	require.Equal(t, []uint8{1, 1}, list[uint8](t, u.Reshape(3, 1).BroadcastTo(3, 2).Narrow(0, 1, 1).GtScalar(-1).FlattenAll()))
}

func TestBoundsOfOtherTypes(t *testing.T) {
	d := open(t)
	inf := math.Inf(1)
	for _, dt := range dtype.Ints() {
		low, high := dtype.FromFloat(dt, -inf).Float(), dtype.FromFloat(dt, inf)
		x := tensor.Cat(0, inType(d, dt, -inf, 0, 1, 100, inf), inType(d, dt, 7))
		same := func(y ten) {
			t.Helper()
			require.NoError(t, y.Err())
			require.Equal(t, dt, y.DType())
			require.Equal(t, list[uint8](t, x.Eq(y)), []uint8{1, 1, 1, 1, 1, 1})
		}
		same(x.Clamp(-inf, inf))
		same(x.Clamp(low, inf))
		same(x.Clamp(low-1e4, 1e30))
		same(x.MaximumScalar(-inf))
		same(x.MaximumScalar(low - 0.5))
		same(x.MinimumScalar(inf))
		same(x.MinimumScalar(1e30))
		require.Equal(t, []int64{1, 1, 1, 9, 9, 7}, list[int64](t, x.Clamp(1, 9).Cast(tensor.I64)), dt)
		require.Equal(t, []int64{5, 5, 5, 5, 5, 5}, list[int64](t, x.Clamp(9, 5).Cast(tensor.I64)), dt)
		require.Equal(t, []int64{5, 5, 5, 5, 5, 5}, list[int64](t, x.Clamp(inf, 5).Cast(tensor.I64)), dt)
		require.Equal(t, []int64{9, 9, 9, 100, high.Int(), 9}, list[int64](t, x.MaximumScalar(9).Cast(tensor.I64)), dt)
		for _, bad := range []ten{
			x.Clamp(0.5, 9), x.Clamp(0, 8.5), x.Clamp(math.NaN(), 1), x.Clamp(0, math.NaN()), x.MaximumScalar(0.5), x.MinimumScalar(0.5), x.MaximumScalar(1e30),
			x.MinimumScalar(-1e30), x.MaximumScalar(inf), x.MinimumScalar(-inf), x.AddScalar(0.5), x.AddScalar(1 << 63), x.MaskedFill(x, 1e19),
		} {
			require.ErrorIs(t, bad.Err(), tensor.ErrArgument, dt)
		}
	}
	require.ErrorIs(t, tensor.From(d, []uint8{1}).MinimumScalar(-1).Err(), tensor.ErrArgument)
	require.Equal(t, []float32{-1, 2}, list[float32](t, tensor.From(d, []float32{-1, 2}).Clamp(-inf, inf)))
}

// The index -1, or the largest of an unsigned type, stands for none wherever indices are a tensor's.
func TestIndexOfNone(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3})
	for _, dt := range dtype.Ints() {
		none := -1.0
		if dt == tensor.U8 || dt == tensor.U32 {
			none = math.Inf(1) // the largest
		}
		ids := inType(d, dt, 2, none, 0)
		require.Equal(t, []float32{3, 0, 1}, list[float32](t, x.Gather(ids, 0)), dt)
		require.Equal(t, []float32{3, 0, 1}, list[float32](t, x.IndexSelect(ids, 0)), dt)
		require.Equal(t, []float32{3, 0, 1}, list[float32](t, x.Take(ids)), dt)
		require.Equal(t, []float32{3, 0, 1}, list[float32](t, x.Unsqueeze(1).Embedding(ids)), dt)
		require.Equal(t, []float32{3, 2, 1}, list[float32](t, x.Scatter(ids, x, 0)), dt)
		require.Equal(t, []float32{4, 2, 4}, list[float32](t, x.ScatterAdd(ids, x, 0)), dt)
		require.Equal(t, []float32{4, 2, 4}, list[float32](t, x.IndexAdd(ids, x, 0)), dt)
		require.Equal(t, []float32{4, 2, 4}, list[float32](t, x.ScatterReduce(tensor.ScatterSum, ids, x, 0, true)), dt)
		require.Equal(t, []float32{0, 0, 1, 0, 0, 0, 1, 0, 0}, list[float32](t, ids.OneHot(3, tensor.F32, 1, 0)), dt)
		require.Equal(t, []uint32{1, 0, 1}, list[uint32](t, ids.Bincount(3)), dt)
		require.NoError(t, d.Synchronize())
	}
	// The largest of a signed type is an index as others are.
	_, err := tensor.ToSlice[float32](x.Gather(tensor.From(d, []int64{math.MaxInt64}), 0))
	require.ErrorIs(t, err, tensor.ErrIndex)
}

func TestRandomOfWrongRanges(t *testing.T) {
	d := open(t)
	inf, nan := math.Inf(1), math.NaN()
	for _, bad := range []ten{
		tensor.Rand(d, tensor.F32, 1, 0, 3), tensor.Rand(d, tensor.F32, nan, 0, 3), tensor.Rand(d, tensor.F32, 0, inf, 3), tensor.Rand(d, tensor.F16, -inf, 0),
		tensor.Randn(d, tensor.F32, 0, -1, 3), tensor.Randn(d, tensor.F32, nan, 1, 3), tensor.Randn(d, tensor.F32, 0, inf, 3), tensor.Ones(d, tensor.F32, 2).RandLike(2, 1), tensor.Ones(d, tensor.F32, 2).RandnLike(0, -0.1),
	} {
		require.ErrorIs(t, bad.Err(), tensor.ErrArgument)
		require.ErrorContains(t, bad.Err(), "semantics_test.go")
	}
	require.Equal(t, []float32{2, 2}, list[float32](t, tensor.Rand(d, tensor.F32, 2, 2, 2)))
	require.Equal(t, []float32{2, 2}, list[float32](t, tensor.Randn(d, tensor.F32, 2, 0, 2)))
}

func TestFloat64s(t *testing.T) {
	d := open(t)
	for _, dt := range dtype.All() {
		x := inType(d, dt, 0, 1, 2, 3, 4, 6).Reshape(2, 3)
		for _, y := range layouts(x) {
			got, err := y.Float64s()
			require.NoError(t, err)
			require.Equal(t, []float64{0, 1, 2, 3, 4, 6}, got, dt)
		}
		got, err := x.T().Float64s()
		require.NoError(t, err)
		require.Equal(t, []float64{0, 3, 1, 4, 2, 6}, got, dt)
		got, err = x.Narrow(0, 0, 0).Float64s()
		require.NoError(t, err)
		require.Empty(t, got)
	}
	_, err := tensor.FromBytes(d, tensor.F4, []byte{1}).Float64s()
	require.ErrorIs(t, err, tensor.ErrDType)
	_, err = tensor.Ones(d, tensor.F32, 2).Add(tensor.Ones(d, tensor.F32, 3)).Float64s()
	require.ErrorIs(t, err, tensor.ErrBroadcast)
}

func TestShapesByRule(t *testing.T) {
	d := open(t)
	x := count(d, 3, 1, 2)
	require.Equal(t, tensor.Shape{2, 3, 4, 2}, x.Expand(2, -1, 4, -1).Shape())
	require.Equal(t, list[float32](t, x.BroadcastTo(3, 4, 2)), list[float32](t, x.BroadcastTo(-1, 4, -1)))
	require.ErrorIs(t, x.Expand(-1, 3, 1, 2).Err(), tensor.ErrBroadcast)
	require.ErrorContains(t, x.Expand(-1, 3, 1, 2).Err(), "dimension 0 is new")
	require.Error(t, x.Expand(-2, 1, 2).Err())

	y := count(d, 4, 3)
	require.Equal(t, list[float32](t, y.Narrow(0, 2, 2)), list[float32](t, y.Narrow(0, -2, 2)))
	require.Equal(t, list[float32](t, y.Narrow(1, 0, 1)), list[float32](t, y.Narrow(-1, -3, 1)))
	for _, bad := range []ten{y.Narrow(0, -5, 1), y.Narrow(0, -1, 2), y.Narrow(0, 4, 1)} {
		require.ErrorIs(t, bad.Err(), tensor.ErrRange)
	}
	require.ErrorIs(t, y.Narrow(2, -1, 1).Err(), tensor.ErrDim)

	a, b := count(d, 3, 1), count(d, 3, 4)
	require.Equal(t, list[float32](t, a.Mul(b)), list[float32](t, tensor.Einsum("ij,ij->ij", a, b)))
	require.Equal(t, list[float32](t, a.Mul(b).Sum(1)), list[float32](t, tensor.Einsum("ij,ij->i", a, b)))
	require.Equal(t, list[float32](t, a.T().Mul(b.Transpose(0, 1)).Sum()), list[float32](t, tensor.Einsum("ij,ji->", b, a.T())))
	require.Equal(t, list[float32](t, b.Sum(0).Mul(tensor.Ones(d, tensor.F32, 4))), list[float32](t, tensor.Einsum("ij,kj,j->j", b, tensor.Ones(d, tensor.F32, 1, 1), tensor.Ones(d, tensor.F32, 4))))
	require.ErrorIs(t, tensor.Einsum("ij,ij->i", count(d, 3, 2), b).Err(), tensor.ErrShape)
	require.ErrorIs(t, tensor.Einsum("ii", count(d, 1, 3)).Err(), tensor.ErrShape)

	for _, mode := range []tensor.PadMode{tensor.PadConstant, tensor.PadEdge, tensor.PadReflect, tensor.PadCircular} {
		for _, z := range layouts(count(d, 2, 3, 4)) {
			got := z.PadAll([][2]int{{1, 2}, {3, 0}}, mode, 7)
			require.Equal(t, tensor.Shape{2, 6, 7}, got.Shape())
			require.Equal(t, list[float32](t, z.Pad(1, 1, 2, mode, 7).Pad(2, 3, 0, mode, 7)), list[float32](t, got))
		}
	}
	require.Same(t, y, y.PadAll(nil, tensor.PadEdge, 0))
	require.ErrorIs(t, y.PadAll(make([][2]int, 3), tensor.PadEdge, 0).Err(), tensor.ErrRank)
	require.ErrorIs(t, y.PadAll([][2]int{{0, -1}}, tensor.PadEdge, 0).Err(), tensor.ErrArgument)
	require.ErrorIs(t, y.PadAll([][2]int{{0, math.MaxInt}}, tensor.PadEdge, 0).Err(), tensor.ErrTooLarge)
}

func TestNormsOverSeveral(t *testing.T) {
	d := open(t)
	shape := tensor.Shape{3, 4}
	x, w, b := tensor.Randn(d, tensor.F64, 1, 2, 2, 3, 4), tensor.Randn(d, tensor.F64, 0, 1, 3, 4), tensor.Randn(d, tensor.F64, 0, 1, 3, 4)
	mean := x.MeanKeep(1, 2)
	norm := x.Sub(mean).Div(x.VarKeep(0, 1, 2).AddScalar(1e-3).Sqrt())
	for _, y := range layouts(x) {
		alike(t, norm.Mul(w).Add(b), y.LayerNormOver(shape, w, b, 1e-3), 1e-12, "layer norm")
		alike(t, norm, y.LayerNormOver(shape, nil, nil, 1e-3), 1e-12, "layer norm")
		alike(t, x.Mul(w).Div(x.Sqr().MeanKeep(1, 2).AddScalar(1e-3).Sqrt()), y.RMSNormOver(shape, w, 1e-3), 1e-12, "rms norm")
	}
	for _, dt := range dtype.Floats() {
		got := x.Cast(dt).LayerNormOver(shape, w.Cast(dt), b.Cast(dt), 1e-3)
		require.Equal(t, dt, got.DType())
		require.Equal(t, tensor.Shape{2, 3, 4}, got.Shape())
	}
	for _, bad := range []ten{x.LayerNormOver(nil, nil, nil, 1), x.LayerNormOver(tensor.Shape{4, 3}, nil, nil, 1), x.LayerNormOver(shape, w.T(), nil, 1), x.RMSNormOver(tensor.Shape{1, 2, 3, 4}, nil, 1), x.RMSNormOver(shape, w.Get(0), 1)} {
		require.ErrorIs(t, bad.Err(), tensor.ErrShape)
		require.ErrorContains(t, bad.Err(), "semantics_test.go")
	}
}

func TestConvBias(t *testing.T) {
	d := open(t)
	c := tensor.Convolution{Stride: []int{2}, Padding: []int{1}, Groups: 2}
	for _, dt := range dtype.All() {
		x, w, b := count(d, 2, 4, 7).Mod(tensor.Item(d, float32(5))).Cast(dt), tensor.Ones(d, dt, 6, 2, 3), inType(d, dt, 1, 2, 3, 4, 5, 6)
		for _, y := range layouts(x) {
			alike(t, y.Conv(w, c).Add(b.Reshape(6, 1)).Cast(tensor.F64), y.ConvBias(w, b, c).Cast(tensor.F64), 0, dt.String())
		}
		back := tensor.Ones(d, dt, 4, 3, 3)
		alike(t, x.ConvTranspose(back, c).Add(b.Reshape(6, 1)).Cast(tensor.F64), x.ConvTransposeBias(back, b, c).Cast(tensor.F64), 0, dt.String())
		alike(t, x.Conv(w, c).Cast(tensor.F64), x.ConvBias(w, nil, c).Cast(tensor.F64), 0, dt.String())
		require.ErrorIs(t, x.ConvBias(w, b.Narrow(0, 0, 4), c).Err(), tensor.ErrShape)
		require.ErrorIs(t, x.ConvBias(w, b.Unsqueeze(0), c).Err(), tensor.ErrShape)
	}
}
