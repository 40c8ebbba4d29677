# Further forms of published models: name -> (model_type, what differs from BASE).
CASES = {
    # blocks and scales of MXFP4 have 32 inputs each
    "gpt_oss mxfp4": ("gpt_oss", {"num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16,
                                  "sliding_window": 5, "hidden_size": 64, "intermediate_size": 96,
                                  "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": [
                                      "model.layers.*.self_attn", "model.layers.*.mlp.router",
                                      "model.embed_tokens", "lm_head"]}}),
}
