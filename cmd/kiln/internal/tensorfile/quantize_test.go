package tensorfile_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cmd/kiln/internal/tensorfile"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/quantized/recipe"
)

// waves is n numbers.
func waves(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i*i%977)) * float64(1+i%5))
	}
	return x
}

// whole is a model of the llama architecture with two experts, and not in the order of layers.
func whole(t *testing.T) *tensorfile.Model {
	t.Helper()
	m := &gguf.Metadata{}
	m.Set(gguf.KeyArchitecture, gguf.Of("llama"))
	m.Set("general.file_type", gguf.Of(uint32(0)))
	m.Set("llama.block_count", gguf.Of(uint32(1)))
	m.Set("llama.attention.head_count", gguf.ListOf([]uint32{4}))
	m.Set("llama.expert_count", gguf.Of(uint32(2)))
	path := filepath.Join(t.TempDir(), "m.gguf")
	require.NoError(t, gguf.WriteFile(path, m,
		floats(t, "blk.0.ffn_down_exps.weight", layout.Shape{2, 3, 256}, waves(6*256)...),
		floats(t, "blk.0.attn_v.weight", layout.Shape{2, 256}, waves(512)...),
		floats(t, "blk.0.attn_norm.weight", layout.Shape{4}, waves(4)...),
		floats(t, "output.weight", layout.Shape{1, 256}, waves(256)...),
		floats(t, "token_embd.weight", layout.Shape{1, 48}, waves(48)...)))
	return open(t, path)
}

func recipeOf(t *testing.T, name string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse(name)
	require.NoError(t, err)
	return r
}

func TestQuantize(t *testing.T) {
	m := whole(t)
	im := &imatrix.Matrix{Datasets: []string{"text"}, Chunks: 3}
	sums := make([]float32, 2*256)
	for i := range sums {
		sums[i] = float32(i%7) + 1
	}
	e := &imatrix.Entry{Name: "blk.0.ffn_down_exps.weight", Sums: sums, Counts: []int64{2, 4}}
	require.NoError(t, im.Add(e))
	o := tensorfile.QuantizeOptions{Recipe: recipeOf(t, "Q4_K_S"), Imatrix: im,
		ImatrixOf: "dir/im.gguf"}
	steps, err := tensorfile.Plan(m, o)
	require.NoError(t, err)
	var plan []string
	for _, s := range steps {
		plan = append(plan, s.From.Name+" "+s.To.Stored)
	}
	require.Equal(t, []string{
		"output.weight Q6_K", "token_embd.weight f16", "blk.0.attn_norm.weight F32",
		"blk.0.attn_v.weight Q5_K", "blk.0.ffn_down_exps.weight Q4_K",
	}, plan)
	path := filepath.Join(t.TempDir(), "q.gguf")
	require.NoError(t, tensorfile.Quantize(path, m, steps, o))
	q := open(t, path)
	var keys []string
	for k := range q.Meta.All() {
		keys = append(keys, k)
	}
	require.Equal(t, []string{
		"general.architecture", "llama.block_count", "llama.attention.head_count", "llama.expert_count",
		"general.quantization_version", "general.file_type", "quantize.imatrix.file",
		"quantize.imatrix.dataset",
		"quantize.imatrix.entries_count", "quantize.imatrix.chunks_count",
	}, keys)
	n, err := gguf.Get[uint32](q.Meta, "general.file_type")
	require.NoError(t, err)
	require.EqualValues(t, 14, n)
	name, err := gguf.Get[string](q.Meta, "quantize.imatrix.file")
	require.NoError(t, err)
	require.Equal(t, "im.gguf", name)

	// Each expert has its own importance.
	w, err := q.Get("blk.0.ffn_down_exps.weight")
	require.NoError(t, err)
	got, err := w.Bytes()
	require.NoError(t, err)
	want := make([]byte, 6*144)
	for i := range 2 {
		part := want[i*3*144:][:3*144]
		require.NoError(t, format.Quantize(part, waves(6 * 256)[i*3*256:][:3*256], 256, format.Q4_K,
			e.Weights()[i*256:][:256]))
	}
	require.Equal(t, want, got)
}

// The same blocks are made of many rows at once and of few, of which it is told; experts have their
// own importance either way.
func TestProgressOfQuantizing(t *testing.T) {
	m := whole(t)
	im := &imatrix.Matrix{}
	sums := make([]float32, 2*256)
	for i := range sums {
		sums[i] = float32(i%7) + 1
	}
	require.NoError(t, im.Add(&imatrix.Entry{Name: "blk.0.ffn_down_exps.weight", Sums: sums,
		Counts: []int64{2, 4}}))
	run := func(atOnce int) ([]byte, []int64) {
		defer tensorfile.AtOnce(atOnce)()
		var told []int64
		o := tensorfile.QuantizeOptions{Recipe: recipeOf(t, "Q4_K_S"), Imatrix: im, ImatrixOf: "im",
			Wrote: func(n int64) { told = append(told, n) }}
		steps, err := tensorfile.Plan(m, o)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "q.gguf")
		require.NoError(t, tensorfile.Quantize(path, m, steps, o))
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, slices.IsSorted(told), "%v", told)
		require.EqualValues(t, len(b), told[len(told)-1])
		return b, told
	}
	want, few := run(1 << 22)
	for _, n := range []int{1, 256, 512, 1024} {
		got, told := run(n)
		require.Equal(t, want, got, "%d", n)
		require.Equal(t, n < 1024, len(told) > len(few), "%d: %v and %v", n, told, few)
	}
}

func TestQuantizeMistakes(t *testing.T) {
	m := whole(t)
	_, err := tensorfile.Plan(m, tensorfile.QuantizeOptions{Recipe: recipeOf(t, "IQ2_XXS")})
	require.ErrorContains(t, err, "IQ2_XXS is made with the importance of columns, and there is none")
	im := &imatrix.Matrix{}
	e := &imatrix.Entry{Name: "blk.0.attn_v.weight", Sums: make([]float32, 255), Counts: []int64{1}}
	require.NoError(t, im.Add(e))
	_, err = tensorfile.Plan(m, tensorfile.QuantizeOptions{Recipe: recipeOf(t, "Q4_K_M"), Imatrix: im})
	require.ErrorContains(t, err, "importance of 255 columns, and it has 1 matrices of 256")

	path := filepath.Join(t.TempDir(), "m.gguf")
	require.NoError(t, gguf.WriteFile(path, nil, q8(t, "a.weight"), q8(t, "b")))
	m = open(t, path)
	o := tensorfile.QuantizeOptions{Recipe: recipeOf(t, "Q4_0")}
	_, err = tensorfile.Plan(m, o)
	require.ErrorContains(t, err, "it has type Q8_0, and is to have Q4_0: errors add up")
	o.Requantize = true
	steps, err := tensorfile.Plan(m, o)
	require.NoError(t, err)
	require.Equal(t, "Q4_0", steps[0].To.Stored)
	require.Equal(t, "Q8_0", steps[1].To.Stored, "no weight")
	o.Recipe = recipeOf(t, "Q8_0")
	o.Requantize = false
	steps, err = tensorfile.Plan(m, o)
	require.NoError(t, err)
	require.Same(t, steps[0].From, steps[0].To, "as it is")
	require.Error(t, tensorfile.Quantize(filepath.Join(path, "x"), m, steps, o))
	_, err = os.Stat(path)
	require.NoError(t, err)
}
