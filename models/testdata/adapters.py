"""Makes adapters.json.gz: tiny random models with adapters of PEFT (written with 0.21), and their logits.

Weights, those of adapters too, are by the rule of gen.py. Needs what gen.py does, and peft.

    python adapters.py
"""

import base64, gzip, json, os, tempfile

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

from gen import BASE, HERE, PROMPT, values

ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
GPT2 = {"intermediate_size": "absent", "n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 64}
# name -> (model_type, what differs from BASE, adapters with their scales)
CASES = {
    "llama": ("llama", {}, [(dict(r=4, lora_alpha=6, target_modules=ALL, rank_pattern={"v_proj": 2},
                                  alpha_pattern={"layers.1.self_attn.o_proj": 9, "o_proj": 3}), 1)]),
    "llama rslora": ("llama", {}, [(dict(r=4, lora_alpha=3, use_rslora=True, target_modules=["q_proj", "v_proj"],
                                         modules_to_save=["lm_head"]), 0.5)]),
    "llama dora": ("llama", {}, [(dict(r=3, use_dora=True, target_modules=ALL), 1)]),
    "llama two": ("llama", {}, [(dict(r=4, lora_alpha=6, target_modules=ALL), 0.5),
                                (dict(r=2, lora_alpha=4, use_rslora=True, target_modules=["k_proj", "down_proj"]), -1)]),
    "qwen2 biases": ("qwen2", {}, [(dict(r=2, bias="lora_only", target_modules=["q_proj", "k_proj", "v_proj"]), 1)]),
    "gpt2": ("gpt2", GPT2, [(dict(r=2, fan_in_fan_out=True, target_modules=["c_attn", "c_proj", "c_fc"]), 1)]),
    "gpt2 dora": ("gpt2", GPT2, [(dict(r=2, use_dora=True, fan_in_fan_out=True, target_modules=["c_attn", "c_fc"]), 1)]),
    "gpt_neox": ("gpt_neox", {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}}, [(dict(r=2, target_modules=["query_key_value", "dense"]), 1)]),
    "phi3": ("phi3", {}, [(dict(r=2, target_modules=["qkv_proj", "gate_up_proj"]), 1)]),
}


def numbers(i, name, shape):
    """The weights of a tensor of adapter i; magnitudes are around 1."""
    return values(f"{i} {name}" + (".weight" if name.endswith("vector") else ""), shape)


def adapter(model, i, config, d):
    """Writes an adapter of a model, which is changed, and returns what a test makes it of."""
    peft.get_peft_model(model, peft.LoraConfig(**config)).save_pretrained(d)
    path = os.path.join(d, "adapter_model.safetensors")
    shapes = {n: list(t.shape) for n, t in load_file(path).items()}
    save_file({n: numbers(i, n, s) for n, s in shapes.items()}, path, {"format": "pt"})
    config = json.load(open(os.path.join(d, "adapter_config.json"))) | {"base_model_name_or_path": "base"}
    return dict(config=config, tensors=shapes)


def make(kind, config, adapters):
    torch.manual_seed(0)
    config = {k: v for k, v in (BASE | config).items() if v != "absent"}
    c = transformers.CONFIG_MAPPING[kind](**config)
    c._attn_implementation = "eager"
    with tempfile.TemporaryDirectory() as d:
        base = transformers.AutoModelForCausalLM.from_config(c).float().eval()
        base.save_pretrained(d)
        path = os.path.join(d, "model.safetensors")
        shapes = {n: list(t.shape) for n, t in load_file(path).items()}
        save_file({n: values(n, s) for n, s in shapes.items()}, path, {"format": "pt"})
        text = json.load(open(os.path.join(d, "config.json")))
        load = lambda: type(base).from_pretrained(d, attn_implementation="eager", dtype=torch.float32).eval()
        list_, model, names = [], None, []
        for i, (o, scale) in enumerate(adapters):
            folder = os.path.join(d, str(i))
            list_.append(adapter(load(), i, o, folder) | dict(scale=scale))
            names.append(f"a{i}")
            if model is None:
                model = peft.PeftModel.from_pretrained(load(), folder, adapter_name=names[0])
            else:
                model.load_adapter(folder, adapter_name=names[-1])
        model.base_model.set_adapter(names)
        for module in model.modules():
            for name, (_, scale) in zip(names, adapters):
                if isinstance(module, peft.tuners.lora.LoraLayer) and name in module.scaling:
                    module.set_scale(name, scale)
        with torch.no_grad():
            plain = load()(torch.tensor([PROMPT])).logits[0]
            logits = model.eval()(torch.tensor([PROMPT])).logits[0].float()
    print(f"{kind:10} std {logits.std():.3f} change {(logits - plain).std():.3f}", flush=True)
    b = base64.b64encode(logits.numpy().astype("<f4").tobytes()).decode()
    return dict(config=text, tensors=shapes, prompt=PROMPT, logits=b, adapters=list_)


if __name__ == "__main__":
    out = {name: make(*case) for name, case in CASES.items()}
    path = os.path.join(HERE, "adapters.json.gz")
    with open(path, "wb") as f:
        with gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
            z.write(json.dumps(out, sort_keys=True, separators=(",", ":")).encode())
    print(path, os.path.getsize(path), "bytes")
