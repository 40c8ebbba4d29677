package models

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
)

// What is measured: -args -bench-device cuda:0 -bench-shape 8b -bench-blocks Q4_K.
var (
	benchDevice = flag.String("bench-device", "cpu", "device of benchmarks of models")
	benchShape  = flag.String("bench-shape", "100m", "sizes of their model")
	benchBlocks = flag.String("bench-blocks", "", "type of blocks of their weights, none for numbers")
)

// shapes are sizes of published models.
var shapes = map[string]string{
	"100m": `{"model_type": "llama", "vocab_size": 32000, "hidden_size": 768, "num_hidden_layers": 12,
		"num_attention_heads": 12, "num_key_value_heads": 4, "intermediate_size": 2048,
		"tie_word_embeddings": true}`,
	"1b": `{"model_type": "llama", "vocab_size": 128256, "hidden_size": 2048, "num_hidden_layers": 16,
		"num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,
		"rope_theta": 500000, "tie_word_embeddings": true}`,
	"8b": `{"model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 32,
		"num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
		"rope_theta": 500000}`,
	"30b-a3b": `{"model_type": "qwen3_moe", "vocab_size": 151936, "hidden_size": 2048,
		"num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
		"intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
		"num_experts_per_tok": 8, "norm_topk_prob": true, "rope_theta": 1000000}`,
}

func benchModel(b *testing.B) *LM {
	b.Helper()
	c, err := ParseConfig([]byte(shapes[*benchShape]))
	require.NoError(b, err)
	d, err := tensor.Open(*benchDevice)
	require.NoError(b, err)
	m, err := New(c, Options{Device: d})
	require.NoError(b, err)
	if *benchBlocks != "" {
		of, err := format.Parse(*benchBlocks)
		require.NoError(b, err)
		_, err = nn.Quantize(m.Net, func(_ string, w *tensor.Tensor) nn.Quantized {
			if w.Rank() < 2 {
				return nil
			}
			return quantized.Quantize(w, of)
		})
		require.NoError(b, err)
	}
	return m
}

// step feeds the same token to n sequences, and waits.
func feed(b *testing.B, m *LM, list []*Sequence, tokens int) {
	b.Helper()
	ids := make([][]int32, len(list))
	for i := range ids {
		ids[i] = make([]int32, tokens)
		for j := range ids[i] {
			ids[i][j] = int32((i*31 + j*7) % m.Config.VocabSize)
		}
	}
	require.NoError(b, m.Step(list, ids).Err())
}

// BenchmarkDecode feeds one token to sequences of 128.
func BenchmarkDecode(b *testing.B) {
	m := benchModel(b)
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("b%d", n), func(b *testing.B) {
			list := make([]*Sequence, n)
			for i := range list {
				list[i] = m.NewSequence()
			}
			feed(b, m, list, 128)
			feed(b, m, list, 1)
			require.NoError(b, m.Device.Synchronize())
			host := time.Duration(0)
			for b.Loop() {
				at := time.Now()
				feed(b, m, list, 1)
				host += time.Since(at)
				require.NoError(b, m.Device.Synchronize())
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tokens/s")
			b.ReportMetric(float64(host.Microseconds())/float64(b.N), "host-µs/step")
		})
	}
}

// BenchmarkPrefill feeds prompts.
func BenchmarkPrefill(b *testing.B) {
	m := benchModel(b)
	for _, n := range []int{128, 512, 2048} {
		b.Run(fmt.Sprintf("t%d", n), func(b *testing.B) {
			s := m.NewSequence()
			feed(b, m, []*Sequence{s}, n)
			for b.Loop() {
				require.NoError(b, s.Truncate(0))
				feed(b, m, []*Sequence{s}, n)
				require.NoError(b, m.Device.Synchronize())
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
