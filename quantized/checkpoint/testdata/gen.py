"""Writes checkpoints.safetensors.gz: quantized layers as checkpoints have them, and their weights.

    python gen.py    (with torch and bitsandbytes 0.50 or later, on a CPU)

Layers of bitsandbytes are quantized and dequantized by that library. Those of GPTQ, AWQ and FP8 are
random codes, packed and dequantized with torch by the definitions of AutoGPTQ (QuantLinear.pack and
forward), AutoAWQ (packing_utils and dequantize_gemm), DeepSeek-V3 (weight_dequant of
inference/kernel.py) and compressed-tensors (dequantize). The metadata has for each layer the
configuration of its model; the weight of layer x is the tensor want/x, in the type that the
reference computes in, of (out, in).
"""

import gzip
import json
import struct

import torch

torch.manual_seed(20)
tensors, configs = {}, {}
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int32: "I32",
         torch.int64: "I64", torch.uint8: "U8", torch.float8_e4m3fn: "F8_E4M3"}


def put(layer, config, want, **parts):
    configs[layer] = config
    for name, t in parts.items():
        tensors[f"{layer}.{name.replace('__dot__', '.')}"] = t
    tensors[f"want/{layer}"] = want


def pack(codes, bits):
    """Packs the first dimension into int32 words: a stream of bits, lowest first."""
    n, rest = codes.shape
    words = torch.zeros(n * bits // 32, rest, dtype=torch.int64)
    for i in range(n):
        for b in range(bits):
            at = i * bits + b
            words[at // 32] |= (codes[i].long() >> b & 1) << (at % 32)
    return words.to(torch.int32) if words.max() < 2**31 else (words - (words >> 31 << 32)).to(torch.int32)


def scales_of(groups, n, dtype):
    return (torch.rand(groups, n) * 0.02 + 0.001).to(dtype)


def gptq(layer, bits, n, k, group, order=False, v2=False, symmetric=False, dtype=torch.float16, index=True):
    size = k if group == -1 else group
    groups = -(-k // size)
    g_idx = torch.arange(k) // size
    if order:
        g_idx = g_idx[torch.randperm(k)]
    codes = torch.randint(0, 2**bits, (k, n))
    zeros = torch.randint(1, 2**bits, (groups, n))
    if symmetric:
        zeros[:] = 2 ** (bits - 1)
    scales = scales_of(groups, n, dtype)
    stored = zeros if v2 else zeros - 1
    want = (codes - zeros[g_idx]).to(dtype) * scales[g_idx]
    config = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": order, "sym": symmetric,
              "checkpoint_format": "gptq_v2" if v2 else "gptq"}
    parts = {"qweight": pack(codes, bits), "qzeros": pack(stored.T.contiguous(), bits).T.contiguous(),
             "scales": scales}
    if index:
        parts["g_idx"] = g_idx.to(torch.int32)
    put(layer, config, want.T.contiguous(), **parts)


def awq(layer, n, k, group, dtype=torch.float16):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    size = k if group == -1 else group
    codes = torch.randint(0, 16, (k, n))
    zeros = torch.randint(0, 16, (k // size, n))
    scales = scales_of(k // size, n, dtype)

    def packed(x):
        eight = x.view(x.shape[0], n // 8, 8)[:, :, order]
        return pack(eight.reshape(-1, 8).T.contiguous(), 4).view(x.shape[0], n // 8)

    want = (codes - zeros.repeat_interleave(size, 0)).to(dtype) * scales.repeat_interleave(size, 0)
    config = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm",
                                      "zero_point": True}}
    put(layer, config, want.T.contiguous(), qweight=packed(codes), qzeros=packed(zeros), scales=scales)


def bnb(layer, kind, n, k, nested, block=64, storage=torch.uint8):
    import bitsandbytes.functional as F

    x = (torch.randn(n, k) * 0.05).bfloat16().float()
    q, state = F.quantize_4bit(x, blocksize=block, compress_statistics=nested, quant_type=kind,
                               quant_storage=storage)
    library = F.dequantize_4bit(q, state)
    config = {"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True,
                                      "bnb_4bit_quant_type": kind, "bnb_4bit_use_double_quant": nested}}
    parts = {"weight": q}
    for name, t in state.as_dict(packed=True).items():
        parts["weight__dot__" + name] = t
    # The definition, as in the library's backends/default/ops.py. Its kernels for CPUs (0.50.2) differ
    # where rows are not whole blocks: what they return is twice as far from x.
    absmax = state.absmax
    if nested:
        outer = state.state2.absmax.repeat_interleave(256)[: len(absmax)]
        absmax = state.state2.code[absmax.long()] * outer + state.offset
    raw = q.view(torch.uint8).flatten()
    codes = torch.stack([raw >> 4, raw & 15], 1).flatten()[: n * k].long()
    want = (state.code[codes] * absmax.repeat_interleave(block)[: n * k]).view(n, k)
    if k % block == 0:
        assert torch.equal(want, library)
    print(layer, "mean error", float((want - x).abs().mean()), "of the library", float((library - x).abs().mean()))
    put(layer, config, want, **parts)
    tensors[f"x/{layer}"] = x.bfloat16()


def fp8(layer, n, k, scales, block, key, config):
    w = (torch.randn(n, k) * 100).to(torch.float8_e4m3fn)
    x = None
    if scales is None:  # quantized as DeepSeek-V3 quantizes: act_quant of inference/kernel.py, in blocks
        x = (torch.randn(n, k) * 0.05).bfloat16().float()
        x[: block[0], : block[1]] *= 32
        blocks = -(-n // block[0]), -(-k // block[1])
        scales = torch.empty(blocks)
        for i in range(blocks[0]):
            for j in range(blocks[1]):
                at = slice(i * block[0], (i + 1) * block[0]), slice(j * block[1], (j + 1) * block[1])
                scales[i, j] = x[at].abs().max() / 448.0
                w[at] = (x[at] / scales[i, j]).to(torch.float8_e4m3fn)
        tensors[f"x/{layer}"] = x.bfloat16()
    else:
        w[0, 0], w[0, 1] = 448, -(2.0**-9)
    rows = scales.float()
    if rows.numel() == 1:
        rows = rows.view(1, 1)
    s = rows.repeat_interleave(block[0], 0)[:n].repeat_interleave(block[1], 1)[:, :k]
    want = w.float() * s
    put(layer, config, want, weight=w, **{key: scales})


def packed(layer, bits, n, k, group, order=False, symmetric=True):
    """Integers of compressed-tensors, packed by pack_to_int32: codes along columns, zeros along rows."""
    size = k if group is None else group
    groups = k // size
    g_idx = torch.arange(k) // size
    if order:
        g_idx = g_idx[torch.randperm(k)]
    codes = torch.randint(0, 2**bits, (n, k))
    zeros = torch.full((n, groups), 2 ** (bits - 1)) if symmetric else torch.randint(0, 2**bits, (n, groups))
    scales = scales_of(groups, n, torch.bfloat16).T.contiguous()
    want = (codes - zeros[:, g_idx]).bfloat16() * scales[:, g_idx]
    parts = {"weight_packed": pack(codes.T.contiguous(), bits).T.contiguous(), "weight_scale": scales,
             "weight_shape": torch.tensor([n, k])}
    if not symmetric:
        short = -n % (32 // bits)
        parts["weight_zero_point"] = pack(torch.cat([zeros, torch.zeros(short, groups, dtype=torch.int64)]), bits)
    if order:
        parts["weight_g_idx"] = g_idx.to(torch.int32)
    weights = {"num_bits": bits, "type": "int", "strategy": "channel" if group is None else "group",
               "group_size": group, "symmetric": symmetric}
    config = {"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized",
                                      "config_groups": {"group_0": {"weights": weights}}}}
    put(layer, config, want, **parts)


packed("packed4", 4, 12, 64, 32, symmetric=False)
packed("packed4.order", 4, 8, 96, 32, order=True)
packed("packed8", 8, 8, 40, None)
for bits in (2, 3, 4, 8):
    gptq(f"gptq{bits}", bits, 32, 96, 32)
gptq("gptq.order", 4, 24, 160, 64, order=True, v2=True)
gptq("gptq.order3", 3, 32, 96, 32, order=True)
gptq("gptq.all", 4, 8, 64, -1, symmetric=True, dtype=torch.bfloat16)
gptq("gptq.noindex", 8, 16, 64, 32, index=False)
awq("awq", 32, 96, 32)
awq("awq.all", 8, 40, -1, dtype=torch.bfloat16)
bnb("nf4", "nf4", 5, 72, False)
bnb("nf4.nested", "nf4", 96, 176, True)
bnb("fp4", "fp4", 6, 128, False, block=128, storage=torch.bfloat16)
deepseek = {"quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128],
                                    "activation_scheme": "dynamic"}}
small = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [16, 24]}}
fp8("fp8", 130, 16, None, [128, 128], "weight_scale_inv", deepseek)
fp8("fp8.wide", 8, 136, torch.rand(1, 2).bfloat16() * 0.01, [128, 128], "weight_scale_inv", deepseek)
fp8("fp8.small", 40, 64, None, [16, 24], "weight_scale_inv", small)


def compressed(strategy):
    weights = {"num_bits": 8, "type": "float", "strategy": strategy, "symmetric": True}
    return {"quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized",
                                    "config_groups": {"group_0": {"weights": weights, "targets": ["Linear"]}}}}


fp8("fp8.rows", 24, 32, torch.rand(24, 1).bfloat16() * 0.01, [1, 32], "weight_scale", compressed("channel"))
fp8("fp8.one", 8, 32, torch.rand(1) * 0.01, [8, 32], "weight_scale", compressed("tensor"))

header, data = {"__metadata__": {k: json.dumps(v) for k, v in configs.items()}}, b""
for name, t in tensors.items():
    raw = bytes(t.flatten().clone().view(torch.uint8).tolist())
    header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open("checkpoints.safetensors.gz", "wb") as f:
    f.write(gzip.compress(struct.pack("<Q", len(text)) + text + data, 9, mtime=0))
