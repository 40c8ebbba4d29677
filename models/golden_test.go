package models

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// golden is a tiny model with random weights and what the reference library computes with it: see
// testdata/gen.py.
type golden struct {
	Arch    string            // of GGUF files
	Names   map[string]string // of tensors there; nil if the names are not known
	Config  json.RawMessage
	Tensors map[string][]int
	Prompt  []int32
	Logits  []byte // F32, (prompt, vocab)
	Greedy  []int32
}

// readGolden reads all of them, by the names of cases.
var readGolden = sync.OnceValues(func() (map[string]*golden, error) {
	paths, err := filepath.Glob("testdata/golden*.json.gz")
	if err != nil {
		return nil, err
	}
	out := map[string]*golden{}
	for _, path := range paths {
		if err := decode(path, &out); err != nil {
			return nil, err
		}
	}
	return out, nil
})

// decode reads golden data, which are compressed JSON.
func decode(path string, out any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err == nil {
		err = json.NewDecoder(z).Decode(out)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// numbers are the weights of a tensor, by the rule of gen.py.
func numbers(name string, shape []int) []float32 {
	out := make([]float32, tensor.Shape(shape).Count())
	for i, x := range hashes(name, len(out)) {
		u := float64(x)/(1<<23) - 1
		switch {
		case len(shape) == 1 && strings.HasSuffix(name, "weight"):
			out[i] = float32(u*0.25 + 1)
		case len(shape) == 1:
			out[i] = float32(u * 0.25)
		default:
			out[i] = float32(u * 2.5 / math.Sqrt(float64(shape[len(shape)-1])))
		}
	}
	return out
}

// codes are the bytes of a tensor of MXFP4, by that rule.
func codes(name string, shape []int) []byte {
	out := make([]byte, tensor.Shape(shape).Count())
	for i, x := range hashes(name, len(out)) {
		if out[i] = byte(x); strings.HasSuffix(name, "_scales") {
			out[i] = 120 + byte(x%4)
		}
	}
	return out
}

// hashes are the numbers of 24 bits that n elements of a tensor are made of.
func hashes(name string, n int) iter.Seq2[int, uint64] {
	seed := uint64(crc32.ChecksumIEEE([]byte(name))) * 0xD1342543DE82EF95
	return func(yield func(int, uint64) bool) {
		for i := range n {
			x := uint64(i)*0x9E3779B97F4A7C15 + seed
			x ^= x >> 32
			x *= 0xBF58476D1CE4E5B9
			x ^= x >> 29
			if !yield(i, x>>40) {
				return
			}
		}
	}
}

// folder writes the model as it is published.
func (g *golden) folder(t testing.TB) string {
	t.Helper()
	return g.renamed(t, func(name string) string { return name })
}

// renamed is folder with other names of tensors.
func (g *golden) renamed(t testing.TB, to func(name string) string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), g.Config, 0o644))
	var list []*file.Entry
	for _, name := range slices.Sorted(maps.Keys(g.Tensors)) {
		shape := g.Tensors[name]
		dt, b := tensor.F32, []byte(nil)
		if strings.HasSuffix(name, "_blocks") || strings.HasSuffix(name, "_scales") {
			dt, b = tensor.U8, codes(name, shape)
		} else {
			for _, x := range numbers(name, shape) {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			}
		}
		e, err := file.FromMemory(to(name), dt, shape, b)
		require.NoError(t, err)
		list = append(list, e)
	}
	require.NoError(t, safetensors.WriteFile(filepath.Join(dir, "model.safetensors"), nil, list...))
	return dir
}

// logits are the reference's.
func (g *golden) logits() []float32 {
	out := make([]float32, len(g.Logits)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(g.Logits[4*i:]))
	}
	return out
}

// check feeds the prompt in several ways, and compares logits and greedy tokens.
func (g *golden) check(t *testing.T, m *LM, within float64) {
	t.Helper()
	want, vocab := g.logits(), m.Config.VocabSize
	close := func(how string, want, got []float32) {
		t.Helper()
		require.Len(t, got, len(want))
		for i, w := range want {
			if d := math.Abs(float64(w - got[i])); !(d <= within) {
				t.Fatalf("%s: element %d of %d: %v, want %v, within %v", how, i, len(want), got[i], w, within)
			}
		}
	}
	n := len(g.Prompt)
	close("at once", want, floats(t, m.StepAll(m.NewSequence(), g.Prompt)))

	s := m.NewSequence()
	for i, id := range g.Prompt {
		got := floats(t, m.Step([]*Sequence{s}, [][]int32{{id}}))
		close("one by one", want[i*vocab:(i+1)*vocab], got)
	}
	require.Equal(t, n, s.Len())

	s = m.NewSequence()
	for at := 0; at < n; { // in chunks of several sizes
		c := min(at+1, n-at)
		got := floats(t, m.StepAll(s, g.Prompt[at:at+c]))
		close("chunks", want[at*vocab:(at+c)*vocab], got)
		at += c
	}

	// Sequences of different lengths together, one of which goes on.
	list := []*Sequence{m.NewSequence(), s, m.NewSequence()}
	at := 1
	for s.Truncate(at) != nil { // a window has gone by, or there are states of all that was fed
		require.Equal(t, n, s.Len())
		at++
	}
	require.Equal(t, at, s.Len())
	if at < n {
		got := floats(t, m.StepAll(s, g.Prompt[at:]))
		close("again", want[at*vocab:], got)
	}
	s.Close()
	at = 0
	got := floats(t, m.Step(list, [][]int32{g.Prompt[:5], g.Prompt[at : at+1], g.Prompt[:n-2]}))
	for i, last := range []int{4, at, n - 3} {
		close("batch", want[last*vocab:(last+1)*vocab], got[i*vocab:(i+1)*vocab])
	}
	list[1], list[2] = list[2], list[1] // those first that get one token
	got = floats(t, m.Step(list, [][]int32{g.Prompt[5:6], g.Prompt[n-2 : n-1], g.Prompt[at+1 : n-1]}))
	for i, last := range []int{5, n - 2, n - 2} {
		close("batch", want[last*vocab:(last+1)*vocab], got[i*vocab:(i+1)*vocab])
	}
	require.Equal(t, g.Greedy, greedy(t, m, g.Prompt, len(g.Greedy)))
	all := g.Prompt
	for _, id := range g.Greedy[:4] { // without what is kept
		require.Equal(t, id, argmax(floats(t, m.Step([]*Sequence{m.NewSequence()}, [][]int32{all}))))
		all = append(slices.Clone(all), id)
	}
}

func argmax(list []float32) (at int32) {
	for i, x := range list {
		if x > list[at] {
			at = int32(i)
		}
	}
	return at
}

func TestGolden(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			g := all[name]
			m, err := Open(g.folder(t), Options{Device: cpu(t)})
			require.NoError(t, err)
			if strings.HasSuffix(name, "mxfp4") {
				g.inBlocks(t, m)
			}
			if m.Config.RopeScaling.Type.String() == "dynamic" && len(g.Prompt) > m.Config.MaxPositions {
				g.checkGrowing(t, m)
				return
			}
			g.check(t, m, 1e-4)
			if slices.Contains(inPages, name) {
				m, err := Open(g.folder(t), Options{Device: cpu(t), Paged: true})
				require.NoError(t, err)
				g.check(t, m, 1e-4)
				if name == "llama" {
					g.many(t, m)
				}
			}
		})
	}
}

// inPages are models that run with pages of one pool, too.
var inPages = []string{
	"llama", "gemma3", "gpt_oss", "mpt", "qwen3", "smollm3", "lfm2", "qwen3_next", "recurrent_gemma",
}

// inBlocks checks that experts are in blocks, which are multiplied with activations of 8 bits, and
// dequantizes them.
func (g *golden) inBlocks(t *testing.T, m *LM) {
	t.Helper()
	sum, got := 0.0, floats(t, m.StepAll(m.NewSequence(), g.Prompt))
	for i, w := range g.logits() {
		sum += math.Abs(float64(w - got[i]))
	}
	require.Less(t, sum/float64(len(got)), 0.03)
	n, err := nn.Dequantize(m.Net, 0)
	require.NoError(t, err)
	require.Equal(t, 3*m.Config.Layers, n)
}

// many feeds more sequences than the first pages of a pool are for, token by token together, with
// those that end between.
func (g *golden) many(t *testing.T, m *LM) {
	t.Helper()
	want, vocab := g.logits(), m.Config.VocabSize
	list := make([]*Sequence, 2*firstPages)
	for i := range list {
		list[i] = m.NewSequence()
	}
	for at, id := range g.Prompt[:5] {
		ids := make([][]int32, len(list))
		for i := range ids {
			ids[i] = []int32{id}
		}
		got := floats(t, m.Step(list, ids))
		for i := range list {
			require.InDeltaSlice(t, want[at*vocab:(at+1)*vocab], got[i*vocab:(i+1)*vocab], 1e-4)
		}
		last := list[len(list)-1]
		last.Close()
		require.NoError(t, last.Truncate(0))
		list = list[:len(list)-1]
	}
}

// checkGrowing checks a model whose keys depend on how long the sequence is: those that are kept
// from before differ from those of the reference's one pass over all.
func (g *golden) checkGrowing(t *testing.T, m *LM) {
	want, got := g.logits(), floats(t, m.StepAll(m.NewSequence(), g.Prompt))
	for i, w := range want {
		require.InDelta(t, w, got[i], 1e-4)
	}
	all := g.Prompt
	for _, id := range g.Greedy {
		require.Equal(t, id, argmax(floats(t, m.Step([]*Sequence{m.NewSequence()}, [][]int32{all}))))
		all = append(slices.Clone(all), id)
	}
}
