package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gokiln/kiln/quantized/gguf"
)

// ggufKeys are the keys of GGUF files behind the name of the architecture, and what config.json
// calls the same.
var ggufKeys = map[string]string{
	"vocab_size":                        "vocab_size",
	"context_length":                    "max_position_embeddings",
	"embedding_length":                  "hidden_size",
	"block_count":                       "num_hidden_layers",
	"feed_forward_length":               "intermediate_size",
	"attention.head_count":              "num_attention_heads",
	"attention.head_count_kv":           "num_key_value_heads",
	"attention.key_length":              "head_dim",
	"attention.layer_norm_rms_epsilon":  "rms_norm_eps",
	"attention.layer_norm_epsilon":      "layer_norm_eps",
	"attention.sliding_window":          "sliding_window",
	"attention.sliding_window_pattern":  "sliding_window_pattern",
	"attention.clamp_kqv":               "clip_qkv",
	"attention.scale":                   "attention_multiplier",
	"rope.dimension_count":              "rotary_dim",
	"rope.freq_base":                    "rope_theta",
	"rope.freq_base_swa":                "rope_local_base_freq",
	"expert_count":                      "num_experts",
	"expert_used_count":                 "num_experts_per_tok",
	"expert_feed_forward_length":        "moe_intermediate_size",
	"expert_shared_feed_forward_length": "shared_expert_intermediate_size",
	"expert_weights_norm":               "norm_topk_prob",
	"attn_logit_softcapping":            "attn_logit_softcapping",
	"final_logit_softcapping":           "final_logit_softcapping",
	"embedding_scale":                   "embedding_multiplier",
	"residual_scale":                    "residual_multiplier",
	"logit_scale":                       "logits_scaling",
	"use_parallel_residual":             "use_parallel_residual",
	"pooling_type":                      "pooling_type",
	"expert_weights_scale":              "routed_scaling_factor",
	"shortconv.l_cache":                 "conv_L_cache",
	"leading_dense_block_count":         "num_dense_layers",
	"rope.scaling.finetuned":            "rope_finetuned",
	"nextn_predict_layers":              "num_nextn_predict_layers",
	"full_attention_interval":           "full_attention_interval",
	"ssm.conv_kernel":                   "conv_kernel",
	"ssm.inner_size":                    "ssm_inner_size",
	"ssm.state_size":                    "ssm_state_size",
	"ssm.time_step_rank":                "time_step_rank",
	"ssm.group_count":                   "n_groups",
	"ssm.dt_b_c_rms":                    "mamba_dt_b_c_rms",
	"wkv.head_size":                     "head_dim",
	"attention.decay_lora_rank":         "decay_low_rank_dim",
	"attention.iclr_lora_rank":          "a_low_rank_dim",
	"attention.gate_lora_rank":          "gate_low_rank_dim",
	"attention.value_length":            "value_length",
	"attention.key_length_mla":          "head_dim_mla",
	"attention.value_length_mla":        "value_length_mla",
	"attention.q_lora_rank":             "q_lora_rank",
	"attention.kv_lora_rank":            "kv_lora_rank",
	"rope.scaling.yarn_log_multiplier":  "yarn_log_multiplier",
	"expert_shared_count":               "n_shared_experts",
	"moe_latent_size":                   "moe_latent_size",
	"expert_group_count":                "n_group",
	"expert_group_used_count":           "topk_group",
	"expert_gating_func":                "expert_gating_func",

	"attention.value_residual_mix_lora_rank": "v_low_rank_dim",
	"decoder_start_token_id":                 "decoder_start_token_id",
	"decoder_block_count":                    "num_decoder_layers",
	"attention.relative_buckets_count":       "relative_attention_num_buckets",
}

// ggufScaling are the keys about longer sequences, and those of rope_scaling.
var ggufScaling = map[string]string{
	"rope.scaling.type":                    "rope_type",
	"rope.scaling.factor":                  "factor",
	"rope.scaling.original_context_length": "original_max_position_embeddings",
	"rope.scaling.attn_factor":             "attention_factor",
	"rope.scaling.yarn_beta_fast":          "beta_fast",
	"rope.scaling.yarn_beta_slow":          "beta_slow",
}

// ConfigGGUF reads the metadata of a GGUF file. Errors are of kind [ErrConfig], or those of package
// gguf.
func ConfigGGUF(m *gguf.Metadata) (*Config, error) {
	arch, err := gguf.Get[string](m, gguf.KeyArchitecture)
	if err != nil {
		return nil, fmt.Errorf("models: %w: %w", ErrConfig, err)
	}
	k, scaling := keys{of: map[string]json.RawMessage{}}, map[string]json.RawMessage{}
	for key, v := range m.All() {
		name, ok := strings.CutPrefix(key, arch+".")
		if !ok {
			continue
		}
		if name == "attention.head_count_kv" && k.ggufLayers(v) {
			continue
		}
		if list, err := gguf.ListAs[bool](v); err == nil && name == "attention.recurrent_layers" {
			k.ggufRecurrent(list)
			continue
		}
		text, err := jsonOf(v)
		if err != nil {
			return nil, fmt.Errorf("models: %w: %s: %w", ErrConfig, key, err)
		}
		switch {
		case text == nil:
		case ggufKeys[name] != "":
			k.of[ggufKeys[name]] = text
		case ggufScaling[name] != "":
			scaling[ggufScaling[name]] = text
		}
	}
	if kind := string(scaling["rope_type"]); kind != "" && kind != `"none"` {
		k.of["rope_scaling"], _ = json.Marshal(scaling)
	} else {
		for name, text := range scaling { // of factors that are tensors
			k.of[name] = text
		}
	}
	if !k.has("vocab_size") {
		if v, ok := m.Value("tokenizer.ggml.tokens"); ok {
			k.of["vocab_size"], _ = json.Marshal(v.Len())
		}
	}
	for key, name := range map[string]string{
		"tokenizer.ggml.bos_token_id": "bos_token_id", "tokenizer.ggml.eos_token_id": "eos_token_id",
	} {
		if id, err := gguf.Get[uint32](m, key); err == nil {
			k.of[name], _ = json.Marshal(id)
		}
	}
	c, err := k.config()
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"eot", "eom"} { // they end an answer of a chat
		id, err := gguf.Get[uint32](m, "tokenizer.ggml."+key+"_token_id")
		if err == nil && !c.IsEOS(int32(id)) {
			c.EOS = append(c.EOS, int32(id))
		}
	}
	c.ModelType, c.gguf = arch, true
	return c, nil
}

// ggufLayers reads a list of the heads of keys of each layer, of which those without attention have
// none. It returns false of other values.
func (k *keys) ggufLayers(v gguf.Value) bool {
	list, err := gguf.ListAs[int64](v)
	if err != nil || len(list) == 0 || slices.Min(list) != 0 {
		return false
	}
	heads, types := slices.Max(list), make([]string, len(list))
	for i, n := range list {
		switch n {
		case 0:
			types[i] = "recurrent"
		case heads:
			types[i] = "full_attention"
		default:
			return false
		}
	}
	k.of["layer_types"], _ = json.Marshal(types)
	k.of["num_key_value_heads"], _ = json.Marshal(heads)
	return true
}

// ggufRecurrent says which layers have linear attention.
func (k *keys) ggufRecurrent(list []bool) {
	types := make([]string, len(list))
	for i, recurrent := range list {
		if types[i] = "full_attention"; recurrent {
			types[i] = "linear_attention"
		}
	}
	k.of["layer_types"], _ = json.Marshal(types)
}

// jsonOf is a value of the metadata in JSON, nil of one that no configuration has. A list of equal
// elements, as some files have for the layers, is this element, and 0 is for layers that have none.
func jsonOf(v gguf.Value) (json.RawMessage, error) {
	if v.Type() == gguf.Array {
		list, err := gguf.ListAs[int64](v)
		if err != nil || len(list) == 0 {
			return nil, nil // what is read has no such lists
		}
		most := slices.Max(list)
		if slices.ContainsFunc(list, func(n int64) bool { return n != most && n != 0 }) {
			return nil, errors.New("layers of different sizes")
		}
		return json.Marshal(most)
	}
	if f, err := gguf.As[float64](v); err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("the value is %v", f)
	}
	switch v.Type() {
	case gguf.String:
		return json.Marshal(v.String())
	case gguf.Bool:
		b, err := gguf.As[bool](v)
		if err != nil {
			return nil, err
		}
		return json.Marshal(b)
	case gguf.Float32:
		f, err := gguf.As[float32](v)
		if err != nil {
			return nil, err
		}
		return json.Marshal(f)
	case gguf.Float64:
		f, err := gguf.As[float64](v)
		if err != nil {
			return nil, err
		}
		return json.Marshal(f)
	}
	return json.RawMessage(v.String()), nil
}
