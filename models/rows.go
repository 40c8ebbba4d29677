package models

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// llamaLike is what most models have: rotary embeddings of one base, and biases as the
// configuration says.
func llamaLike(c *Config) traits {
	t := traits{ropes: []rope{{c.RopeTheta, c.RopeScaling}}}
	t.qkvBias, t.mlpBias = c.keys.bool("attention_bias"), c.keys.bool("mlp_bias")
	t.outBias = t.qkvBias
	t.routing = nn.MoEOptions{Normalise: true}
	return t
}

// without is llamaLike without biases, whatever the configuration says.
func without(c *Config) traits {
	t := llamaLike(c)
	t.qkvBias, t.outBias, t.mlpBias = false, false, false
	return t
}

// act is an activation for files that say none.
func (c *Config) act(k fn.Kind) {
	if !c.acted {
		c.Act = fn.Activation{Kind: k}
	}
}

// every is for layers of which all have the window but each n-th.
func (c *Config) every(n int) func(layer int) bool {
	return func(i int) bool { return c.layerIs(i, "sliding_attention", (i+1)%n != 0) }
}

// pattern is how many layers there are to each without a window.
func (c *Config) pattern(or int) int {
	return cmp.Or(c.keys.int("sliding_window_pattern", "_sliding_window_pattern"), or)
}

func always(int) bool { return true }

// preAndPost are the names of Gemma 2's norms, of which each layer has four.
var preAndPost = [][2]string{
	{`post_attention_layernorm`, "pre_feedforward_layernorm"},
	{`attn_post_norm`, "post_attention_layernorm"}, {`mlp_post_norm`, "post_feedforward_layernorm"},
}

// postOnly are the names of OLMo 2's norms, which are behind attention and the network only.
var postOnly = preAndPost[1:]

// mixtralNames are the names of Mixtral's experts.
var mixtralNames = [][2]string{
	{`mlp\.gate\.`, "block_sparse_moe.gate."},
	{`mlp\.experts\.gate_proj`, "block_sparse_moe.experts.*.w1.weight"},
	{`mlp\.experts\.down_proj`, "block_sparse_moe.experts.*.w2.weight"},
	{`mlp\.experts\.up_proj`, "block_sparse_moe.experts.*.w3.weight"},
}

// architectures is the table.
var architectures = slices.Concat(decoders, stateSpaces, hybrids, crossings)

// decoders are models with attention in all layers, the most used first.
var decoders = []architecture{
	{ // Mistral, Mixtral and many more have this name in GGUF files
		names: []string{"llama"}, gguf: []string{"llama"}, permuted: true,
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.windowed = always
			return t
		},
	},
	{
		names: []string{"mistral", "mixtral"}, rename: mixtralNames,
		traits: func(c *Config) traits {
			t := without(c)
			t.windowed = always
			return t
		},
	},
	{
		names: []string{"qwen2"}, gguf: []string{"qwen2"},
		traits: func(c *Config) traits {
			t := without(c)
			t.qkvBias, t.windowed = true, qwenWindow(c)
			return t
		},
	},
	{
		names: []string{"qwen3"}, gguf: []string{"qwen3"},
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.mlpBias, t.qkNorm, t.windowed = false, normOfHeads, qwenWindow(c)
			return t
		},
	},
	{
		names: []string{"qwen2_moe"}, gguf: []string{"qwen2moe"},
		rename: [][2]string{
			{`shared_experts\.gate\.`, "shared_expert_gate."}, {`shared_experts`, "shared_expert"},
		},
		traits: func(c *Config) traits {
			t := without(c)
			t.qkvBias, t.sharedGate, t.windowed = true, true, qwenWindow(c)
			t.routing.Normalise, t.moe = c.NormaliseTopK, qwenSparse(c)
			return t
		},
	},
	{
		names: []string{"qwen3_moe"}, gguf: []string{"qwen3moe"},
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.mlpBias, t.qkNorm, t.windowed = false, normOfHeads, qwenWindow(c)
			t.routing.Normalise, t.moe = c.NormaliseTopK || c.gguf, qwenSparse(c)
			return t
		},
	},
	{
		names: []string{"gemma"}, gguf: []string{"gemma"}, edit: plusOne,
		traits: gemma,
	},
	{
		names: []string{"gemma2"}, gguf: []string{"gemma2"}, edit: plusOne, rename: preAndPost,
		traits: func(c *Config) traits {
			t := gemma(c)
			t.postNorm, t.windowed = true, c.every(2)
			c.gemmaScale(46)
			return t
		},
	},
	{
		names: []string{"gemma3_text", "gemma3"}, gguf: []string{"gemma3"},
		edit: plusOne, rename: preAndPost,
		traits: func(c *Config) traits {
			t := gemma(c)
			t.postNorm, t.qkNorm = true, normOfHeads
			t.bidirectional = c.keys.bool("use_bidirectional_attention") // EmbeddingGemma
			t.windowed = c.every(c.pattern(6))
			t.ropes = append(t.ropes, rope{theta: cmp.Or(c.LocalTheta, 10000)})
			t.ropeOf = func(i int) int {
				if t.windowed(i) {
					return 1
				}
				return 0
			}
			c.gemmaScale(62)
			return t
		},
		ignore: []string{`vision_tower\.`, `multi_modal_projector\.`},
	},
	{
		names: []string{"phi3"}, gguf: []string{"phi3"},
		rename: [][2]string{
			{`self_attn\.[qkv]_proj`, "self_attn.qkv_proj"}, {`mlp\.(gate|up)_proj`, "mlp.gate_up_proj"},
		},
		edit: func(c *Config, name string, o *origin) {
			splitQKV(c, name, o)
			splitGateUp(c, name, o)
		},
		traits: func(c *Config) traits {
			t := without(c)
			t.windowed = always
			return t
		},
	},
	{
		names: []string{"phi"}, gguf: []string{"phi2"}, reject: []string{"qk_layernorm"},
		rename: [][2]string{
			{`model\.norm`, "model.final_layernorm"}, {`mlp\.up_proj`, "mlp.fc1"},
			{`mlp\.down_proj`, "mlp.fc2"}, {`self_attn\.o_proj`, "self_attn.dense"},
		},
		traits: func(c *Config) traits {
			t := biased(c)
			t.norm, t.parallel, t.oneNorm, t.headBias = layerNorm, true, true, true
			c.act(fn.KindGeluTanh)
			return t
		},
	},
	{
		names: []string{"stablelm"}, gguf: []string{"stablelm"}, reject: []string{"qk_layernorm"},
		traits: func(c *Config) traits {
			t := without(c)
			t.norm, t.qkvBias = layerNorm, c.keys.bool("use_qkv_bias")
			t.parallel = c.keys.bool("use_parallel_residual")
			t.oneNorm = t.parallel
			return t
		},
	},
	{
		names: []string{"starcoder2"}, gguf: []string{"starcoder2"},
		rename: [][2]string{{`mlp\.up_proj`, "mlp.c_fc"}, {`mlp\.down_proj`, "mlp.c_proj"}},
		traits: func(c *Config) traits {
			t := biased(c)
			if !value(&c.keys, true, "use_bias") {
				t.qkvBias, t.outBias, t.mlpBias = false, false, false
			}
			t.norm, t.windowed = layerNorm, always
			c.act(fn.KindGeluTanh)
			return t
		},
	},
	{
		names: []string{"olmo"}, gguf: []string{"olmo"}, permuted: true,
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.norm = layerNormPlain
			return t
		},
	},
	{
		names: []string{"olmo2", "olmo3"}, gguf: []string{"olmo2"}, rename: postOnly,
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.noPreNorm, t.postNorm, t.qkNorm = true, true, normOfAll
			t.windowed = c.every(4)
			t.ropes = append(t.ropes, rope{theta: c.RopeTheta})
			t.ropeOf = func(i int) int { // longer sequences are for layers without a window only
				if c.Window > 0 && t.windowed(i) {
					return 1
				}
				return 0
			}
			return t
		},
	},
	{
		names: []string{"olmoe"}, gguf: []string{"olmoe"},
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.qkNorm, t.routing.Normalise = normOfAll, c.NormaliseTopK
			return t
		},
	},
	{
		names: []string{"granite", "granitemoe"}, gguf: []string{"granite", "granitemoe"},
		permuted: true,
		rename: [][2]string{
			{`mlp\.gate\.`, "block_sparse_moe.router.layer."},
			{`mlp\.experts\.(gate|up)_proj`, "block_sparse_moe.input_linear.weight"},
			{`mlp\.experts\.down_proj`, "block_sparse_moe.output_linear.weight"},
		},
		edit:   graniteExperts,
		traits: llamaLike,
	},
	{
		names: []string{"glm", "glm4"}, gguf: []string{"glm4"},
		rename: [][2]string{
			{`attn_post_norm`, "post_self_attn_layernorm"}, {`mlp_post_norm`, "post_mlp_layernorm"},
			{`mlp\.(gate|up)_proj`, "mlp.gate_up_proj"},
		},
		edit: splitGateUp,
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.interleaved, t.outBias, t.mlpBias = true, false, false
			t.postNorm = c.ModelType == "glm4"
			return t
		},
	},
	{
		names: []string{"smollm3"}, gguf: []string{"smollm3"}, permuted: true,
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.windowed = qwenWindow(c)
			step := cmp.Or(c.keys.int("no_rope_layer_interval"), 4)
			on := value[[]int](&c.keys, nil, "no_rope_layers")
			t.ropeOf = func(i int) int {
				if i < len(on) && on[i] == 0 || len(on) == 0 && (i+1)%step == 0 {
					return -1
				}
				return 0
			}
			return t
		},
	},
	{
		names: []string{"cohere", "cohere2"}, gguf: []string{"command-r", "cohere2"},
		reject: []string{"use_qk_norm"},
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.outBias, t.interleaved = t.qkvBias, true
			t.norm, t.parallel, t.oneNorm = layerNormNoBias, true, true
			c.LogitScale = 1 / cmp.Or(c.keys.float("logit_scale"), c.LogitScale, 1)
			if c.ModelType == "cohere2" {
				t.windowed = c.every(c.pattern(4))
				t.ropeOf = onlyWindowed(t.windowed)
			}
			return t
		},
	},
	{
		names: []string{"exaone4"}, gguf: []string{"exaone4"}, rename: postOnly,
		traits: func(c *Config) traits {
			t := without(c)
			t.noPreNorm, t.postNorm, t.qkNorm = true, true, normOfHeads
			if t.windowed = c.every(4); c.Window > 0 {
				t.ropeOf = onlyWindowed(t.windowed)
			}
			return t
		},
	},
	{
		names: []string{"seed_oss"}, gguf: []string{"seed_oss"},
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.outBias = c.keys.bool("attention_out_bias")
			return t
		},
	},
	{
		names: []string{"arcee"}, gguf: []string{"arcee"}, permuted: true,
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.plainMLP = true
			c.act(fn.KindRelu2)
			return t
		},
	},
	{
		names: []string{"nemotron"}, gguf: []string{"nemotron"}, edit: plusOne,
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.plainMLP, t.norm = true, layerNorm
			c.act(fn.KindRelu2)
			return t
		},
	},
	{
		names: []string{"gpt_oss"}, gguf: []string{"gpt-oss"}, edit: ossParts,
		rename: [][2]string{
			{`mlp\.gate\.`, "mlp.router."},
			{`mlp\.experts\.(gate|up)_proj`, "mlp.experts.gate_up_proj"},
			{`mlp\.experts\.down_proj$`, "mlp.experts.down_proj"},
		},
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.qkvBias, t.outBias, t.moeBias, t.sinks = true, true, true, true
			t.windowed = func(i int) bool { return c.layerIs(i, "sliding_attention", i%2 == 0) }
			t.ropes[0].scaling.NoTruncate = true
			limit := cmp.Or(c.keys.float("swiglu_limit"), 7)
			alpha := cmp.Or(c.keys.float("swiglu_alpha"), 1.702)
			t.routing.Gated = func(gate, up *tensor.Tensor) *tensor.Tensor {
				gate = gate.Clamp(math.Inf(-1), limit)
				up = up.Clamp(-limit, limit).AddScalar(1)
				return gate.Mul(gate.MulScalar(alpha).Sigmoid()).Mul(up)
			}
			return t
		},
	},
	{
		names:  []string{"deepseek_v2", "deepseek_v3", "kimi_k2"},
		gguf:   []string{"deepseek2"},
		traits: deepseek, edit: deepseekParts, editGGUF: deepseekGGUF,
		rename: [][2]string{{`self_attn\.[kv]_b_proj`, "self_attn.kv_b_proj.weight"}},
		renameGGUF: [][2]string{
			{`self_attn\.q_([ab])_proj`, "attn_q_$1"}, {`self_attn\.([kv])_b_proj`, "attn_${1}_b.weight"},
			{`self_attn\.kv_a_proj_with_mqa`, "attn_kv_a_mqa"},
			{`self_attn\.(q|kv)_a_layernorm`, "attn_${1}_a_norm"},
			{`mlp\.gate\.e_score_correction_bias`, "exp_probs_b.bias"},
		},
	},
	{
		names: []string{"helium"},
		traits: func(c *Config) traits {
			t := llamaLike(c)
			t.interleaved = true
			return t
		},
	},
	{
		names: []string{"ernie4_5"}, gguf: []string{"ernie4_5"},
		traits: func(c *Config) traits {
			t := without(c)
			b := c.keys.bool("use_bias")
			t.interleaved, t.qkvBias, t.outBias, t.mlpBias = true, b, b, b
			return t
		},
	},
	{
		names: []string{"persimmon"},
		rename: [][2]string{
			{`model\.norm`, "model.final_layernorm"}, {`self_attn\.[qkv]_proj`, "self_attn.query_key_value"},
			{`self_attn\.o_proj`, "self_attn.dense"}, {`self_attn\.([qk])_norm`, "self_attn.${1}_layernorm"},
			{`mlp\.up_proj`, "mlp.dense_h_to_4h"}, {`mlp\.down_proj`, "mlp.dense_4h_to_h"},
		},
		edit: splitGroups,
		traits: func(c *Config) traits {
			c.KVHeads = c.Heads
			t := biased(c)
			t.norm = layerNorm
			if value(&c.keys, true, "qk_layernorm") {
				t.qkNorm = normOfHeads
			}
			c.act(fn.KindRelu2)
			return t
		},
	},
	{
		names: []string{"gpt2"}, gguf: []string{"gpt2"},
		reject: []string{"scale_attn_by_inverse_layer_idx"},
		rename: gptNames,
		edit: func(c *Config, name string, o *origin) {
			transposed(name, o)
			splitQKV(c, name, o)
		},
		traits: func(c *Config) traits {
			c.KVHeads = c.Heads
			return gpt(c)
		},
		ignore: []string{`attn\.bias$`, `attn\.masked_bias$`},
	},
	{
		names: []string{"gpt_bigcode"}, gguf: []string{"starcoder"}, rename: gptNames,
		edit: func(c *Config, name string, o *origin) {
			if c.KVHeads == 1 {
				splitQKV(c, name, o)
			} else {
				splitGroups(c, name, o)
			}
		},
		traits: func(c *Config) traits {
			if c.KVHeads = c.Heads; value(&c.keys, true, "multi_query") {
				c.KVHeads = 1
			}
			return gpt(c)
		},
		ignore: []string{`attn\.bias$`, `attn\.masked_bias$`},
	},
	{
		names: []string{"gptj"}, gguf: []string{"gptj"},
		rename: [][2]string{
			{`model\.layers`, "transformer.h"}, {`model\.embed_tokens`, "transformer.wte"},
			{`model\.norm`, "transformer.ln_f"}, {`input_layernorm`, "ln_1"},
			{`self_attn\.o_proj`, "attn.out_proj"}, {`self_attn`, "attn"},
			{`mlp\.up_proj`, "mlp.fc_in"}, {`mlp\.down_proj`, "mlp.fc_out"},
		},
		traits: func(c *Config) traits {
			c.fourfold()
			c.KVHeads = c.Heads
			t := without(c)
			t.norm, t.parallel, t.oneNorm, t.interleaved = layerNorm, true, true, true
			t.plainMLP, t.mlpBias, t.headBias = true, true, true
			c.act(fn.KindGeluTanh)
			return t
		},
		ignore: []string{`attn\.bias$`, `attn\.masked_bias$`},
	},
	{
		names: []string{"gpt_neox"}, gguf: []string{"gptneox"},
		rename: [][2]string{
			{`model\.layers`, "gpt_neox.layers"}, {`model\.embed_tokens`, "gpt_neox.embed_in"},
			{`model\.norm`, "gpt_neox.final_layer_norm"}, {`lm_head`, "embed_out"},
			{`self_attn\.[qkv]_proj`, "attention.query_key_value"}, {`self_attn\.o_proj`, "attention.dense"},
			{`mlp\.up_proj`, "mlp.dense_h_to_4h"}, {`mlp\.down_proj`, "mlp.dense_4h_to_h"},
		},
		edit: splitGroups,
		traits: func(c *Config) traits {
			c.KVHeads = c.Heads
			t := biased(c)
			if b := value(&c.keys, true, "attention_bias"); !b {
				t.qkvBias, t.outBias = false, false
			}
			t.norm, t.parallel = layerNorm, value(&c.keys, true, "use_parallel_residual")
			c.act(fn.KindGelu)
			return t
		},
		ignore: []string{`attention\.bias$`, `attention\.masked_bias$`},
	},
	{
		names: []string{"falcon"}, gguf: []string{"falcon"}, edit: falconParts, traits: falcon,
		rename: [][2]string{
			{`model\.layers`, "transformer.h"}, {`model\.embed_tokens`, "transformer.word_embeddings"},
			{`model\.norm`, "transformer.ln_f"},
			{`self_attn\.[qkv]_proj`, "self_attention.query_key_value"},
			{`self_attn\.o_proj`, "self_attention.dense"},
			{`mlp\.up_proj`, "mlp.dense_h_to_4h"}, {`mlp\.down_proj`, "mlp.dense_4h_to_h"},
		},
	},
	{
		names: []string{"mpt"}, gguf: []string{"mpt"}, edit: splitQKV, traits: mpt,
		rename: [][2]string{
			{`model\.layers`, "transformer.blocks"}, {`model\.embed_tokens`, "transformer.wte"},
			{`model\.norm`, "transformer.norm_f"}, {`input_layernorm`, "norm_1"},
			{`post_attention_layernorm`, "norm_2"}, {`self_attn\.[qkv]_proj`, "attn.Wqkv"},
			{`self_attn\.o_proj`, "attn.out_proj"}, {`mlp\.`, "ffn."},
		},
	},
	{
		names: []string{"bloom"}, gguf: []string{"bloom"}, edit: splitGroups,
		reject: []string{"apply_residual_connection_post_layernorm"},
		rename: [][2]string{
			{`model\.layers`, "transformer.h"}, {`model\.embed_tokens`, "transformer.word_embeddings"},
			{`model\.embed_norm`, "transformer.word_embeddings_layernorm"},
			{`model\.norm`, "transformer.ln_f"},
			{`self_attn\.[qkv]_proj`, "self_attention.query_key_value"},
			{`self_attn\.o_proj`, "self_attention.dense"},
			{`mlp\.up_proj`, "mlp.dense_h_to_4h"}, {`mlp\.down_proj`, "mlp.dense_4h_to_h"},
		},
		traits: func(c *Config) traits {
			c.Width, c.KVHeads = 4*c.HiddenSize, c.Heads
			t := biased(c)
			t.ropes, t.norm, t.embedNorm, t.slopes = nil, layerNorm, true, slopes(c.Heads, 8)
			c.act(fn.KindGeluTanh)
			return t
		},
	},
	{
		names: []string{"opt"},
		rename: [][2]string{
			{`^model\.norm`, "model.decoder.final_layer_norm"},
			{`^model\.(layers|embed)`, "model.decoder.$1"},
			{`input_layernorm`, "self_attn_layer_norm"}, {`post_attention_layernorm`, "final_layer_norm"},
			{`self_attn\.o_proj`, "self_attn.out_proj"}, {`mlp\.up_proj`, "fc1"}, {`mlp\.down_proj`, "fc2"},
		},
		edit: func(c *Config, name string, o *origin) {
			if strings.Contains(name, "embed_positions") {
				o.start, o.rows = 2, c.MaxPositions // the first two are for padding
			}
		},
		traits: func(c *Config) traits {
			c.KVHeads = c.Heads
			t := biased(c)
			t.ropes, t.norm, t.learnedPositions = nil, layerNorm, true
			c.act(fn.KindRelu)
			if !value(&c.keys, true, "do_layer_norm_before") ||
				value(&c.keys, c.HiddenSize, "word_embed_proj_dim") != c.HiddenSize {
				c.keys.err = errOPT
			}
			return t
		},
	},
}

// qwenWindow is which layers of Qwen's models have a window, if any.
func qwenWindow(c *Config) func(int) bool {
	on, from := c.keys.bool("use_sliding_window"), c.keys.int("max_window_layers")
	return func(i int) bool { return on && c.layerIs(i, "sliding_attention", i >= from) }
}

// qwenSparse is which layers of Qwen's models have experts.
func qwenSparse(c *Config) func(int) bool {
	step := max(c.keys.int("decoder_sparse_step"), 1)
	dense := value[[]int](&c.keys, nil, "mlp_only_layers")
	return func(i int) bool { return !slices.Contains(dense, i) && (i+1)%step == 0 }
}

// gemma is what all models of this name have.
func gemma(c *Config) traits {
	c.EmbeddingScale = math.Sqrt(float64(c.HiddenSize))
	c.Act = fn.Activation{Kind: fn.KindGeluTanh} // the first configurations say another one
	return llamaLike(c)
}

// gemmaScale is the factor of scores, which GGUF files say nothing of: it is that of other heads in
// the largest models, which have so many layers.
func (c *Config) gemmaScale(layers int) {
	n := c.keys.float("query_pre_attn_scalar")
	if c.gguf && c.Layers == layers && c.Heads > 0 {
		n = float64(c.HiddenSize) / float64(c.Heads)
	}
	if n > 0 {
		c.AttentionScale = 1 / math.Sqrt(n)
	}
}

// graniteExperts finds gates and the others in one tensor for all experts.
func graniteExperts(c *Config, name string, o *origin) {
	width := cmp.Or(c.ExpertWidth, c.Width)
	switch {
	case strings.HasSuffix(name, "experts.gate_proj"):
		o.columns(0, width)
	case strings.HasSuffix(name, "experts.up_proj"):
		o.columns(width, width)
	}
}

// ossParts finds weights of experts, which are transposed and have gates and others in turn, or are
// in blocks.
func ossParts(c *Config, name string, o *origin) {
	at := 0
	switch {
	case c.mxfp4 && strings.Contains(name, "experts.") && !strings.HasSuffix(name, "bias"):
		o.name = name // see joinMXFP4
		return
	case strings.Contains(name, "experts.gate_proj"):
	case strings.Contains(name, "experts.up_proj"):
		at = 1
	case strings.HasSuffix(name, "experts.down_proj"):
		o.change = func(t *tensor.Tensor) *tensor.Tensor { return t.T().Contiguous() }
		return
	default:
		return
	}
	o.change = func(t *tensor.Tensor) *tensor.Tensor {
		t = t.Unfold(-1, 2, 2).GetOn(-1, at)
		if strings.HasSuffix(name, "bias") {
			return t.Contiguous()
		}
		return t.T().Contiguous()
	}
}

// biased is llamaLike with all biases and a feed-forward network without gates.
func biased(c *Config) traits {
	t := llamaLike(c)
	t.qkvBias, t.outBias, t.mlpBias, t.plainMLP = true, true, true, true
	return t
}

// onlyWindowed is for models of which layers without a window have no positions.
func onlyWindowed(windowed func(int) bool) func(int) int {
	return func(i int) int {
		if windowed(i) {
			return 0
		}
		return -1
	}
}

// fourfold is the width of feed-forward networks where a configuration says none.
func (c *Config) fourfold() { c.Width = cmp.Or(c.Width, 4*c.HiddenSize) }

// gptNames are the names of GPT-2.
var gptNames = [][2]string{
	{`model\.layers`, "transformer.h"}, {`model\.embed_tokens`, "transformer.wte"},
	{`model\.embed_positions`, "transformer.wpe"}, {`model\.norm`, "transformer.ln_f"},
	{`input_layernorm`, "ln_1"}, {`post_attention_layernorm`, "ln_2"},
	{`self_attn\.[qkv]_proj`, "attn.c_attn"}, {`self_attn\.o_proj`, "attn.c_proj"},
	{`mlp\.up_proj`, "mlp.c_fc"}, {`mlp\.down_proj`, "mlp.c_proj"},
}

// gpt is what GPT-2 has.
func gpt(c *Config) traits {
	c.fourfold()
	t := biased(c)
	t.ropes, t.norm, t.learnedPositions = nil, layerNorm, true
	c.act(fn.KindGeluTanh)
	return t
}

// falcon is what Falcon's models have, which differ by size.
func falcon(c *Config) traits {
	c.fourfold()
	renewed := c.keys.bool("new_decoder_architecture")
	if !renewed && !c.gguf {
		c.KVHeads = c.Heads
		if value(&c.keys, true, "multi_query") {
			c.KVHeads = 1
		}
	}
	t := biased(c)
	b := c.keys.bool("bias")
	t.qkvBias, t.outBias, t.mlpBias, t.norm = b, b, b, layerNorm
	t.parallel = value(&c.keys, true, "parallel_attn") || renewed
	t.oneNorm = t.parallel && (!renewed || c.keys.int("num_ln_in_parallel_attn") == 1)
	if c.keys.bool("alibi") {
		t.ropes, t.slopes = nil, slopes(c.Heads, 8)
		for i := range t.slopes { // they are scaled as scores are
			t.slopes[i] /= math.Sqrt(float64(c.HeadDim))
		}
	}
	c.act(fn.KindGelu)
	return t
}

// falconParts finds parameters of Falcon's models, of which the larger have two norms
// in each layer.
func falconParts(c *Config, name string, o *origin) {
	splitGroups(c, name, o)
	if c.keys.bool("new_decoder_architecture") && c.keys.int("num_ln_in_parallel_attn") != 1 {
		o.name = strings.Replace(o.name, "input_layernorm", "ln_attn", 1)
		o.name = strings.Replace(o.name, "post_attention_layernorm", "ln_mlp", 1)
	}
}

// mpt is what MPT's models have; much of it is in a part of the configuration of its own.
func mpt(c *Config) traits {
	var attn keys
	if _, v := c.keys.raw([]string{"attn_config"}); v != nil {
		c.keys.err = json.Unmarshal(v, &attn.of)
	}
	c.Width = cmp.Or(c.Width, int(value(&c.keys, 4.0, "expansion_ratio")*float64(c.HiddenSize)))
	c.ClipQKV = cmp.Or(c.ClipQKV, attn.float("clip_qkv"))
	c.AttentionScale = attn.float("softmax_scale")
	c.KVHeads = value(&attn, c.Heads, "kv_n_heads")
	t := traits{plainMLP: true, norm: layerNormNoBias}
	if b := !value(&c.keys, true, "no_bias"); b {
		t.qkvBias, t.outBias, t.mlpBias, t.norm = b, b, b, layerNorm
	}
	if value(&attn, true, "alibi") {
		t.slopes = slopes(c.Heads, value(&attn, 8.0, "alibi_bias_max"))
	} else {
		t.learnedPositions = true
	}
	c.act(fn.KindGelu)
	return t
}

// slopes are those of ALiBi (Press et al., 2022): 2^(−most·i/n) for n heads, a power of 2. Of
// other numbers of heads the rest have those between the first ones.
func slopes(heads int, most float64) []float64 {
	n := 1
	for 2*n <= heads {
		n *= 2
	}
	out := make([]float64, heads)
	for i := range out {
		if i < n {
			out[i] = math.Exp2(-most * float64(i+1) / float64(n))
		} else {
			out[i] = math.Exp2(-most * float64(2*(i-n)+1) / float64(2*n))
		}
	}
	return out
}
