package models

import (
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn"
)

// hybrids are models of which most layers have a recurrent state in place of attention.
var hybrids = []architecture{
	{
		names: []string{"lfm2", "lfm2_moe"}, gguf: []string{"lfm2", "lfm2moe"},
		traits: lfm2, edit: lfm2Parts,
		rename: [][2]string{
			{`self_attn\.(in_proj|conv|out_proj)`, "conv.$1"}, {`self_attn\.o_proj`, "self_attn.out_proj"},
			{`self_attn\.([qk])_norm`, "self_attn.${1}_layernorm"}, {`input_layernorm`, "operator_norm"},
			{`post_attention_layernorm`, "ffn_norm"}, {`^model\.norm`, "model.embedding_norm"},
			{`mlp\.experts\.gate_proj`, "mlp.experts.*.w1.weight"},
			{`mlp\.experts\.down_proj`, "mlp.experts.*.w2.weight"},
			{`mlp\.experts\.up_proj`, "mlp.experts.*.w3.weight"},
			{`mlp\.gate_proj`, "mlp.w1"}, {`mlp\.down_proj`, "mlp.w2"}, {`mlp\.up_proj`, "mlp.w3"},
			{`mlp\.gate\.e_score_correction_bias`, "mlp.expert_bias"}, {`\.mlp\.`, ".feed_forward."},
		},
		renameGGUF: [][2]string{
			{`self_attn\.(in_proj|conv|out_proj)`, "shortconv.$1"}, {`^model\.norm`, "token_embd_norm"},
			{`mlp\.gate\.e_score_correction_bias`, "exp_probs_b.bias"},
		},
	},
	{
		names:  []string{"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"},
		gguf:   []string{"qwen3next", "qwen35", "qwen35moe"},
		traits: qwenNext, rename: deltaNetNames, edit: qwenNextParts,
		renameGGUF: deltaNetGGUF, editGGUF: qwenNextGGUF,
		ignore: []string{`^mtp\.`, `visual\.`},
	},
	{
		names: []string{"rwkv7"}, gguf: []string{"rwkv7"},
		traits: rwkv7, edit: rwkv7Parts, editGGUF: rwkv7GGUF,
		rename: [][2]string{
			{`model\.embed_tokens`, "model.embeddings"}, {`model\.embed_norm`, "model.layers.0.pre_norm"},
			{`input_layernorm`, "attn_norm"}, {`post_attention_layernorm`, "ffn_norm"},
			{`self_attn`, "attn"}, {`channel_mix`, "ffn"},
		},
		renameGGUF: [][2]string{
			{`post_attention_layernorm`, "attn_norm_2"}, {`self_attn\.r_proj`, "time_mix_receptance"},
			{`self_attn\.k_proj`, "time_mix_key"}, {`self_attn\.v_proj`, "time_mix_value"},
			{`self_attn\.o_proj`, "time_mix_output"}, {`self_attn\.g_norm`, "time_mix_ln"},
			{`self_attn\.(\w)_lora\.lora\.0\.weight`, "time_mix_${1}1.weight"},
			{`self_attn\.(\w)_lora\.lora\.2\.weight`, "time_mix_${1}2.weight"},
			{`self_attn\.(\w)_lora\.lora\.2\.bias`, "time_mix_${1}0.weight"},
			{`self_attn\.(k_k|k_a|r_k)`, "time_mix_$1.weight"},
			{`self_attn\.x_\w`, "time_mix_lerp_fused.weight"},
			{`channel_mix\.x_k`, "channel_mix_lerp_k.weight"}, {`channel_mix\.(key|value)`, "channel_mix_$1"},
		},
		ignore: []string{`blk\.0\.time_mix_v[012]\.`}, // of the first layer, which has no use for them
	},
	{
		names:  []string{"recurrent_gemma"},
		traits: recurrentGemma, rename: griffinNames, edit: griffinParts,
	},
}

// lfm2 is what LFM2 has: short convolutions in place of attention in most layers.
func lfm2(c *Config) traits {
	k := &c.keys
	c.Width = value(k, c.Width, "block_ff_dim")
	if value(k, c.ModelType == "lfm2" && !c.gguf, "block_auto_adjust_ff_dim") {
		n := max(value(k, 256, "block_multiple_of"), 1)
		c.Width = int(value(k, 1.0, "block_ffn_dim_multiplier") * float64(2*c.Width/3))
		c.Width = (c.Width + n - 1) / n * n
	}
	t := without(c)
	t.qkNorm = normOfHeads
	attention := value[[]int](k, nil, "full_attn_idxs")
	width := k.between("conv_L_cache", 3, 2, widestConv)
	t.mixer = func(i int) mixer {
		if c.layerIs(i, "full_attention", len(attention) == 0 || slices.Contains(attention, i)) {
			return nil
		}
		return newShortConv(c, width)
	}
	dense := k.int("num_dense_layers")
	t.moe = func(i int) bool { return i >= dense }
	t.routing = nn.MoEOptions{
		Sigmoid: true, Normalise: c.NormaliseTopK || c.gguf, Scale: k.float("routed_scaling_factor"),
		Bias: value(k, true, "use_expert_bias"),
	}
	return t
}

// lfm2Parts finds parameters of LFM2.
func lfm2Parts(_ *Config, name string, o *origin) {
	if strings.Contains(name, "conv.weight") {
		flatConv(name, o)
	}
}
