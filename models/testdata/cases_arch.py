# Further forms of published models: name -> (model_type, what differs from BASE).
NEMOTRON = {"num_hidden_layers": "absent", "layers_block_type": ["linear_attention", "moe", "full_attention", "moe"],
            "mamba_num_heads": 8, "mamba_head_dim": 12, "n_groups": 2, "ssm_state_size": 16, "chunk_size": 8,
            "head_dim": 16, "n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 32,
            "moe_shared_expert_intermediate_size": 40, "routed_scaling_factor": 2.5}
CASES = {
    # blocks and scales of MXFP4 have 32 inputs each
    "gpt_oss mxfp4": ("gpt_oss", {"num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16,
                                  "sliding_window": 5, "hidden_size": 64, "intermediate_size": 96,
                                  "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": [
                                      "model.layers.*.self_attn", "model.layers.*.mlp.router",
                                      "model.embed_tokens", "lm_head"]}}),
    "qwen3_5_moe packed": ("qwen3_5_moe_text", {
        "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 12, "linear_value_head_dim": 10,
        "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"], "head_dim": 16,
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 40}),
    "nemotron_h experts": ("nemotron_h", NEMOTRON),
    "nemotron_h latent": ("nemotron_h", NEMOTRON | {"moe_latent_size": 32, "n_group": 4, "topk_group": 2}),
}
