package models

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tokenizers"
)

// goldenEncoder is a tiny encoder and what the reference library computes with it, of texts of
// different lengths in a padded batch: see testdata/encoders.py.
type goldenEncoder struct {
	golden // its network

	IDs    [][]int32
	Kinds  [][]int32
	Hidden []byte            // F32, of all tokens but padding
	Pooled map[string][]byte // by the names of sentence-transformers
}

var readEncoders = sync.OnceValues(func() (out map[string]*goldenEncoder, err error) {
	for _, path := range []string{"testdata/encoders.json.gz", "testdata/encoders_more.json.gz"} {
		if err := decode(path, &out); err != nil {
			return nil, err
		}
	}
	return out, nil
})

func encoderNamed(t testing.TB, name string) *goldenEncoder {
	t.Helper()
	all, err := readEncoders()
	require.NoError(t, err)
	require.Contains(t, all, name)
	return all[name]
}

// texts are the texts as a tokenizer has them.
func (g *goldenEncoder) texts() []*tokenizers.Encoding {
	out := make([]*tokenizers.Encoding, len(g.IDs))
	for i, ids := range g.IDs {
		out[i] = &tokenizers.Encoding{IDs: ids}
		if g.Kinds != nil {
			out[i].TypeIDs = g.Kinds[i]
		}
	}
	return out
}

// float32s are the numbers of a golden file.
func float32s(b []byte) []float32 {
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

// requireClose compares numbers.
func requireClose(t testing.TB, want, got []float32, within float64, what string) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i, w := range want {
		if d := math.Abs(float64(w - got[i])); !(d <= within) {
			t.Fatalf("%s: element %d of %d: %v, want %v, within %v",
				what, i, len(want), got[i], w, within)
		}
	}
}

// TestEncoders compares hidden states and scores with the reference library's, of texts together
// and of each alone.
func TestEncoders(t *testing.T) {
	all, err := readEncoders()
	require.NoError(t, err)
	require.Greater(t, len(all), 30)
	tasks := map[string]Task{"masked": MaskedLM, "classes": ClassifyText, "tokens": ClassifyTokens,
		"answers": ClassifyTokens, "model": NoTask}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			g := all[name]
			e, err := OpenEncoder(g.folder(t), Options{Device: cpu(t)})
			require.NoError(t, err)
			require.Equal(t, tasks[name[strings.LastIndex(name, " ")+1:]], e.Task)
			require.Equal(t, strings.HasPrefix(name, "qwen3"), e.Pooling == PoolLast)
			want, texts := float32s(g.Hidden), g.texts()
			s := e.Encode(texts)
			requireClose(t, want, floats(t, s.Hidden), 1e-4, "hidden states")
			for i := range texts {
				alone := e.Encode(texts[i : i+1])
				requireClose(t, floats(t, s.Of(i)), floats(t, alone.Hidden), 1e-5, "a text alone")
			}
			if e.Task == NoTask {
				require.ErrorIs(t, e.Logits(texts).Err(), ErrConfig)
				return
			}
			got := floats(t, e.Logits(texts))
			if e.Task == MaskedLM {
				got = got[len(got)-6*e.Config.VocabSize:]
			} else if len(got) > len(g.logits()) {
				got = got[len(got)-len(g.logits()):]
			}
			requireClose(t, g.logits(), got, 1e-4, "scores")
		})
	}
}

// TestEncoderBF16 bounds what 16 bits cost: the cosine of hidden states and those of the reference
// library in float32 is at least 0.999.
func TestEncoderBF16(t *testing.T) {
	for _, name := range []string{
		"bert model", "modernbert masked", "deberta-v2 masked", "mpnet masked", "qwen3 model",
	} {
		g := encoderNamed(t, name)
		e, err := OpenEncoder(g.folder(t), Options{Device: cpu(t), DType: tensor.BF16})
		require.NoError(t, err)
		want, got := float32s(g.Hidden), floats(t, e.Encode(g.texts()).Hidden.Cast(tensor.F32))
		n := e.Config.HiddenSize
		for i := 0; i < len(want); i += n {
			require.Greater(t, cosine(want[i:i+n], got[i:i+n]), 0.999, "%s: token %d", name, i/n)
		}
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i, x := range a {
		y := float64(b[i])
		ab, aa, bb = ab+float64(x)*y, aa+float64(x)*float64(x), bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// TestPooling compares each kind of pooling with the formulas of sentence-transformers.
func TestPooling(t *testing.T) {
	g := encoderNamed(t, "bert model")
	e, err := OpenEncoder(g.folder(t), Options{Device: cpu(t)})
	require.NoError(t, err)
	s := e.Encode(g.texts())
	for p, k := range poolings {
		key := strings.TrimPrefix(k.key, "pooling_mode_")
		if p != int(PoolSqrt) {
			key = strings.TrimSuffix(strings.TrimSuffix(key, "_token"), "_tokens")
		}
		require.Contains(t, g.Pooled, key)
		requireClose(t, float32s(g.Pooled[key]), floats(t, s.Pool(Pooling(p))), 1e-4, k.name)
		back, err := ParsePooling(k.name)
		require.NoError(t, err)
		require.Equal(t, Pooling(p), back)
	}
	_, err = ParsePooling("median")
	require.ErrorContains(t, err, "median")
	require.Error(t, s.Pool(Pooling(9)).Err())
}

// write writes a file of a model's folder.
func write(t testing.TB, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

// words is a tokenizer.json of words that are numbers of tokens, w0 to w95, with padding and
// truncation that have to be left out.
func words() string {
	var list []string
	for i := range 96 {
		list = append(list, fmt.Sprintf(`"w%d": %d`, i, i))
	}
	return `{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"},
		"truncation": {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
		"padding": {"strategy": {"Fixed": 12}, "direction": "Right", "pad_id": 1,
			"pad_type_id": 0, "pad_token": "w1", "pad_to_multiple_of": null},
		"post_processor": {"type": "TemplateProcessing",
			"single": [{"SpecialToken": {"id": "w0", "type_id": 0}},
				{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "w2", "type_id": 0}}],
			"pair": [{"SpecialToken": {"id": "w0", "type_id": 0}},
				{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "w2", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
				{"SpecialToken": {"id": "w2", "type_id": 1}}],
			"special_tokens": {"w0": {"id": "w0", "ids": [0], "tokens": ["w0"]},
				"w2": {"id": "w2", "ids": [2], "tokens": ["w2"]}}},
		"model": {"type": "WordLevel", "unk_token": "w3", "vocab": {` + strings.Join(list, ",") + `}}}`
}

// TestSentence opens a folder of sentence-transformers, with everything that it may say.
func TestSentence(t *testing.T) {
	g := encoderNamed(t, "bert model")
	dir := g.folder(t)
	write(t, words(), dir, "tokenizer.json")
	write(t, `[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
		{"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
		{"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
		{"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}]`,
		dir, "modules.json")
	write(t, `{"word_embedding_dimension": 48, "pooling_mode_cls_token": false,
		"pooling_mode_mean_tokens": false, "pooling_mode_max_tokens": true}`,
		dir, "1_Pooling", "config.json")
	write(t, `{"in_features": 48, "out_features": 3, "bias": true,
		"activation_function": "torch.nn.modules.activation.Tanh"}`, dir, "2_Dense", "config.json")
	weight, bias := numbers("linear.weight", []int{3, 48}), numbers("linear.bias", []int{3})
	require.NoError(t, safetensors.WriteFile(filepath.Join(dir, "2_Dense", "model.safetensors"), nil,
		array{[]int{3, 48}, weight}.entry(t, "linear.weight"),
		array{[]int{3}, bias}.entry(t, "linear.bias")))
	write(t, `{"max_seq_length": 8, "do_lower_case": true}`, dir, "sentence_bert_config.json")
	write(t, `{"prompts": {"query": "w9 w8 ", "text": ""}, "default_prompt_name": "query"}`,
		dir, "config_sentence_transformers.json")

	e, err := OpenEncoder(dir, Options{Device: cpu(t)})
	require.NoError(t, err)
	require.Equal(t, PoolMax, e.Pooling)
	require.True(t, e.Normalize)
	require.Equal(t, 8, e.MaxTokens)
	require.Equal(t, map[string]string{"query": "w9 w8 ", "text": ""}, e.Prompts)

	got := floats(t, e.Embed("w5 W6", "w10 w11 w12 w13 w14 w15 w16"))
	pair, err := e.Tokens("w5", "w6")
	require.NoError(t, err)
	require.Equal(t, []int32{0, 5, 2, 6, 2}, pair.IDs)
	e.MaxTokens = 4
	few, err := e.Tokens("w5 w6 w7 w8")
	require.NoError(t, err)
	require.Equal(t, []int32{0, 5, 6, 2}, few.IDs)
	_, err = e.Tokens("a", "b", "c")
	require.ErrorContains(t, err, "3 texts")

	states := e.Encode([]*tokenizers.Encoding{
		{IDs: []int32{0, 9, 8, 5, 6, 2}}, {IDs: []int32{0, 9, 8, 10, 11, 12, 13, 2}},
	})
	for i := range 2 {
		pooled := floats(t, states.Of(i).Max(0))
		var want [3]float64
		norm := 0.0
		for j := range want {
			for k, x := range pooled {
				want[j] += float64(x) * float64(weight[48*j+k])
			}
			want[j] = math.Tanh(want[j] + float64(bias[j]))
			norm += want[j] * want[j]
		}
		for j := range want {
			require.InDelta(t, want[j]/math.Sqrt(norm), got[3*i+j], 1e-5)
		}
	}

	for _, bad := range []struct{ path, text, says string }{
		{"modules.json", `[{"type": "st.models.CLIPModel"}]`, "CLIPModel, want Transformer"},
		{"modules.json", `[{"type": "a.Transformer"}, {"type": "a.LayerPooling"}]`, "a.LayerPooling"},
		{"modules.json", `{`, "modules.json"},
		{"1_Pooling/config.json",
			`{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}`, "2 kinds"},
		{"1_Pooling/config.json",
			`{"pooling_mode_max_tokens": true, "include_prompt": false}`, "include_prompt"},
		{"1_Pooling/config.json", `{"pooling_mode": "median"}`, "0 kinds"},
		{"2_Dense/config.json", `{"in_features": 0, "out_features": 3}`, "3 features of 0"},
		{"2_Dense/config.json",
			`{"in_features": 4, "out_features": 3, "activation_function": "Nope"}`, "Nope"},
		{"sentence_bert_config.json", `[]`, "sentence_bert_config.json"},
		{"config_sentence_transformers.json", `[]`, "config_sentence_transformers.json"},
	} {
		name := filepath.Join(dir, bad.path)
		before, err := os.ReadFile(name)
		require.NoError(t, err)
		write(t, bad.text, name)
		_, err = OpenEncoder(dir, Options{Device: cpu(t)})
		require.ErrorIs(t, err, ErrConfig, bad.text)
		require.ErrorContains(t, err, bad.says)
		write(t, string(before), name)
	}
}

// TestScore scores pairs by a cross-encoder, with a sigmoid and without.
func TestScore(t *testing.T) {
	g := encoderNamed(t, "roberta classes")
	dir := g.folder(t)
	write(t, words(), dir, "tokenizer.json")
	open := func() *Encoder {
		e, err := OpenEncoder(dir, Options{Device: cpu(t)})
		require.NoError(t, err)
		return e
	}
	e := open()
	kinds := []int32{0, 0, 0, 1, 1}
	plain := floats(t, e.Logits([]*tokenizers.Encoding{
		{IDs: []int32{0, 5, 2, 6, 2}, TypeIDs: kinds}, {IDs: []int32{0, 5, 2, 7, 2}, TypeIDs: kinds},
	}))
	y := e.Score("w5", "w6", "w7")
	require.Equal(t, tensor.Shape{2}, y.Shape())
	for i, x := range floats(t, y) {
		require.InDelta(t, 1/(1+math.Exp(-float64(plain[i]))), x, 1e-6)
	}
	text := string(g.Config)
	for _, key := range []string{
		`"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}`,
		`"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"`,
	} {
		write(t, "{"+key+","+strings.TrimSpace(text)[1:], dir, "config.json")
		requireClose(t, plain, floats(t, open().Score("w5", "w6", "w7")), 1e-6, key)
	}
	other, err := OpenEncoder(encoderNamed(t, "bert classes").folder(t), Options{Device: cpu(t)})
	require.NoError(t, err)
	require.ErrorContains(t, other.Score("a", "b").Err(), "BertForSequenceClassification")
	require.Equal(t, []string{"LABEL_0", "LABEL_1", "LABEL_2"}, other.Labels)
}

// TestEncodeWrong encodes what is no text.
func TestEncodeWrong(t *testing.T) {
	e, err := OpenEncoder(encoderNamed(t, "bert masked").folder(t), Options{Device: cpu(t)})
	require.NoError(t, err)
	long := make([]int32, 65)
	for _, bad := range []struct {
		says string
		text *tokenizers.Encoding
	}{
		{"text 1 is nil", nil}, {"text 1 has no tokens", &tokenizers.Encoding{}},
		{"id 96 of a vocabulary of 96", &tokenizers.Encoding{IDs: []int32{96}}},
		{"a mask of 1", &tokenizers.Encoding{IDs: []int32{5, 6}, Mask: []bool{true}}},
		{"segment 2 of 2", &tokenizers.Encoding{IDs: []int32{5}, TypeIDs: []int32{2}}},
		{"65 tokens, the model has positions for 64", &tokenizers.Encoding{IDs: long}},
	} {
		s := e.Encode([]*tokenizers.Encoding{{IDs: []int32{7}}, bad.text})
		require.ErrorContains(t, s.Hidden.Err(), bad.says)
		require.Error(t, s.Of(0).Err())
		require.Error(t, s.Pool(PoolMean).Err())
		require.Error(t, e.EmbedTokens([]*tokenizers.Encoding{bad.text}).Err())
	}
	require.ErrorContains(t, e.Embed("text").Err(), "no tokenizer beside the weights")
	require.Error(t, e.EmbedTokens(nil).Err())
	s := e.Encode([]*tokenizers.Encoding{{IDs: []int32{7, 1}, Mask: []bool{true, false}}})
	require.Equal(t, tensor.Shape{1, 48}, s.Hidden.Shape())
	require.ErrorContains(t, s.Of(1).Err(), "text 1 of 1")

	for _, name := range []string{"bert masked", "gemma3 model"} {
		_, err = Open(encoderNamed(t, name).folder(t), Options{Device: cpu(t)})
		require.ErrorContains(t, err, "OpenEncoder")
	}
}

// TestEncodersGGUF runs encoders as GGUF files with names of llama.cpp's converter, which leaves
// heads out.
func TestEncodersGGUF(t *testing.T) {
	all, err := readEncoders()
	require.NoError(t, err)
	n := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g := all[name]
		if g.Names == nil {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			c, err := ParseConfig(g.Config)
			require.NoError(t, err)
			row, err := encoderOf(c)
			require.NoError(t, err)
			row.traits(c)
			var list []*file.Entry
			for _, name := range slices.Sorted(maps.Keys(g.Tensors)) {
				to, a := g.Names[name], array{g.Tensors[name], numbers(name, g.Tensors[name])}
				if to == "position_embd.weight" { // without those of padding
					a.x = a.x[len(a.x)-c.MaxPositions*c.HiddenSize:]
					a.shape = []int{c.MaxPositions, c.HiddenSize}
				}
				if to != "" {
					list = append(list, a.entry(t, to))
				}
			}
			m := g.metadata(c)
			m.Set(g.Arch+".pooling_type", gguf.Of(uint32(2)))
			path := filepath.Join(t.TempDir(), "model.gguf")
			require.NoError(t, gguf.WriteFile(path, m, list...))
			e, err := OpenEncoder(path, Options{Device: cpu(t)})
			require.NoError(t, err)
			require.Equal(t, PoolCLS, e.Pooling)
			got := floats(t, e.Encode(g.texts()).Hidden)
			requireClose(t, float32s(g.Hidden), got, 1e-4, "hidden states")
		})
	}
	require.Equal(t, 6, n)
}

// TestOldNames opens files with names and configurations of earlier years.
func TestOldNames(t *testing.T) {
	for _, old := range []struct {
		name, config string // what replaces parts of the configuration, JSON
		names        []string
	}{
		{"bert masked", "", []string{"Norm.weight", "Norm.gamma", "Norm.bias", "Norm.beta"}},
		{"xlm-roberta classes", "", []string{"roberta.", ""}},
		{"gte masked", `{"model_type": "new", "rope_theta": 1500, "rope_parameters": null,
			"rope_scaling": {"type": "ntk", "factor": 2}}`, []string{"gte.", "new."}},
		{"modernbert masked", `{"rope_parameters": null, "layer_types": null, "global_rope_theta": 5000,
			"local_rope_theta": 100, "global_attn_every_n_layers": 3}`, nil},
		{"nomic_bert masked", `{"hidden_size": null, "n_embd": 48, "num_hidden_layers": null, "n_layer": 2,
			"num_attention_heads": null, "n_head": 4, "intermediate_size": null, "n_inner": 80,
			"max_position_embeddings": null, "n_positions": 64, "rope_parameters": null,
			"rotary_emb_base": 1000, "hidden_act": null, "activation_function": "swiglu",
			"layer_norm_eps": null, "layer_norm_epsilon": 1e-12, "head_dim": null}`, nil},
	} {
		t.Run(old.name, func(t *testing.T) {
			g := encoderNamed(t, old.name)
			dir := g.renamed(t, strings.NewReplacer(old.names...).Replace)
			if old.config != "" {
				var all map[string]any
				require.NoError(t, json.Unmarshal(g.Config, &all))
				require.NoError(t, json.Unmarshal([]byte(old.config), &all))
				text, err := json.Marshal(all)
				require.NoError(t, err)
				write(t, string(text), dir, "config.json")
			}
			e, err := OpenEncoder(dir, Options{Device: cpu(t)})
			require.NoError(t, err)
			got := floats(t, e.Encode(g.texts()).Hidden)
			requireClose(t, float32s(g.Hidden), got, 1e-4, "hidden states")
		})
	}
}

// TestDistances compares buckets of distances with those of the reference library, far beyond the
// texts of TestEncoders.
func TestDistances(t *testing.T) {
	at := []int{-600, -129, -128, -90, -60, -23, -9, -8, -1, 0, 1, 7, 8, 11, 12, 64, 127, 128, 511}
	mpnet := []int{31, 31, 31, 30, 29, 27, 24, 24, 17, 0, 1, 7, 8, 8, 9, 14, 15, 15, 15}
	many := []int{-270, -129, -128, -90, -60, -23, -9, -8, -1, 0, 1, 7, 8, 11, 12, 64, 127, 128, 255}
	few := []int{-32, -26, -26, -24, -22, -18, -9, -8, -1, 0, 1, 7, 8, 11, 12, 23, 25, 26, 31}
	bucket := bucketsT5(32, 128)
	for i, d := range at {
		require.Equal(t, mpnet[i], bucket(d), "%d", d)
		require.Equal(t, many[i], logBucket(d, 256, 512), "%d", d)
		require.Equal(t, few[i], logBucket(d, 32, 512), "%d", d)
	}
}
