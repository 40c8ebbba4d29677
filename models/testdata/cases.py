# name -> (model_type, what differs from BASE)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16, "rope_theta": 500.0}
CASES = {
    "llama": ("llama", {}),
    "llama tied": ("llama", {"tie_word_embeddings": True, "num_key_value_heads": 4}),
    "llama3": ("llama", {"rope_parameters": LLAMA3}),
    "llama biases": ("llama", {"attention_bias": True, "mlp_bias": True, "head_dim": 8}),
    "llama linear": ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 2.0,
                                                   "rope_theta": 10000.0}}),
    "llama yarn": ("llama", {"rope_parameters": {"rope_type": "yarn", "factor": 4.0,
                             "rope_theta": 10000.0, "original_max_position_embeddings": 16}}),
    "llama dynamic": ("llama", {"max_position_embeddings": 10, "rope_parameters": {
        "rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}}),
}
