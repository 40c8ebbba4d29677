package format

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	last := -1
	for _, f := range Types() {
		info, err := f.Info()
		require.NoError(t, err)
		require.Greater(t, int(f), last, "%s: rows are in the order of ids", f)
		last = int(f)
		require.Equal(t, f, info.Type)
		require.Positive(t, info.Elems)
		require.Positive(t, info.Bytes)
		require.True(t, info.Partner.Valid())
		for _, name := range []string{info.Name, strings.ToLower(info.Name), strings.ReplaceAll(info.Name, "_K", "k")} {
			got, err := Parse(name)
			require.NoError(t, err)
			require.Equal(t, f, got, name)
		}
	}
	require.Len(t, Types(), 35)
}

func TestUnknownTypes(t *testing.T) {
	for _, id := range []Type{4, 5, 31, 36, 43, 63, 64, math.MaxUint32} {
		require.False(t, id.Valid(), "%d", id)
		require.False(t, id.IsQuantized(), "%d", id)
		_, err := id.Info()
		require.ErrorIs(t, err, ErrType)
		_, err = id.RowBytes(256)
		require.ErrorIs(t, err, ErrType)
		require.Contains(t, id.String(), "Type(")
	}
	_, err := Parse("Q4_2")
	require.ErrorIs(t, err, ErrType)
	require.ErrorContains(t, err, "Q4_2")
}

func TestRowBytes(t *testing.T) {
	for _, c := range []struct {
		of   Type
		n    int64
		want int64 // -1 is an error
	}{
		{Q4_0, 0, 0}, {Q4_0, 64, 36}, {Q4_0, 33, -1}, {Q4_0, -32, -1}, {Q6_K, 512, 420}, {Q6_K, 128, -1},
		{F16, 3, 6}, {MXFP4, 32, 17}, {I64, math.MaxInt64, -1}, {Q8_1, math.MaxInt64 / 64 * 64, -1},
	} {
		got, err := c.of.RowBytes(c.n)
		if c.want < 0 {
			require.ErrorIs(t, err, ErrSize, "%s %d", c.of, c.n)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s %d", c.of, c.n)
	}
	require.True(t, Q4_0.IsQuantized())
	require.False(t, F16.IsQuantized())
}

// Each format is written by at most one interface without importance and one with it, so that hosts
// and devices can't differ in which they take.
func TestQuantizerKind(t *testing.T) {
	for _, c := range []struct {
		of          Type
		plain, with QuantizerKind
	}{
		{Q4_0, PlainQuantizer, WeightedQuantizer}, {Q8_0, PlainQuantizer, PlainQuantizer},
		{Q6_K, PlainQuantizer, WeightedQuantizer}, {IQ2_XXS, NoQuantizer, OnHost},
		{IQ3_S, OnHost, OnHost}, {NVFP4, PlainQuantizer, PlainQuantizer}, {F16, NoQuantizer, NoQuantizer},
		{99, NoQuantizer, NoQuantizer},
	} {
		require.Equal(t, c.plain, c.of.QuantizerKind(false), c.of)
		require.Equal(t, c.with, c.of.QuantizerKind(true), c.of)
	}
	for _, of := range Types() {
		if !of.IsQuantized() {
			continue
		}
		f, err := of.Block()
		require.NoError(t, err)
		_, host := f.(HostQuantizer)
		_, plain := f.(Quantizer)
		_, weighted := f.(Weighted)
		require.False(t, host && (plain || weighted), of)
		require.Equal(t, host, slices.Contains([]Type{IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S}, of), of)
		require.True(t, of.Quantizes(true), of)
		info, err := of.Info()
		require.NoError(t, err)
		require.Equal(t, info.Imatrix != Required, of.Quantizes(false), of)
	}
}
