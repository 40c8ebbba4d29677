# Models of which layers have a recurrent state: name -> (model_type, what differs from BASE).
LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 12,
          "linear_value_head_dim": 10, "num_hidden_layers": 4, "head_dim": 16}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
           "shared_expert_intermediate_size": 40}
LFM2 = {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"],
        "block_auto_adjust_ff_dim": False}
CASES = {
    "lfm2": ("lfm2", LFM2),
    "lfm2 biases": ("lfm2", {"num_hidden_layers": 3, "full_attn_idxs": [1], "conv_bias": True, "conv_L_cache": 4,
                             "block_multiple_of": 16, "tie_word_embeddings": False}),
    "lfm2_moe": ("lfm2_moe", {"num_hidden_layers": 3, "layer_types": ["conv", "full_attention", "conv"],
                              "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24,
                              "num_dense_layers": 1, "routed_scaling_factor": 1.5}),
    "qwen3_next": ("qwen3_next", LINEAR | EXPERTS),
    "qwen3_next dense": ("qwen3_next", LINEAR | EXPERTS | {"mlp_only_layers": [1], "num_hidden_layers": 2,
                                                           "layer_types": ["full_attention", "linear_attention"]}),
    "qwen3_5": ("qwen3_5_text", LINEAR),
    "qwen3_5_moe": ("qwen3_5_moe_text", LINEAR | EXPERTS),
    "rwkv7": ("rwkv7", {"head_dim": 16, "decay_low_rank_dim": 10, "a_low_rank_dim": 6, "v_low_rank_dim": 4,
                        "gate_low_rank_dim": 12, "norm_eps": 1e-5, "hidden_act": "sqrelu", "norm_first": True,
                        "norm_bias": True, "num_hidden_layers": 3, "attn": None, "tie_word_embeddings": False,
                        "num_attention_heads": "absent", "num_key_value_heads": "absent"}),
    "recurrent_gemma": ("recurrent_gemma", {"num_hidden_layers": 4, "attention_window_size": 5,
                        "num_key_value_heads": 1, "lru_width": 48}),
}
