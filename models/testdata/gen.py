"""Makes golden*.json.gz: tiny random models of each architecture, with logits and greedy tokens.

The cases of cases_X.py are in golden_X.json.gz.

Weights are not stored: both sides compute them by the rule of `values` from the name of the tensor
and the index of the element. Needs torch and transformers (written with 5.24).

    python gen.py [name...]     # the cases of these names only, the others stay
"""

import base64, gzip, json, os, re, sys, tempfile, zlib

import gguf
import numpy as np
import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import rwkv7

HERE = os.path.dirname(os.path.abspath(__file__))
PROMPT = [1, 17, 93, 4, 55, 55, 8, 21, 70, 3, 39, 62, 11, 90, 28]
BASE = dict(vocab_size=96, hidden_size=48, intermediate_size=80, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
            bos_token_id=1, eos_token_id=2, pad_token_id=0)


def values(name, shape):
    """Numbers by a hash of name and index; those of one dimension are around 1 or 0."""
    n = int(np.prod(shape))
    i = np.arange(n, dtype=np.uint64)
    seed = zlib.crc32(name.encode()) * 0xD1342543DE82EF95 % 2**64
    x = i * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    x ^= x >> np.uint64(32)
    x = (x * np.uint64(0xBF58476D1CE4E5B9)).astype(np.uint64)
    x ^= x >> np.uint64(29)
    top = x >> np.uint64(40)
    if name.endswith(("_blocks", "_scales")):  # of MXFP4: any codes, and four powers of two
        out = top & np.uint64(255) if name.endswith("_blocks") else 120 + top % np.uint64(4)
        return torch.from_numpy(out.astype(np.uint8).reshape(shape))
    u = top.astype(np.float64) / 2.0**23 - 1  # [-1, 1)
    if len(shape) == 1:
        out = u * 0.25 + (1 if name.endswith("weight") else 0)
    else:
        out = u * 2.5 / np.sqrt(shape[-1])
    return torch.from_numpy(out.astype(np.float32).reshape(shape))


# general.architecture of GGUF files, where it is another than model_type
GGUF = {"mistral": "llama", "mixtral": "llama", "gemma3_text": "gemma3", "qwen2_moe": "qwen2moe",
        "qwen3_moe": "qwen3moe", "phi": "phi2", "olmo3": "olmo2", "cohere": "command-r",
        "gpt_neox": "gptneox", "gpt_bigcode": "starcoder", "gpt_oss": "gpt-oss",
        "deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2", "qwen3_next": "qwen3next", "qwen3_5_text": "qwen35", "qwen3_5_moe_text": "qwen35moe",
        "lfm2_moe": "lfm2moe", "falcon_mamba": "mamba", "granitemoehybrid": "granitehybrid"}


def gguf_names(kind, shapes):
    """The names that llama.cpp's converter has for tensors, with its package of them."""
    kind = GGUF.get(kind, kind)
    if kind == "nemotron_h" and any("experts" in n for n in shapes):
        kind = "nemotron_h_moe"
    arch = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}.get(kind)
    if arch is None:
        return None, None
    names, out = gguf.get_tensor_name_map(arch, 8), {}
    moe = any("block_sparse_moe" in n for n in shapes)
    for n in shapes:
        s = re.sub(r"experts\.\d+\.", "experts.", n).replace("dt_bias", "dt_proj.bias")
        s = s.replace("e_score_correction_bias", "e_score_correction.bias")
        s = re.sub(r"^backbone(\.layers\.\d+)\.mixer\.experts", r"model\1.mlp.experts", s)
        if kind == "rwkv7":  # what the converter calls parts before it asks
            for a, b in [("attn", "attention"), ("ffn_norm", "ln2"), ("ffn", "feed_forward"), ("g_norm", "ln_x"),
                         ("_lora.lora.0.weight", "1.weight"), ("_lora.lora.2.weight", "2.weight"),
                         ("_lora.lora.2.bias", "0.weight")]:
                s = s.replace(a, b)
        out[n] = (names.get_name(s, (".weight", ".bias")) or
                  names.get_name(re.sub(r"^(transformer|model)\.", "", s), (".weight", ".bias")))
        if m := re.search(r"(\d+)\.block_sparse_moe\.input_linear", n):  # it becomes two
            out[n] = f"blk.{m[1]}.ffn_gate_exps.weight|blk.{m[1]}.ffn_up_exps.weight"
        if m := re.search(r"(\d+)\.mlp\.experts\.(gate_up|down)_proj(_bias|)$", n):  # gpt-oss
            kinds = ["down"] if m[2] == "down" else ["gate", "up"]
            end = "bias" if m[3] else "weight"
            out[n] = "|".join(f"blk.{m[1]}.ffn_{k}_exps.{end}" for k in kinds)
        if m := re.search(r"(\d+)\.shared_mlp\.(in|out)put_linear", n):  # granite hybrid, with experts or without
            kinds, end = ["gate", "up"] if m[2] == "in" else ["down"], "_shexp" if moe else ""
            out[n] = "|".join(f"blk.{m[1]}.ffn_{k}{end}.weight" for k in kinds)
        if m := re.search(r"(\d+)\.linear_attn\.in_proj_qkvz", n):  # it becomes two
            out[n] = f"blk.{m[1]}.attn_qkv.weight|blk.{m[1]}.attn_gate.weight"
        if n.endswith("sinks"):
            out[n] += ".weight"
        if n.endswith("expert_bias"):
            out[n] += ".bias"
        if m := re.search(r"(\d+)\.attn\.x_\w$", n):  # six become one
            out[n] = f"blk.{m[1]}.time_mix_lerp_fused.weight"
        elif re.search(r"\.(k_k|k_a|r_k|x_k)$", n):
            out[n] += ".weight"
    return kind, out if all(out.values()) else None


def tables():
    """The file of each table of cases, and the cases."""
    for path in sorted(os.listdir(HERE)):
        if m := re.fullmatch(r"cases(_\w+|)\.py", path):
            space = {"BASE": BASE}
            exec(open(os.path.join(HERE, path)).read(), space)
            yield os.path.join(HERE, f"golden{m[1]}.json.gz"), space["CASES"]


def mxfp4(shapes):
    """The shapes of tensors with those of experts as blocks and scales of MXFP4."""
    out = {}
    for n, s in shapes.items():
        if re.search(r"experts\.(gate_up|down)_proj$", n):
            out[n + "_blocks"] = [s[0], s[2], s[1] // 32, 16]
            out[n + "_scales"] = [s[0], s[2], s[1] // 32]
        else:
            out[n] = s
    return out


def published(kind, config, packed=False):
    """The model of the reference library: its config.json, shapes of tensors, and scores of ids."""
    if kind == "rwkv7":  # transformers has none
        shapes = rwkv7.shapes(config)
        weights = {n: values(n, s) for n, s in shapes.items()}
        return config | {"model_type": kind}, shapes, lambda ids: rwkv7.logits(config, weights, ids).float()
    torch.manual_seed(0)
    packing = config.get("quantization_config")
    c = transformers.CONFIG_MAPPING[kind](**{k: v for k, v in config.items() if k != "quantization_config"})
    c._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(c).float().eval()
    with tempfile.TemporaryDirectory() as d:
        model.save_pretrained(d, save_original_format=not packed)
        path = os.path.join(d, "model.safetensors")
        shapes = {n: list(t.shape) for n, t in load_file(path).items()}
        text = json.load(open(os.path.join(d, "config.json")))
        how = {}
        if packing:
            shapes = mxfp4(shapes)
            text["quantization_config"] = packing
            json.dump(text, open(os.path.join(d, "config.json"), "w"))
            how = {"quantization_config": transformers.Mxfp4Config(dequantize=True)}
        save_file({n: values(n, s) for n, s in shapes.items()}, path, {"format": "pt"})
        model, info = type(model).from_pretrained(
            d, attn_implementation="eager", dtype=torch.float32, output_loading_info=True, **how)
        assert not info["missing_keys"] and not info["unexpected_keys"], info
    model = model.eval()
    return text, shapes, lambda ids: model(torch.tensor([ids]), use_cache=False).logits[0].float()


def make(kind, config, packed):
    text, shapes, run = published(kind, config, packed)
    with torch.no_grad():
        logits = run(PROMPT)
        greedy, margin = [], 1e9
        for _ in range(16):
            last = run(PROMPT + greedy)[-1]
            top = last.topk(2).values
            margin = min(margin, float(top[0] - top[1]))
            greedy.append(int(last.argmax()))
    print(f"{kind:16} std {logits.std():.3f} margin {margin:.2g} tensors {len(shapes)}", flush=True)
    assert margin > 1e-3, "greedy tokens are not certain"
    b = base64.b64encode(logits.numpy().astype("<f4").tobytes()).decode()
    arch, names = gguf_names(kind, shapes)
    return dict(arch=arch, names=names, config=text, tensors=shapes, prompt=PROMPT, logits=b, greedy=greedy)


def main():
    for path, cases in tables():
        out = json.load(gzip.open(path)) if os.path.exists(path) and sys.argv[1:] else {}
        todo = [n for n in cases if not sys.argv[1:] or n in sys.argv[1:]]
        for name in todo:
            kind, config = cases[name]
            config = {k: v for k, v in (BASE | config).items() if v != "absent"}
            out[name] = make(kind, config, name.endswith("packed"))
        if not todo:
            continue
        with open(path, "wb") as f:
            with gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
                z.write(json.dumps(out, sort_keys=True, separators=(",", ":")).encode())
        print(path, os.path.getsize(path), "bytes")


if __name__ == "__main__":
    main()
