"""Makes rope.json: frequencies of rotary embeddings as transformers computes them.

    python3 gen_rope.py       # in this folder; PyTorch 2 and transformers, CPU

A case has the number of elements and of positions, the base, the rope_scaling of a configuration,
the frequencies, and the factor of the tables.
"""
import json
import torch
from transformers import PretrainedConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

cases = []


def case(name, dim, positions, base, scaling):
    parameters = dict(scaling, rope_theta=base)
    config = PretrainedConfig(rope_theta=base, hidden_size=dim * 4, num_attention_heads=4, head_dim=dim,
                              max_position_embeddings=scaling.get("original_max_position_embeddings", positions))
    if scaling["rope_type"] == "longrope":
        config.max_position_embeddings = positions
        config.original_max_position_embeddings = scaling["original_max_position_embeddings"]
    config.rope_scaling = parameters
    config.rope_parameters = parameters
    freqs, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, torch.device("cpu"), seq_len=positions)
    cases.append({"name": name, "dim": dim, "positions": positions, "base": base, "scaling": scaling,
                  "freqs": [float("%.9g" % f) for f in freqs.tolist()], "factor": factor})


case("linear", 16, 100, 10000.0, {"rope_type": "linear", "factor": 4.0})
case("dynamic", 16, 8192, 10000.0, {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 2048})
case("dynamic short", 16, 1024, 10000.0, {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 2048})
case("yarn", 64, 16384, 10000.0, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096})
case("yarn betas", 64, 16384, 1000000.0,
     {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "beta_fast": 16.0, "beta_slow": 2.0})
case("yarn mscale", 64, 16384, 10000.0,
     {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "mscale": 0.707, "mscale_all_dim": 1.2})
case("yarn attention", 32, 16384, 10000.0,
     {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 2048, "attention_factor": 1.3})
case("llama3", 128, 131072, 500000.0,
     {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})
case("llama3 other", 64, 131072, 500000.0,
     {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 2.0, "high_freq_factor": 6.0, "original_max_position_embeddings": 8192})
short, long = [1.0 + i / 8 for i in range(8)], [1.0 + i * i for i in range(8)]
case("longrope", 16, 131072, 10000.0,
     {"rope_type": "longrope", "short_factor": short, "long_factor": long, "original_max_position_embeddings": 4096})
case("longrope short", 16, 4096, 10000.0,
     {"rope_type": "longrope", "short_factor": short, "long_factor": long, "original_max_position_embeddings": 4096})
case("longrope attention", 16, 131072, 10000.0,
     {"rope_type": "longrope", "short_factor": short, "long_factor": long, "original_max_position_embeddings": 4096,
      "attention_factor": 1.19})

with open("rope.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
