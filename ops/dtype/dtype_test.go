package dtype_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/dtype"
)

func TestTable(t *testing.T) {
	require.Len(t, dtype.All(), 12)
	require.Len(t, dtype.Ints(), 6)
	require.Len(t, dtype.Floats(), 6)
	for d := dtype.Invalid + 1; d.Valid(); d++ {
		got, err := dtype.Parse(d.String())
		require.NoError(t, err)
		require.Equal(t, d, got)
		require.NotNil(t, d.Type())
		if d.Computes() {
			require.EqualValues(t, d.Size(), d.Type().Size())
			require.NotEqual(t, d.IsInt(), d.IsFloat())
		}
	}
	_, err := dtype.Parse("F32")
	require.ErrorContains(t, err, `cannot parse "F32" as a dtype: there are u8, u32`)
	require.Equal(t, "invalid", dtype.DType(200).String())
	require.False(t, dtype.DType(200).Computes())
	require.Equal(t, dtype.F32, dtype.BF16.Compute())
	require.Equal(t, dtype.F64, dtype.F64.Compute())
	require.Equal(t, dtype.I16, dtype.I16.Compute())
	require.Equal(t, dtype.BF16, dtype.Of[dsl.BF16]())
	require.Equal(t, dtype.U8, dtype.Of[uint8]())
}

// The compiler knows the types by the same names, but for 8-bit floats, which it takes for bytes.
func TestTypesOfTheCompiler(t *testing.T) {
	sizes := map[string]int{"f8e4m3": ir.U8.Size(), "f8e5m2": ir.U8.Size()}
	for _, s := range ir.Scalars {
		sizes[s.String()] = s.Size()
	}
	for _, d := range dtype.All() {
		require.Equal(t, sizes[d.String()], d.Size(), d)
	}
}

func TestUnsigned(t *testing.T) {
	for d := dtype.Invalid; d <= dtype.F8E8M0; d++ {
		require.Equal(t, d.IsInt() && dtype.FromInt(d, -1).Float() == 0, d.IsUnsigned(), d)
	}
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		d       dtype.DType
		n, want int
	}{
		{dtype.F32, 3, 12}, {dtype.F4, 0, 0}, {dtype.F4, 3, 2}, {dtype.F4, 8, 4}, {dtype.F6E2M3, 4, 3}, {dtype.F6E2M3, 5, 4}, {dtype.F6E3M2, 8, 6}, {dtype.F8E8M0, 7, 7},
	} {
		assert.Equal(t, c.want, c.d.Bytes(c.n), "%d of %s", c.n, c.d)
	}
	assert.Zero(t, dtype.F4.Size())
}

func TestScalar(t *testing.T) {
	for _, d := range dtype.All() {
		for _, x := range []float64{0, 1, 2, 40} {
			s := dtype.FromFloat(d, x)
			require.Equal(t, d, s.DType())
			require.Equal(t, x, s.Float())
			require.Equal(t, int64(x), s.Int())
			require.Equal(t, s, dtype.FromInt(d, int64(x)))
			require.Equal(t, s, dtype.FromBits(d, s.Bits()))
			require.Len(t, s.Append(nil), d.Size())
			for _, e := range dtype.All() {
				require.Equal(t, dtype.FromFloat(e, x), s.Convert(e))
			}
		}
		require.Equal(t, "1", dtype.One(d).String())
		require.Equal(t, 0.0, dtype.Zero(d).Float())
	}
	assert.EqualValues(t, 255, dtype.FromFloat(dtype.U8, 1e9).Int())
	assert.EqualValues(t, 0, dtype.FromFloat(dtype.U8, math.NaN()).Int())
	assert.EqualValues(t, -32768, dtype.FromInt(dtype.I16, -1<<40).Int())
	assert.EqualValues(t, -3, dtype.FromFloat(dtype.I32, -3.9).Int())
	assert.EqualValues(t, 255, dtype.New(int32(-1)).Convert(dtype.U8).Int(), "integers wrap")
	assert.EqualValues(t, math.MaxInt64, dtype.FromInt(dtype.I64, math.MaxInt64).Int())
	assert.True(t, math.IsNaN(dtype.FromFloat(dtype.F8E4M3, math.NaN()).Float()))
	assert.Equal(t, "-0.5", dtype.New(dsl.To[dsl.BF16](-0.5)).String())
	assert.Equal(t, []byte{0xfe, 0xff}, dtype.New(int16(-2)).Append(nil))
	assert.Equal(t, dtype.Scalar{}, dtype.FromFloat(dtype.F4, 1))
	assert.Equal(t, "invalid(0x0)", dtype.Scalar{}.String())
}
