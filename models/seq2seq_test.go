package models

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// crossed is a tiny model from sequences to sequences and what the reference computes with it: see
// testdata/gen_seq2seq.py.
type crossed struct {
	golden
	Sources [][]int32
	Start   []int32 // what the decoder is fed for each source
	Encoded []byte  // F32, (ids of all sources, features)
	BF16    float64 // norm of what the reference's logits in bf16 differ by, to that of the logits
	Ends    []int32
	Beams   []struct {
		Options json.RawMessage
		Results []struct { // of each source
			IDs    [][]int32
			Scores []float64
		}
	}
}

// readCrossed reads all of them, and buckets of distances from −300 to 300.
var readCrossed = sync.OnceValues(func() (out struct {
	Models  map[string]*crossed
	Buckets [][]int
}, err error) {
	err = decode("testdata/seq2seq.json.gz", &out)
	return out, err
})

func numbersOf(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// near compares numbers one by one.
func near(t *testing.T, what string, want, got []float32, within float64) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		if d := math.Abs(float64(w - got[i])); !(d <= within) {
			t.Fatalf("%s: element %d of %d: %v, want %v, within %v", what, i, len(want), got[i], w, within)
		}
	}
}

// eachCrossed runs a test for each model.
func eachCrossed(t *testing.T, f func(t *testing.T, g *crossed, m *LM), o Options) {
	all, err := readCrossed()
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(all.Models)) {
		t.Run(name, func(t *testing.T) {
			g, o := all.Models[name], o
			o.Device = cpu(t)
			m, err := Open(g.folder(t), o)
			require.NoError(t, err)
			f(t, g, m)
		})
	}
}

// check encodes sources together and one by one, and feeds the decoder in several ways.
func (g *crossed) check(t *testing.T, m *LM, within float64) {
	t.Helper()
	sources, err := m.Encode(g.Sources)
	require.NoError(t, err)
	encoded, logits := numbersOf(g.Encoded), g.logits()
	n, vocab, features := len(g.Start), m.Config.VocabSize, m.Config.HiddenSize
	list := make([]*Sequence, len(sources))
	for i, s := range sources {
		size := len(g.Sources[i]) * features
		near(t, "encoded", encoded[:size], floats(t, s.Hidden.Cast(tensor.F32)), within)
		encoded = encoded[size:]

		want := logits[i*n*vocab : (i+1)*n*vocab]
		near(t, "at once", want, floats(t, s.StepAll(s.NewSequence(), g.Start)), within)
		one, err := m.Encode(g.Sources[i : i+1])
		require.NoError(t, err)
		q := one[0].NewSequence()
		for at := 0; at < n; { // in chunks of several sizes
			c := min(at+1, n-at)
			near(t, "chunks", want[at*vocab:(at+c)*vocab], floats(t, m.StepAll(q, g.Start[at:at+c])), within)
			at += c
		}
		require.NoError(t, q.Truncate(3))
		step := func(at int) []float32 {
			return floats(t, m.Step([]*Sequence{q}, [][]int32{g.Start[at : at+1]}))
		}
		near(t, "again", want[3*vocab:4*vocab], step(3), within)
		require.NoError(t, q.Truncate(0))
		near(t, "anew", want[:vocab], step(0), within)
		list[i] = s.NewSequence()
	}
	require.Empty(t, encoded)
	// Sequences of two sources and of one source together, token by token.
	list = append(list, sources[0].NewSequence())
	for at := range n {
		ids := make([][]int32, len(list))
		for i := range ids {
			ids[i] = g.Start[at : at+1]
		}
		got := floats(t, m.Step(list, ids))
		for i, of := range []int{0, 1, 0} {
			near(t, "together", logits[(of*n+at)*vocab:(of*n+at+1)*vocab], got[i*vocab:(i+1)*vocab], within)
		}
	}
	a, b := sources[1].NewSequence(), sources[1].NewSequence()
	got := floats(t, m.Step([]*Sequence{a, b}, [][]int32{g.Start[:4], g.Start[:n-1]}))
	near(t, "lengths", logits[(n+3)*vocab:(n+4)*vocab], got[:vocab], within)
	near(t, "lengths", logits[(2*n-2)*vocab:(2*n-1)*vocab], got[vocab:], within)
}

func TestSeq2Seq(t *testing.T) {
	eachCrossed(t, func(t *testing.T, g *crossed, m *LM) {
		require.True(t, m.Encodes())
		require.Equal(t, g.Start[:1], m.Start())
		g.check(t, m, 1e-4)
	}, Options{})
	eachCrossed(t, func(t *testing.T, g *crossed, m *LM) { g.check(t, m, 1e-4) }, Options{Paged: true})
}

// What bf16 deviates by from the reference in float32, as a part of the logits, is not much more
// than what the reference in bf16 deviates by: 1 to 4 hundredths, and 14 with T5's gates, as its
// scores are not scaled.
func TestSeq2SeqBF16(t *testing.T) {
	eachCrossed(t, func(t *testing.T, g *crossed, m *LM) {
		sources, err := m.Encode(g.Sources)
		require.NoError(t, err)
		want, sum, square := g.logits(), 0.0, 0.0
		var got []float32
		for _, s := range sources {
			got = append(got, floats(t, s.StepAll(s.NewSequence(), g.Start))...)
		}
		require.Len(t, got, len(want))
		for i, w := range want {
			sum += math.Pow(float64(got[i]-w), 2)
			square += math.Pow(float64(w), 2)
		}
		require.Less(t, math.Sqrt(sum/square), 1.5*g.BF16)
	}, Options{DType: tensor.BF16})
}

// Beams are those of the reference, and so are greedy tokens under rules.
func TestSeq2SeqBeams(t *testing.T) {
	eachCrossed(t, func(t *testing.T, g *crossed, m *LM) {
		sources, err := m.Encode(g.Sources)
		require.NoError(t, err)
		for _, b := range g.Beams {
			for i, want := range b.Results {
				gen := &generate.Generator[*Sequence]{Model: sources[i], EOS: g.Ends}
				if len(want.IDs) == 1 {
					require.Equal(t, want.IDs[0], written(t, gen, m.Start(), b.Options), "%s", b.Options)
					continue
				}
				o := generate.BeamOptions{MaxTokens: 12, LengthPenalty: 1, EarlyStopping: generate.StopWhenLikely}
				require.NoError(t, json.Unmarshal(b.Options, &o))
				var least struct {
					N int `json:"min_length"`
				}
				require.NoError(t, json.Unmarshal(b.Options, &least))
				o.MinTokens = max(least.N-1, 0)
				got, err := gen.Beam(t.Context(), m.Start(), o)
				require.NoError(t, err)
				require.Len(t, got, o.Width)
				for j, beam := range got {
					require.Equal(t, want.IDs[j], beam.IDs, "%s: source %d, beam %d", b.Options, i, j)
					require.InEpsilon(t, want.Scores[j], beam.Score, 2e-5)
				}
			}
		}
	}, Options{})
}

// written are the tokens of a generation without beams.
func written(
	t *testing.T, g *generate.Generator[*Sequence], start []int32, options json.RawMessage,
) (ids []int32) {
	t.Helper()
	o := generate.Options{MaxTokens: 12}
	require.NoError(t, json.Unmarshal(options, &o))
	o.MinTokens = 4
	s := g.NewSession()
	defer s.Close()
	run, err := s.Generate(t.Context(), start, o)
	require.NoError(t, err)
	for tok, err := range run.Tokens() {
		require.NoError(t, err)
		ids = append(ids, tok.ID)
	}
	return ids
}

// Distances are in the buckets of the reference.
func TestBuckets(t *testing.T) {
	all, err := readCrossed()
	require.NoError(t, err)
	for i, b := range []*buckets{
		newBuckets(32, 128, 1, true), newBuckets(32, 128, 1, false), newBuckets(8, 12, 1, true),
	} {
		for at, want := range all.Buckets[i] {
			require.Equal(t, want, b.bucket(300-at), "%d: distance %d", i, at-300)
		}
	}
}

// A GGUF file of T5 has the names of llama.cpp.
func TestSeq2SeqGGUF(t *testing.T) {
	all, err := readCrossed()
	require.NoError(t, err)
	for _, name := range []string{"t5", "t5 v1.1"} {
		t.Run(name, func(t *testing.T) {
			g := all.Models[name]
			c, err := ParseConfig(g.Config)
			require.NoError(t, err)
			var list []*file.Entry
			for n, shape := range g.Tensors {
				list = append(list, array{shape, numbers(n, shape)}.entry(t, g.Names[n]))
			}
			meta := g.metadata(c)
			for key, n := range map[string]int32{
				"decoder_start_token_id": 0, "decoder_block_count": 3, "attention.relative_buckets_count": 8,
			} {
				meta.Set("t5."+key, gguf.Of(uint32(n)))
			}
			path := filepath.Join(t.TempDir(), "model.gguf")
			require.NoError(t, gguf.WriteFile(path, meta, list...))
			m, err := Open(path, Options{Device: cpu(t)})
			require.NoError(t, err)
			g.check(t, m, 1e-4)
		})
	}
}

// opened opens a golden model with other keys in its configuration, and tensors that keep names.
func (g *crossed) opened(
	t *testing.T, keys map[string]any, keep func(name string) bool,
) (*LM, error) {
	t.Helper()
	h := g.golden
	h.Tensors = maps.Clone(g.Tensors)
	maps.DeleteFunc(h.Tensors, func(name string, _ []int) bool { return !keep(name) })
	dir := h.folder(t)
	edited(t, dir, keys)
	return Open(dir, Options{Device: cpu(t)})
}

// An encoder of T5 alone has the hidden states of the whole.
func TestEncoderAlone(t *testing.T) {
	all, err := readCrossed()
	require.NoError(t, err)
	g := all.Models["t5"]
	m, err := g.opened(t, map[string]any{"architectures": []string{"T5EncoderModel"}},
		func(name string) bool { return !strings.HasPrefix(name, "decoder") })
	require.NoError(t, err)
	sources, err := m.Encode(g.Sources)
	require.NoError(t, err)
	want := numbersOf(g.Encoded)[:len(g.Sources[0])*m.Config.HiddenSize]
	near(t, "encoded", want, floats(t, sources[0].Hidden), 1e-4)
	err = m.Step([]*Sequence{sources[0].NewSequence()}, [][]int32{{0}}).Err()
	require.ErrorIs(t, err, ErrSequence)
	require.ErrorContains(t, err, "an encoder alone")
}

func TestSeq2SeqMistakes(t *testing.T) {
	all, err := readCrossed()
	require.NoError(t, err)
	g, every := all.Models["bart"], func(string) bool { return true }
	m, err := g.opened(t, nil, every)
	require.NoError(t, err)
	for text, ids := range map[string][][]int32{
		"id 64 of a vocabulary of 64": {{1, 64}},
		"no ids":                      {{1}, {}},
		"0 sequences":                 {},
		"41 tokens, and the model has positions for 40":    {make([]int32, 41)},
		"sequence of tokens 1: range out of bounds: id -1": {{1}, {-1}},
	} {
		_, err := m.Encode(ids)
		require.ErrorContains(t, err, text)
	}
	err = m.Step([]*Sequence{m.NewSequence()}, [][]int32{{1}}).Err()
	require.ErrorContains(t, err, "it has no source")
	one, err := m.Encode([][]int32{{1}})
	require.NoError(t, err)
	s := one[0].NewSequence()
	require.NoError(t, one[0].StepAll(s, make([]int32, 40)).Err())
	require.ErrorIs(t, one[0].StepAll(s, []int32{1}).Err(), tensor.ErrRange)
	require.Equal(t, 40, s.Len())

	_, err = g.opened(t, map[string]any{"decoder_layers": 4}, every)
	require.ErrorIs(t, err, nn.ErrNames)
	require.ErrorContains(t, err, "model.decoder.layers.3.self_attn.q_proj.weight")
	_, err = g.opened(t, map[string]any{"decoder_attention_heads": 5}, every)
	require.ErrorIs(t, err, ErrConfig)
	_, err = all.Models["t5"].opened(t, map[string]any{"feed_forward_proj": "wow"}, every)
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "feed_forward_proj")
	_, err = all.Models["t5"].opened(t, map[string]any{"relative_attention_num_buckets": 0}, every)
	require.ErrorIs(t, err, ErrConfig)

	// Files of the layers alone have other names and no bias of logits.
	h := g.golden
	h.Tensors = maps.Clone(g.Tensors)
	delete(h.Tensors, "final_logits_bias")
	m, err = Open(h.renamed(t, func(n string) string { return strings.TrimPrefix(n, "model.") }),
		Options{Device: cpu(t)})
	require.NoError(t, err)
	require.Nil(t, m.Net.(*Seq2Seq).Bias)

	lm, err := open(t, "llama", nil, Options{})
	require.NoError(t, err)
	require.False(t, lm.Encodes())
	require.Equal(t, []int32{1}, lm.Start())
	_, err = lm.Encode([][]int32{{1}})
	require.ErrorIs(t, err, ErrSequence)
}
