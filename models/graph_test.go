package models

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/tensor"
)

// pair is a model with graphs and one without, which are fed the same.
type pair struct {
	t           *testing.T
	m, eager    *LM
	list, other []*Sequence
}

// open2 opens a model twice.
func open2(t *testing.T, path string, o Options, sequences int) *pair {
	t.Helper()
	p := &pair{t: t}
	o.Device = cpu(t)
	var err error
	p.m, err = Open(path, o)
	require.NoError(t, err)
	o.Eager = true
	p.eager, err = Open(path, o)
	require.NoError(t, err)
	for range sequences {
		p.add()
	}
	return p
}

// add opens a sequence.
func (p *pair) add() {
	p.list, p.other = append(p.list, p.m.NewSequence()), append(p.other, p.eager.NewSequence())
}

// feed feeds both, and wants the same bits.
func (p *pair) feed(ids ...[]int32) {
	p.t.Helper()
	want := floats(p.t, p.eager.Step(p.other, ids))
	require.Equal(p.t, want, floats(p.t, p.m.Step(p.list, ids)))
	for i, s := range p.list {
		require.Equal(p.t, p.other[i].Len(), s.Len())
	}
}

// each feeds a token to each sequence, so many times.
func (p *pair) each(times int) {
	p.t.Helper()
	for n := range times {
		ids := make([][]int32, len(p.list))
		for i := range ids {
			ids[i] = []int32{int32((7*i + 3*n + p.list[i].Len()) % p.m.Config.VocabSize)}
		}
		p.feed(ids...)
	}
}

// notReplayed are golden models whose steps are none of graphs, and why.
var notReplayed = map[string]string{
	"llama dynamic": "rotary embeddings of type dynamic",
}

// TestReplayed feeds token by token with graphs and without, which gives the same bits.
func TestReplayed(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			g := all[name]
			for _, o := range []Options{{}, {Paged: true}, {DType: tensor.BF16}} {
				p := open2(t, g.folder(t), o, 1)
				if _, ok := p.m.Net.(stepNetwork); !ok {
					t.Skip("the network has no steps")
				}
				for _, id := range append(slices.Clone(g.Prompt), g.Greedy...) {
					p.feed([]int32{id})
				}
				if why := notReplayed[name]; why != "" {
					require.ErrorContains(t, p.m.Replayed(), why)
					continue
				}
				require.NoError(t, p.m.Replayed())
				require.ErrorIs(t, p.eager.Replayed(), errEager)
			}
		})
	}
}

// Blocks of few bits are multiplied in graphs, too.
func TestReplayedQuantized(t *testing.T) {
	for _, path := range llamaCpp(t) {
		p := open2(t, path, Options{}, 1)
		p.feed([]int32{1, 2, 3})
		p.each(5)
		require.NoError(t, p.m.Replayed(), filepath.Base(path))
	}
}

// Queries, keys and values have one piece of memory, and those of which the format differs have two.
func TestJoined(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	m, err := Open(all["llama"].folder(t), Options{Device: cpu(t)})
	require.NoError(t, err)
	for _, l := range m.Net.(*Decoder).Layers {
		a := l.Attn.(*Attention)
		require.Same(t, a.Q.Weight.Tensor().Buffer(), a.K.Weight.Tensor().Buffer())
		require.Same(t, a.Q.Weight.Tensor().Buffer(), a.V.Weight.Tensor().Buffer())
	}
	for _, path := range llamaCpp(t) {
		m, err := Open(path, Options{Device: cpu(t)})
		require.NoError(t, err)
		for i, l := range m.Net.(*Decoder).Layers {
			a, x := l.Attn.(*Attention), tensor.Ones(m.Device, tensor.F32, 1, m.Config.HiddenSize)
			buffers := map[any]bool{}
			formats := map[any]bool{}
			for j, y := range a.qkv.Forward(x) {
				buffers[y.Buffer()] = true
				formats[[]*nn.Linear{a.Q, a.K, a.V}[j].Weight.Quantized().(*quantized.Tensor).Format()] = true
			}
			require.Len(t, buffers, len(formats), "%s, layer %d", path, i)
		}
	}
}

// Queries of a step are rotated to where attention of several sequences reads them without a copy.
func TestRotatedStep(t *testing.T) {
	d := cpu(t)
	q := tensor.Randn(d, tensor.F32, 0, 1, 1, 3, 4, 8).Transpose(1, 2)
	angles := tensor.Randn(d, tensor.F32, 0, 1, 3, 4)
	rows := []attention.Rotation{{Cos: angles.Cos(), Sin: angles.Sin()}}
	for _, interleaved := range []bool{false, true} {
		a := &Attention{interleaved: interleaved}
		got := a.rotated(q, &batch{step: &step{}, rows: rows})
		require.NoError(t, got.Err())
		require.True(t, got.Transpose(0, 2).IsContiguous())
		want, err := a.rotated(q, &batch{rows: rows}).Contiguous().Bytes()
		require.NoError(t, err)
		values, err := got.Contiguous().Bytes()
		require.NoError(t, err)
		require.Equal(t, want, values)
	}
}

// Sequences come and go, are truncated, fed more tokens at once, and get longer than there is room.
func TestReplayedSequences(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	for _, name := range []string{"llama", "gemma3", "deepseek_v3", "mixtral", "qwen3_next"} {
		for _, paged := range []bool{false, true} {
			p := open2(t, all[name].folder(t), Options{Paged: paged}, 3)
			p.feed([]int32{5, 6, 7}, []int32{1}, []int32{2, 3})
			p.each(1)
			require.ErrorIs(t, p.m.Replayed(), errFirst, name)
			p.each(3)
			require.NoError(t, p.m.Replayed(), name)

			p.feed([]int32{5, 6}, []int32{1, 4, 4, 4}, []int32{3}) // of several
			p.each(2)
			require.NoError(t, p.m.Replayed(), name)
			if name != "gemma3" && name != "qwen3_next" {
				require.NoError(t, p.list[1].Truncate(3))
				require.NoError(t, p.other[1].Truncate(3))
				p.each(2)
			}
			p.list[0].Close() // and is fed anew
			p.other[0].Close()
			p.feed([]int32{9, 8}, []int32{1}, []int32{2})
			p.each(4)
			require.NoError(t, p.m.Replayed(), name)

			slices.Reverse(p.list)
			slices.Reverse(p.other)
			p.each(3)
			p.list, p.other = p.list[:2], p.other[:2]
			p.each(3)
			require.NoError(t, p.m.Replayed(), name)
			p.add()
			p.each(1)
			require.ErrorIs(t, p.m.Replayed(), ErrSequence) // it was empty
			p.each(3)
			require.NoError(t, p.m.Replayed(), name)
		}
	}
}

// A sequence gets longer than the first memory, the first tables and the first pages.
func TestReplayedLong(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	for _, paged := range []bool{false, true} {
		p := open2(t, all["llama"].folder(t), Options{Paged: paged}, 1)
		long := make([]int32, leastTokens-3)
		p.feed(long)
		p.each(2)
		require.NoError(t, p.m.Replayed())
		p.each(2) // 257 tokens
		require.ErrorIs(t, p.m.Replayed(), errFirst)
		p.each(1)
		require.NoError(t, p.m.Replayed())
		p.feed(make([]int32, ropeStep-leastTokens-5))
		p.each(3)
		require.NoError(t, p.m.Replayed())
		p.each(3) // behind the first table
		require.NoError(t, p.m.Replayed())
		require.Greater(t, p.list[0].Len(), ropeStep)
	}
}

// Weights that are replaced are not those of graphs from before.
func TestReplayedWeights(t *testing.T) {
	p := open2(t, llamaCpp(t)[0], Options{}, 1)
	p.feed([]int32{1, 2})
	p.each(3)
	for _, m := range []*LM{p.m, p.eager} {
		n, err := nn.Dequantize(m.Net, tensor.F32)
		require.NoError(t, err)
		require.Positive(t, n)
	}
	p.each(3)
	require.NoError(t, p.m.Replayed())
	for _, m := range []*LM{p.m, p.eager} { // in place
		w := m.Net.(*Decoder).Norm.(*nn.RMSNorm).Weight
		require.NoError(t, w.Set(w.Tensor().MulScalar(2)))
	}
	p.each(3)
	require.NoError(t, p.m.Replayed())
}

// What is returned stays as it is, memory is given back, and what a graph cannot hold is a reason.
func TestReplayedMemory(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	m, err := Open(all["llama"].folder(t), Options{Device: cpu(t)})
	require.NoError(t, err)
	s := m.NewSequence()
	step := func(id int32) *tensor.Tensor { return m.Step([]*Sequence{s}, [][]int32{{id}}) }
	require.NoError(t, m.Step([]*Sequence{s}, [][]int32{{1, 2}}).Err())
	step(3)
	step(4)
	first := step(5)
	want := floats(t, first)
	step(6)
	require.NoError(t, m.Replayed())
	require.Equal(t, want, floats(t, first))
	require.Len(t, s.graphs.list, 1)
	s.Close()
	require.Empty(t, s.graphs.list)

	require.NoError(t, m.Step([]*Sequence{s}, [][]int32{{1, 2}}).Err())
	seen := 0
	m.Net.(*Decoder).Head.Observe(func(_ string, x, _ *tensor.Tensor) {
		_, err := tensor.ToSlice[float32](x)
		if err == nil {
			seen++
		}
	})
	for range 3 {
		require.NoError(t, step(3).Err())
	}
	require.ErrorContains(t, m.Replayed(), "captur")
	require.Equal(t, 3, seen)
}

// BenchmarkStep is the time of the host and the allocations of a step, as a graph and without.
func BenchmarkStep(b *testing.B) {
	c, err := ParseConfig([]byte(`{"model_type": "llama", "vocab_size": 128, "hidden_size": 64,
		"num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
		"intermediate_size": 128, "max_position_embeddings": 4096}`))
	require.NoError(b, err)
	for name, eager := range map[string]bool{"graph": false, "eager": true} {
		b.Run(name, func(b *testing.B) {
			m, err := New(c, Options{Device: cpu(b), Eager: eager})
			require.NoError(b, err)
			list, ids := []*Sequence{m.NewSequence()}, [][]int32{{1}}
			then := func(logits, _ *tensor.Tensor) *tensor.Tensor { return logits.ArgMax(-1) }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%200 == 0 {
					list[0].Close()
				}
				if y, _ := m.StepThen(list, ids, "largest", nil, then); y.Err() != nil {
					b.Fatal(y.Err())
				}
			}
		})
	}
}
