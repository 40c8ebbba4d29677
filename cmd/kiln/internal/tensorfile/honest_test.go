package tensorfile_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cmd/kiln/internal/tensorfile"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/tensor/file"
)

// quantizeOne quantizes one matrix by a recipe, and opens the result.
func quantizeOne(t *testing.T, e *file.Entry,
	o tensorfile.QuantizeOptions) (*tensorfile.Model, error) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out.gguf")
	require.NoError(t, gguf.WriteFile(in, nil, e))
	m := open(t, in)
	steps, err := tensorfile.Plan(m, o)
	if err != nil {
		return nil, err
	}
	if err := tensorfile.Quantize(out, m, steps, o); err != nil {
		require.NoFileExists(t, out)
		return nil, err
	}
	return open(t, out), nil
}

const weight = "blk.0.attn_k.weight"

// Numbers that a type cannot hold are errors with their place.
func TestQuantizedValuesAreFinite(t *testing.T) {
	for _, c := range []struct {
		recipe string
		at     int
		value  float64
		want   string
	}{
		{"Q4_0", 256 + 7, 1e6, `row 1, column 7 is 1e+06, too much for the scales of Q4_0`},
		{"Q4_K_S", 2*256 + 3, -1e9, `tensor "` + weight + `": row 2, column 3 is -1e+09`},
		{"Q8_0", 0, 1e8, `row 0, column 0 is 1e+08, too much for the scales of Q8_0`},
		{"Q4_0", 256 + 7, math.NaN(), `tensor "` + weight + `": row 1, column 7 is NaN`},
		{"F16", 9, 1e6, `tensor "` + weight + `": 1e+06 is too much for f16, which makes +Inf of it`},
		{"Q6_K", 5, math.Inf(-1), `tensor "` + weight + `": row 0, column 5 is -Inf`},
	} {
		x := waves(3 * 256)
		x[c.at] = float32(c.value)
		e := floats(t, weight, layout.Shape{3, 256}, x...)
		_, err := quantizeOne(t, e, tensorfile.QuantizeOptions{Recipe: recipeOf(t, c.recipe)})
		require.ErrorContains(t, err, c.want, c.recipe)
	}
	var b []byte
	for i := range 256 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(i)*1e300))
	}
	e, err := file.FromMemory(weight, dtype.F64, layout.Shape{1, 256}, b)
	require.NoError(t, err)
	_, err = quantizeOne(t, e, tensorfile.QuantizeOptions{Recipe: recipeOf(t, "Q4_0")})
	require.ErrorContains(t, err, "row 0, column 1 is 1e+300")
}

// Groups of zeros in front of others do not move what is behind them.
func TestGroupsOfZerosInIQ3S(t *testing.T) {
	for _, zeros := range [][]int{{0}, {3}, {0, 1, 5}, {7}, {0, 1, 2, 3, 4, 5, 6, 7}, nil} {
		x := waves(2 * 256)
		for _, g := range zeros {
			clear(x[32*g:][:32])
		}
		m, err := quantizeOne(t, floats(t, weight, layout.Shape{2, 256}, x...),
			tensorfile.QuantizeOptions{Recipe: recipeOf(t, "IQ3_S")})
		require.NoError(t, err)
		e, err := m.Get(weight)
		require.NoError(t, err)
		require.Equal(t, "IQ3_S", e.Stored)
		y := values(t, m, weight)
		for g := range 16 {
			var wrong, all float64
			for i, v := range x[32*g:][:32] {
				d := y[32*g+i] - float64(v)
				wrong, all = wrong+d*d, all+float64(v)*float64(v)
			}
			if all == 0 {
				all = 32 * 0.5
			}
			require.Less(t, wrong, 0.1*all, "zeros %v, group %d", zeros, g)
		}
	}
}

func TestImatrixOfAnotherModel(t *testing.T) {
	e := floats(t, weight, layout.Shape{2, 256}, waves(512)...)
	im := &imatrix.Matrix{}
	o := tensorfile.QuantizeOptions{Recipe: recipeOf(t, "IQ2_XXS"), Imatrix: im,
		ImatrixOf: "x.imatrix"}
	_, err := quantizeOne(t, e, o)
	require.ErrorContains(t, err, "x.imatrix has the importance of no tensor of")
	ones := make([]float32, 256)
	for i := range ones {
		ones[i] = 1
	}
	require.NoError(t, im.Add(&imatrix.Entry{Name: "other", Sums: ones, Counts: []int64{1}}))
	_, err = quantizeOne(t, e, o)
	require.ErrorContains(t, err, `but of others, such as "other"; is it of another model?`)
	require.NoError(t, im.Add(&imatrix.Entry{Name: weight, Sums: ones, Counts: []int64{1}}))
	_, err = quantizeOne(t, e, o)
	require.NoError(t, err)

	in := filepath.Join(t.TempDir(), "in.gguf")
	second := floats(t, "blk.0.attn_q.weight", layout.Shape{2, 256}, waves(512)...)
	require.NoError(t, gguf.WriteFile(in, nil, e, second))
	_, err = tensorfile.Plan(open(t, in), o)
	require.ErrorContains(t, err, `"blk.0.attn_q.weight"`)
	require.ErrorContains(t, err, "x.imatrix has none of this tensor")
}

// integers is a tensor of numbers of 64 bits.
func integers(t *testing.T, name string, d dtype.DType, x ...int64) *file.Entry {
	t.Helper()
	var b []byte
	for _, v := range x {
		b = dtype.FromInt(d, v).Append(b)
	}
	e, err := file.FromMemory(name, d, layout.Shape{len(x)}, b)
	require.NoError(t, err)
	return e
}

func TestIntegersAreComparedExactly(t *testing.T) {
	set := func(of ...*file.Entry) *tensorfile.Model {
		path := filepath.Join(t.TempDir(), "m.gguf")
		require.NoError(t, gguf.WriteFile(path, nil, of...))
		return open(t, path)
	}
	const big = 1 << 53
	a := set(integers(t, "a", dtype.I64, big, -big, math.MinInt64, 7),
		integers(t, "b", dtype.I32, 1, -5), integers(t, "same", dtype.I64, 1, -1))
	b := set(integers(t, "a", dtype.I64, big+1, -big-1, math.MaxInt64, 7),
		integers(t, "b", dtype.I32, 1, 4), integers(t, "same", dtype.I8, 1, -1))
	list, err := tensorfile.Diff(a, b, tensorfile.Tolerance{})
	require.NoError(t, err)
	var text []string
	for _, d := range list {
		text = append(text, d.String())
	}
	require.Equal(t, []string{
		"a: 3 of 4 elements differ, max abs 1.84467e+19, max rel 2",
		"b: 1 of 2 elements differ, max abs 9, max rel 1.8",
		"same: types i64 and i8, the same values",
	}, text)
	a, b = set(integers(t, "a", dtype.I64, big)), set(integers(t, "a", dtype.I64, big+1))
	list, err = tensorfile.Diff(a, b, tensorfile.Tolerance{})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.True(t, list[0].Beyond)
	require.EqualValues(t, 1, list[0].MaxAbs)
	list, err = tensorfile.Diff(a, b, tensorfile.Tolerance{Abs: 1})
	require.NoError(t, err)
	require.False(t, list[0].Beyond)
}

// The error that a comparison ends with is the one that ended it.
func TestErrorsOfComparisons(t *testing.T) {
	lost := errors.New("device lost")
	n := 4 * (1 << 16)
	broken, err := file.FromFunc("w", dtype.F32, layout.Shape{n},
		func() ([]byte, error) { return nil, lost })
	require.NoError(t, err)
	whole, err := file.FromFunc("w", dtype.F16, layout.Shape{n},
		func() ([]byte, error) { return make([]byte, 2*n), nil })
	require.NoError(t, err)
	of := func(e *file.Entry) *tensorfile.Model {
		s := file.NewSet()
		require.NoError(t, s.Add(e))
		return &tensorfile.Model{Set: s, Path: "x"}
	}
	for range 20 {
		_, err = tensorfile.Diff(of(broken), of(whole), tensorfile.Tolerance{})
		require.ErrorIs(t, err, lost)
		_, err = tensorfile.Diff(of(whole), of(broken), tensorfile.Tolerance{})
		require.ErrorIs(t, err, lost)
	}
}

// Names of files do not control the terminal.
func TestNamesOfDifferences(t *testing.T) {
	d := tensorfile.Difference{Name: "a\x1b[2J\nb", Only: "x\r"}
	require.Equal(t, "a·[2J·b: only in x·", d.String())
}

// What metadata says of quantized types is there as long as they are.
func TestMetadataOfQuantization(t *testing.T) {
	m := &gguf.Metadata{}
	m.Set("general.file_type", gguf.Of(uint32(7)))
	m.Set("general.quantization_version", gguf.Of(uint32(2)))
	m.Set("quantize.imatrix.file", gguf.Of("im"))
	m.Set("quantize.imatrix.chunks_count", gguf.Of(uint32(2)))
	in := filepath.Join(t.TempDir(), "m.gguf")
	require.NoError(t, gguf.WriteFile(in, m, floats(t, "norm", layout.Shape{2}, 1, 2), q8(t, "w")))
	from := open(t, in)
	for _, c := range []struct {
		o    tensorfile.Options
		as   string
		want string
	}{
		{tensorfile.Options{DType: dtype.F16}, "gguf", "map[general.file_type:7 " +
			"general.quantization_version:2 quantize.imatrix.chunks_count:2 quantize.imatrix.file:im]"},
		{tensorfile.Options{Dequantize: true}, "gguf", "map[general.file_type:0]"},
		{tensorfile.Options{Dequantize: true, DType: dtype.BF16}, "gguf", "map[general.file_type:32]"},
		{tensorfile.Options{Dequantize: true, DType: dtype.F16}, "safetensors",
			"map[general.file_type:1]"},
	} {
		out := filepath.Join(t.TempDir(), "out."+c.as)
		require.NoError(t, tensorfile.Write(out, "", from, c.o))
		require.Equal(t, c.want, fmt.Sprint(open(t, out).Metadata()))
	}
	require.Len(t, from.Facts(), 4, "the source is not changed")
}

// The name of a folder is no pattern.
func TestFoldersOfAnyName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	if err := os.Mkdir(dir, 0o700); err != nil {
		dir = strings.TrimSuffix(dir, "*") // Windows has no such names
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	require.NoError(t, gguf.WriteFile(filepath.Join(dir, "m.gguf"), nil,
		floats(t, "a", layout.Shape{1}, 1)))
	require.Equal(t, "gguf", open(t, dir).Format)
}

// What a GGUF file cannot have is known before a tensor is read.
func TestCheck(t *testing.T) {
	unread := func(d dtype.DType) *file.Entry {
		e, err := file.FromFunc("a", d, layout.Shape{2},
			func() ([]byte, error) { t.Error("a tensor was read"); return nil, nil })
		require.NoError(t, err)
		return e
	}
	o := tensorfile.QuantizeOptions{Recipe: recipeOf(t, "Q4_0")}
	for _, c := range []struct {
		d    dtype.DType
		key  string
		want string
	}{
		{dtype.I32, "key", ""},
		{dtype.U8, "key", "GGUF has no type for u8"},
		{dtype.I32, "", "a key of 0"},
	} {
		s := file.NewSet()
		require.NoError(t, s.Add(unread(c.d)))
		m := &tensorfile.Model{Set: s, Path: "x", Meta: &gguf.Metadata{}}
		m.Meta.Set(c.key, gguf.Of("x"))
		steps, err := tensorfile.Plan(m, o)
		require.NoError(t, err)
		if err := tensorfile.Check(m, steps, o); c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}
