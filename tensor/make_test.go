package tensor_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor"
)

func TestConstructors(t *testing.T) {
	d := open(t)
	seq := slices.Values([]int32{3, 1, 4, 1})
	require.Equal(t, []int32{3, 1, 4, 1}, list[int32](t, tensor.FromSeq(d, seq)))
	require.Equal(t, tensor.Shape{2, 2}, tensor.FromSeq(d, seq, 2, tensor.Inferred).Shape())
	require.ErrorIs(t, tensor.FromSeq(d, seq, 3).Err(), tensor.ErrShape)
	require.ErrorIs(t, tensor.FromSeq[int32](d, nil).Err(), tensor.ErrArgument)
	require.Equal(t, tensor.Shape{0}, tensor.FromSeq(d, maps.Values(map[int]float32{})).Shape())

	x := tensor.Zeros(d, tensor.BF16, 2, 3).T()
	like := x.EmptyLike()
	require.NoError(t, like.Err())
	require.Equal(t, tensor.Shape{3, 2}, like.Shape())
	require.Equal(t, tensor.BF16, like.DType())

	require.InDeltaSlice(t, []float32{1, 10, 100, 1000}, list[float32](t, tensor.Logspace(d, tensor.F32, 0, 3, 4, 10)), 1e-3)
	require.Equal(t, []float32{0.5, 1, 2}, list[float32](t, tensor.Logspace(d, tensor.F32, -1, 1, 3, 2)))
	require.InDeltaSlice(t, []float32{1, math.E}, list[float32](t, tensor.Logspace(d, tensor.F32, 0, 1, 2, math.E)), 1e-6)
	require.Equal(t, []float32{4, 32, 256}, list[float32](t, tensor.Logspace(d, tensor.BF16, 2, 8, 3, 2).Cast(tensor.F32)))
	require.ErrorIs(t, tensor.Logspace(d, tensor.I32, 0, 3, 4, 10).Err(), tensor.ErrDType)
	require.ErrorIs(t, tensor.Logspace(d, tensor.F32, 0, 3, 4, -1).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.Logspace(d, tensor.F32, 0, 3, -4, 10).Err(), tensor.ErrShape)
	require.Equal(t, []float32{1}, list[float32](t, tensor.Linspace(d, tensor.F32, 1, 5, 1)))
	require.Empty(t, list[float32](t, tensor.Linspace(d, tensor.F32, 1, 5, 0)))

	// Every element type counts.
	require.Equal(t, []float32{3, 2, 1}, list[float32](t, tensor.ArangeStep(d, int16(3), 0, -1).Cast(tensor.F32)))
	require.Equal(t, []int64{math.MaxInt64 - 1}, list[int64](t, tensor.Arange(d, int64(math.MaxInt64-1), math.MaxInt64)))
	require.Equal(t, []float64{0, .5, 1}, list[float64](t, tensor.ArangeStep(d, 0.0, 1.5, .5)))
	require.Empty(t, list[uint32](t, tensor.Arange(d, uint32(5), 2)))
	require.ErrorIs(t, tensor.ArangeStep(d, 1, int64(2), 0).Err(), tensor.ErrArgument)
}

func TestFromOwned(t *testing.T) {
	d := open(t)
	data := make([]float32, 100_000)
	for i := range data {
		data[i] = float32(i)
	}
	x := tensor.FromOwned(d, data, 100, tensor.Inferred)
	require.Equal(t, tensor.Shape{100, 1000}, x.Shape())
	require.Equal(t, list[float32](t, count(d, 100, 1000)), list[float32](t, x.AddScalar(0)))
	require.NoError(t, x.ZeroSet())
	require.NoError(t, d.Synchronize())
	require.Equal(t, d.Kind() == "cpu", data[99_999] == 0)
	require.NoError(t, x.Free())
	require.ErrorIs(t, x.Exp().Err(), tensor.ErrFreed)
	require.Equal(t, []int16{1, 2}, list[int16](t, tensor.FromOwned(d, []int16{1, 2})))
	require.Equal(t, tensor.Shape{0, 3}, tensor.FromOwned(d, []int16{}, 0, 3).Shape())
	require.ErrorIs(t, tensor.FromOwned(d, []int16{1, 2}, 3).Err(), tensor.ErrShape)
	require.ErrorIs(t, tensor.FromOwned(nil, []int16{1, 2}).Err(), tensor.ErrArgument)

	s := tensor.OpenScope()
	y := s.Own(tensor.FromOwned(d, []int16{1, 2}))
	require.NoError(t, s.Close())
	require.ErrorIs(t, y.Neg().Err(), tensor.ErrFreed)
}

func TestDiagonals(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2})
	require.Equal(t, []float32{1, 0, 0, 2}, list[float32](t, x.DiagEmbed(0)))
	require.Equal(t, []float32{0, 1, 0, 0, 0, 2, 0, 0, 0}, list[float32](t, x.DiagEmbed(1)))
	require.Equal(t, []float32{0, 0, 0, 1, 0, 0, 0, 2, 0}, list[float32](t, x.DiagEmbed(-1)))
	y := count(d, 2, 2, 3)
	require.Equal(t, tensor.Shape{2, 2, 3, 3}, y.DiagEmbed(0).Shape())
	require.Equal(t, list[float32](t, y), list[float32](t, y.DiagEmbed(0).Diagonal(0, -2, -1)))
	require.Equal(t, []float32{4, 16}, list[float32](t, y.Trace()))
	require.ErrorIs(t, tensor.Item(d, int32(1)).DiagEmbed(0).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.Trace().Err(), tensor.ErrDim)
	require.ErrorIs(t, tensor.FromBytes(d, tensor.F4, []byte{1}).DiagEmbed(0).Err(), tensor.ErrDType)
}

func TestFromBuffer(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{0, 1, 2, 3, 4, 5})
	row := func(n, stride, offset int) tensor.Layout {
		l, err := layout.New(tensor.Shape{n}, []int{stride}, offset)
		require.NoError(t, err)
		return l
	}
	y := tensor.FromBuffer(d, x.Buffer(), tensor.F32, row(3, 2, 1))
	require.Equal(t, []float32{1, 3, 5}, list[float32](t, y))
	require.NoError(t, y.ZeroSet())
	require.Equal(t, []float32{0, 0, 2, 0, 4, 0}, list[float32](t, x))
	require.Empty(t, list[float32](t, tensor.FromBuffer(d, x.Buffer(), tensor.F32, row(0, 2, 1))))
	require.ErrorIs(t, tensor.FromBuffer(d, x.Buffer(), tensor.F32, row(3, 2, 2)).Err(), tensor.ErrRange)
	require.ErrorIs(t, tensor.FromBuffer(d, x.Buffer(), tensor.F64, row(4, 1, 0)).Err(), tensor.ErrRange)
	require.ErrorIs(t, tensor.FromBuffer(d, nil, tensor.F32, row(1, 1, 0)).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.FromBuffer(nil, x.Buffer(), tensor.F32, row(1, 1, 0)).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.FromBuffer(d, x.Buffer(), 0, row(1, 1, 0)).Err(), tensor.ErrDType)
	require.ErrorIs(t, tensor.FromBuffer(d, x.Buffer(), tensor.F4, row(3, 2, 0)).Err(), tensor.ErrDType)
	other, err := tensor.Open("cpu:interp8")
	require.NoError(t, err)
	defer other.Close()
	require.ErrorIs(t, tensor.FromBuffer(other, x.Buffer(), tensor.F32, row(1, 1, 0)).Err(), tensor.ErrDevice)
}

func TestCopy2D(t *testing.T) {
	d := open(t)
	x := tensor.Zeros(d, tensor.F32, 3, 5)
	src := count(d, 4, 3).T() // not contiguous: 0 3 6 9, 1 4 7 10, 2 5 8 11
	require.NoError(t, x.Copy2D(1, 5, src, 1, 4, 3, 2))
	require.Equal(t, []float32{0, 3, 6, 0, 0, 0, 4, 7, 0, 0, 0, 5, 8, 0, 0}, list[float32](t, x))
	require.NoError(t, x.Get(2).Copy2D(0, 0, x, 1, 0, 1, 4), "to another row of itself")
	require.Equal(t, []float32{3, 6, 0, 0, 0}, list[float32](t, x.Get(2)))
	require.NoError(t, x.Copy2D(0, 1, src, 0, 0, 3, 1), "one element three times")
	require.Equal(t, []float32{0, 0, 0, 0, 0}, list[float32](t, x.Get(0)))
	require.NoError(t, x.Copy2D(15, 1, src, 12, 0, 0, 5))
	for _, c := range []struct{ at, pitch, from, srcPitch, rows, cols int }{
		{11, 5, 0, 0, 1, 5}, {0, 5, 0, 5, 4, 1}, {0, 5, 9, 0, 1, 4}, {0, 1, 0, 4, 2, 2}, {-1, 5, 0, 4, 2, 2}, {0, 5, 0, 1 << 62, 2, 2}, {0, 5, 0, 4, -1, 2},
	} {
		require.ErrorIs(t, x.Copy2D(c.at, c.pitch, src, c.from, c.srcPitch, c.rows, c.cols), tensor.ErrRange, "%+v", c)
	}
	require.ErrorIs(t, x.T().Copy2D(0, 5, src, 0, 4, 2, 2), tensor.ErrArgument)
	require.ErrorIs(t, x.Copy2D(0, 5, src.Cast(tensor.I32), 0, 4, 2, 2), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, x.Copy2D(0, 5, nil, 0, 4, 2, 2), tensor.ErrArgument)
}

func TestScatterInto(t *testing.T) {
	d := open(t)
	ids := tensor.From(d, []int64{2, 0, 2}).Reshape(3, 1)
	x := tensor.Ones(d, tensor.F32, 2, 3).T() // not contiguous, and stays so
	require.NoError(t, x.ScatterAddSet(ids, count(d, 3, 1).AddScalar(10), 0))
	require.Equal(t, []float32{12, 1, 1, 1, 23, 1}, list[float32](t, x))
	require.NoError(t, x.ScatterSet(ids, count(d, 3, 1), 0))
	require.Equal(t, []float32{1, 1, 1, 1, 2, 1}, list[float32](t, x))
	require.NoError(t, x.IndexAddSet(ids.Reshape(3), x, 0), "with itself")
	require.Equal(t, []float32{2, 2, 1, 1, 5, 3}, list[float32](t, x))
	require.ErrorIs(t, x.BroadcastTo(2, 3, 2).ScatterSet(ids, x, 0), tensor.ErrArgument)
	require.ErrorIs(t, x.ScatterSet(x, x, 0), tensor.ErrDType)
	require.ErrorIs(t, x.ScatterSet(ids, x.Cast(tensor.I32), 0), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, x.ScatterAddSet(ids, nil, 0), tensor.ErrArgument)
	require.ErrorIs(t, x.IndexAddSet(ids.Reshape(3), x, 2), tensor.ErrDim)
}

func TestDevice(t *testing.T) {
	d := open(t)
	again, err := tensor.Open(d.Name())
	require.NoError(t, err)
	defer again.Close()
	require.Same(t, d, again)
	require.Contains(t, tensor.Devices(""), "cpu")
	require.Contains(t, tensor.Devices(d.Kind()), d.Name())
	require.Empty(t, tensor.Devices("abacus"))
	require.Contains(t, d.Name(), d.Kind())
	for _, dt := range []tensor.DType{tensor.U8, tensor.I64, tensor.BF16, tensor.F8E4M3, tensor.F32} {
		require.True(t, d.Supports(dt), dt)
	}
	require.Equal(t, d.Kind() != "metal", d.Supports(tensor.F64))
	require.False(t, d.Supports(tensor.F4))
	free, total, err := d.MemInfo()
	require.NoError(t, err)
	require.True(t, 0 < free && free <= total)
}
