package models

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// ErrConfig is the kind of error of a configuration that is malformed, or that asks for what this
// package does not have.
var ErrConfig = errors.New("configuration of a model")

// Config is what a model's config.json says, or the metadata of a GGUF file in the same words: see
// [ParseConfig]. Zero stands for what is not said.
type Config struct {
	ModelType string  // which architecture: see [Architectures]
	BOS       int32   // the token that sequences begin with, −1 for none
	EOS       []int32 // the tokens that end a text
	// DecoderStart is the token that sequences of a decoder with an encoder begin with, −1 for none.
	DecoderStart int32
	DType        string   // of the published weights: "bfloat16", "float16", "float32"
	Names        []string // the classes of the reference library, such as LlamaForCausalLM

	VocabSize    int
	HiddenSize   int // features of a token between layers
	Layers       int
	Heads        int // of queries
	KVHeads      int // of keys and values
	HeadDim      int // features of a head
	Width        int // features inside a feed-forward network
	MaxPositions int // tokens of a sequence that the model is made for
	NormEps      float64
	Act          fn.Activation
	TieEmbedding *bool // the last layer has the weights of the embedding; nil: if there are no others

	RopeTheta   float64
	RopeScaling fn.RopeScaling
	LocalTheta  float64 // of layers with a window, where they have another
	RotaryDim   int     // features of a head that are rotated
	Window      int     // tokens that layers with a window attend to, 0 for all

	// LayerTypes says for each layer what it is, in the words of the reference library, such as
	// "full_attention" and "sliding_attention"; empty: all are what the architecture has.
	LayerTypes []string

	Experts       int // of each layer, 0 for none
	ExpertsUsed   int // for each token
	ExpertWidth   int // features inside an expert
	SharedWidth   int // features inside the expert for all tokens
	NormaliseTopK bool

	AttentionSoftCap float64
	LogitSoftCap     float64
	EmbeddingScale   float64
	ResidualScale    float64
	AttentionScale   float64
	LogitScale       float64
	ClipQKV          float64

	keys  keys // all that the file says
	gguf  bool // the file is a GGUF file
	acted bool // it says the activation
	mxfp4 bool // experts have blocks of MXFP4
}

// ParseConfig reads a config.json. The part about text of a model of texts and images is read in
// place of the whole, where there is one. Errors are of kind [ErrConfig].
func ParseConfig(text []byte) (*Config, error) {
	k := keys{}
	if err := json.Unmarshal(finite(text), &k.of); err != nil {
		return nil, fmt.Errorf("models: %w: %w", ErrConfig, err)
	}
	if part, ok := k.of["text_config"]; ok {
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(part, &inner); err != nil {
			return nil, fmt.Errorf("models: %w: text_config: %w", ErrConfig, err)
		}
		for name, v := range inner {
			k.of[name] = v
		}
	}
	return k.config()
}

// notFinite is a string, or what Python writes for a number that JSON has no word for.
var notFinite = regexp.MustCompile(`"(\\.|[^"\\])*"|-?Infinity|NaN`)

// finite is a text with null for numbers that JSON has no word for.
func finite(text []byte) []byte {
	return notFinite.ReplaceAllFunc(text, func(word []byte) []byte {
		if word[0] == '"' {
			return word
		}
		return []byte("null")
	})
}

// keys is a configuration as it is written. The first mistake sticks.
type keys struct {
	of  map[string]json.RawMessage
	err error
}

// raw returns the value of the first of some keys that has one other than null.
func (k *keys) raw(names []string) (string, json.RawMessage) {
	for _, n := range names {
		if v, ok := k.of[n]; ok && string(v) != "null" {
			return n, v
		}
	}
	return "", nil
}

// value is the value of the first of some keys that is there, or else another.
func value[T any](k *keys, or T, names ...string) T {
	n, v := k.raw(names)
	if n == "" {
		return or
	}
	var out T
	if err := json.Unmarshal(v, &out); err != nil {
		if k.err == nil {
			k.err = fmt.Errorf("%s: %w", n, err)
		}
		return or
	}
	return out
}

func (k *keys) int(names ...string) int       { return value(k, 0, names...) }
func (k *keys) float(names ...string) float64 { return value(k, 0.0, names...) }
func (k *keys) bool(names ...string) bool     { return value(k, false, names...) }
func (k *keys) text(names ...string) string   { return value(k, "", names...) }

// between is a number within bounds; another one is a mistake.
func (k *keys) between(name string, or, least, most int) int {
	n := value(k, or, name)
	if (n < least || n > most) && k.err == nil {
		k.err = fmt.Errorf("%s is %d, want %d to %d", name, n, least, most)
	}
	return n
}

// has reports whether one of some keys has a value.
func (k *keys) has(names ...string) bool {
	n, _ := k.raw(names)
	return n != ""
}

// config reads the keys that models have in common, by all the names that they have for them.
func (k *keys) config() (*Config, error) {
	c := &Config{
		ModelType:    k.text("model_type"),
		Names:        value[[]string](k, nil, "architectures"),
		DType:        k.text("dtype", "torch_dtype"),
		BOS:          int32(value(k, -1, "bos_token_id")),
		EOS:          k.ids("eos_token_id"),
		VocabSize:    k.int("vocab_size"),
		DecoderStart: int32(value(k, -1, "decoder_start_token_id")),
		HiddenSize:   k.int("hidden_size", "n_embd", "d_model", "dim"),
		Layers:       k.int("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"),
		Heads: k.int("num_attention_heads", "n_head", "n_heads", "num_heads",
			"encoder_attention_heads"),
		HeadDim: k.int("head_dim", "d_kv"),
		Width: k.int("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim",
			"hidden_dim", "d_ff", "encoder_ffn_dim"),
		MaxPositions: k.int("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"),
		NormEps: k.float("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps",
			"norm_epsilon"),
		Experts:     k.int("num_local_experts", "num_experts", "n_routed_experts"),
		ExpertsUsed: k.int("num_experts_per_tok", "moe_topk"),
		ExpertWidth: k.int("moe_intermediate_size"),
		SharedWidth: k.int("shared_expert_intermediate_size", "shared_intermediate_size",
			"moe_shared_expert_intermediate_size"),
		NormaliseTopK: k.bool("norm_topk_prob"),
		Window:        k.int("sliding_window"),
		LayerTypes:    value[[]string](k, nil, "layer_types", "layers_block_type"),

		AttentionSoftCap: k.float("attn_logit_softcapping"),
		LogitSoftCap:     k.float("final_logit_softcapping"),
		EmbeddingScale:   k.float("embedding_multiplier"),
		ResidualScale:    k.float("residual_multiplier"),
		AttentionScale:   k.float("attention_multiplier"),
		LogitScale:       k.float("logits_scaling"),
		ClipQKV:          k.float("clip_qkv"),
	}
	c.KVHeads = value(k, c.Heads, "num_key_value_heads", "num_kv_heads", "n_head_kv")
	c.Layers = cmp.Or(c.Layers, len(c.LayerTypes))
	if k.has("tie_word_embeddings") {
		tie := k.bool("tie_word_embeddings")
		c.TieEmbedding = &tie
	}
	if act := k.text("hidden_activation", "hidden_act", "activation_function",
		"activation"); act != "" {
		c.acted = true
		var err error
		if c.Act, err = fn.ParseActivation(act); err != nil && k.err == nil {
			k.err = err
		}
	} else {
		c.Act.Kind = fn.KindSilu
	}
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.HiddenSize / c.Heads
	}
	k.rope(c)
	if k.err == nil {
		k.err = c.check()
	}
	if k.err != nil {
		return nil, fmt.Errorf("models: %w: %w", ErrConfig, k.err)
	}
	c.keys = *k
	return c, nil
}

// ids is one id or a list of them.
func (k *keys) ids(name string) []int32 {
	_, v := k.raw([]string{name})
	if v == nil {
		return nil
	}
	if strings.HasPrefix(strings.TrimSpace(string(v)), "[") {
		return value[[]int32](k, nil, name)
	}
	return []int32{value[int32](k, 0, name)}
}

// rope reads the frequencies of rotary embeddings, which are at different places in configurations
// of different years.
func (k *keys) rope(c *Config) {
	c.RopeTheta = value(k, 10000.0, "rope_theta", "rotary_emb_base")
	c.LocalTheta = k.float("rope_local_base_freq")
	share := value(k, 1.0, "partial_rotary_factor", "rotary_pct")
	if _, v := k.raw([]string{"rope_parameters", "rope_scaling"}); v != nil {
		p := keys{}
		if k.err == nil {
			k.err = json.Unmarshal(v, &p.of)
		}
		if local, ok := p.of["sliding_attention"]; ok { // one for each kind of layer
			var at struct {
				Theta float64 `json:"rope_theta"`
			}
			_ = json.Unmarshal(local, &at)
			c.LocalTheta = at.Theta
			v, p = p.of["full_attention"], keys{}
			if err := json.Unmarshal(v, &p.of); err != nil && k.err == nil {
				k.err = fmt.Errorf("rope_parameters: full_attention: %w", err)
			}
		}
		c.RopeTheta = value(&p, c.RopeTheta, "rope_theta")
		share = value(&p, share, "partial_rotary_factor")
		k.ropeScaling(c, &p, v)
	}
	c.RotaryDim = value(k, int(float64(c.HeadDim)*share), "rotary_dim")
}

// ropeScaling reads the part of a configuration about longer sequences.
func (k *keys) ropeScaling(c *Config, p *keys, text json.RawMessage) {
	kind := value(p, "default", "rope_type", "type")
	if kind == "mrope" || kind == "proportional" { // of images; texts have positions as ever
		kind = "default"
	}
	s := &c.RopeScaling
	rest := map[string]json.RawMessage{}
	_ = json.Unmarshal(text, &rest)
	if kind == "ntk" { // at all lengths: another base, and linear
		f := value(p, 1.0, "factor")
		c.RopeTheta *= f
		rest["factor"], _ = json.Marshal(math.Pow(f, 2/float64(max(c.HeadDim, 1))))
		if kind = "linear"; p.has("mixed_b") && k.err == nil {
			k.err = errors.New("rope scaling ntk with mixed_b: not supported")
		}
	}
	rest["rope_type"], _ = json.Marshal(kind)
	all, _ := json.Marshal(rest)
	if err := json.Unmarshal(all, s); err != nil && k.err == nil {
		k.err = fmt.Errorf("rope scaling: %w", err)
	}
	if p.has("truncate") {
		s.NoTruncate = !p.bool("truncate")
	}
	switch original := k.int("original_max_position_embeddings"); {
	case s.OriginalMax != 0:
	case original != 0:
		s.OriginalMax = original
	case s.Type == fn.RopeDynamic || s.Type == fn.RopeYarn:
		s.OriginalMax = c.MaxPositions
	}
	if s.Type == fn.RopeLong && s.OriginalMax > 0 && c.MaxPositions > 0 {
		s.Factor = float64(c.MaxPositions) / float64(s.OriginalMax)
	}
	k.err = errors.Join(k.err, p.err)
}

// limit is more than any size in a configuration: products of a few do not overflow.
const limit = 1 << 30

// check reports sizes without which there is no model.
func (c *Config) check() error {
	for _, s := range []struct {
		name string
		n    int
	}{
		{"vocab_size", c.VocabSize}, {"hidden_size", c.HiddenSize}, {"num_hidden_layers", c.Layers},
	} {
		if s.n < 1 || s.n > limit {
			return fmt.Errorf("%s is %d", s.name, s.n)
		}
	}
	for _, s := range []struct {
		name string
		n    int
	}{
		{"num_attention_heads", c.Heads}, {"num_key_value_heads", c.KVHeads}, {"head_dim", c.HeadDim},
		{"intermediate_size", c.Width}, {"max_position_embeddings", c.MaxPositions},
		{"sliding_window", c.Window}, {"number of experts", c.Experts},
		{"num_experts_per_tok", c.ExpertsUsed}, {"moe_intermediate_size", c.ExpertWidth},
		{"rotary dimensions", c.RotaryDim}, {"shared expert's width", c.SharedWidth},
	} {
		if s.n < 0 || s.n > limit {
			return fmt.Errorf("%s is %d", s.name, s.n)
		}
	}
	if n := len(c.LayerTypes); n != 0 && n != c.Layers {
		return fmt.Errorf("layer_types has %d elements for %d layers", n, c.Layers)
	}
	return nil
}

// checkAttention reports sizes that attention cannot have.
func (c *Config) checkAttention() error {
	switch {
	case c.Heads < 1 || c.KVHeads < 1 || c.Heads%c.KVHeads != 0:
		return fmt.Errorf("models: %w: %d heads with %d of keys, which is no divisor",
			ErrConfig, c.Heads, c.KVHeads)
	case c.HeadDim < 1:
		return fmt.Errorf("models: %w: head_dim is %d", ErrConfig, c.HeadDim)
	case c.RotaryDim > c.HeadDim || c.RotaryDim%2 != 0:
		return fmt.Errorf("models: %w: %d rotary dimensions of %d", ErrConfig, c.RotaryDim, c.HeadDim)
	}
	return nil
}

// layerIs reports whether a layer is of a type in the words of LayerTypes; without these the
// architecture's own answer counts.
func (c *Config) layerIs(i int, kind string, or bool) bool {
	if len(c.LayerTypes) == 0 {
		return or
	}
	return c.LayerTypes[i] == kind
}

// activation is the activation as gated networks compute it.
func (c *Config) activation() (tensor.Activation, error) {
	act, ok := c.Act.Epilogue()
	if !ok {
		return 0, fmt.Errorf("models: %w: activation %v of a gated network", ErrConfig, c.Act)
	}
	return act, nil
}

// IsEOS reports whether a token ends a text.
func (c *Config) IsEOS(id int32) bool { return slices.Contains(c.EOS, id) }
