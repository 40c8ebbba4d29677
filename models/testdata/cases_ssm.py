# Models with state spaces: model_type and what differs from BASE.
SSM = {"hidden_size": 48, "state_size": 16, "conv_kernel": 4, "expand": 2, "intermediate_size": "absent",
       "num_attention_heads": "absent", "num_key_value_heads": "absent", "max_position_embeddings": "absent"}
CASES = {
    "mamba": ("mamba", SSM),
    "mamba biases": ("mamba", SSM | {"use_bias": True, "use_conv_bias": False, "state_size": 5, "time_step_rank": 7,
                                     "conv_kernel": 3, "tie_word_embeddings": False}),
    "falcon_mamba": ("falcon_mamba", SSM | {"state_size": 8, "mixer_rms_eps": 1e-5}),
    "mamba2": ("mamba2", SSM | {"num_heads": 8, "head_dim": 12, "n_groups": 1, "chunk_size": 8}),
    "mamba2 groups": ("mamba2", SSM | {"num_heads": 6, "head_dim": 16, "n_groups": 2, "chunk_size": 4, "use_bias": True,
                                       "tie_word_embeddings": True, "time_step_limit": [0.3, 0.9]}),
    "granitemoehybrid": ("granitemoehybrid", {
        "num_hidden_layers": 3, "layer_types": ["linear_attention", "full_attention", "linear_attention"],
        "num_local_experts": 4, "num_experts_per_tok": 2, "intermediate_size": 32, "shared_intermediate_size": 40,
        "mamba_n_heads": 8, "mamba_n_groups": 2, "mamba_d_state": 16, "mamba_d_head": 12, "mamba_chunk_size": 8,
        "embedding_multiplier": 2.0, "logits_scaling": 1.5, "residual_multiplier": 0.6, "attention_multiplier": 0.2}),
    "granitemoehybrid dense": ("granitemoehybrid", {
        "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"],
        "num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 56,
        "position_embedding_type": "rope", "mamba_n_heads": 6, "mamba_n_groups": 1, "mamba_d_state": 8,
        "mamba_d_head": 16, "mamba_chunk_size": 4, "mamba_conv_bias": False, "tie_word_embeddings": True}),
    "bamba": ("bamba", {
        "num_hidden_layers": 3, "attn_layer_indices": [1], "mamba_n_heads": 8, "mamba_n_groups": 2, "mamba_d_state": 16,
        "mamba_d_head": 12, "mamba_chunk_size": 8}),
    "jamba": ("jamba", {
        "num_hidden_layers": 4, "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 3,
        "expert_layer_offset": 1, "num_experts": 4, "num_experts_per_tok": 2, "mamba_d_state": 8, "mamba_dt_rank": 5}),
    "nemotron_h": ("nemotron_h", {
        "num_hidden_layers": "absent", "layers_block_type": ["linear_attention", "mlp", "full_attention", "mlp"],
        "mamba_num_heads": 8, "mamba_head_dim": 12, "n_groups": 2, "ssm_state_size": 16, "chunk_size": 8,
        "head_dim": 16}),
}
