"""Losses of a small GPT that PyTorch trains, for TestPyTorch in gpt_test.go.

    python nn/train/testdata/gen.py   # in the root of the repository; needs torch

It writes gpt.json beside this file: 200 losses, float32, one thread. The numbers that parameters begin
with are integer hashes of names and indices, and batches are windows of the file LICENSE at places of a
formula, so that nothing else has to be kept.
"""

import json
import math
import os
import zlib

import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH, CONTEXT, DIM, HEADS, LAYERS, STEPS = 8, 32, 64, 4, 2, 200


def begin(name, *shape):
    """The first values: a hash of each index (the finaliser of MurmurHash3), uniform in ±0.035."""
    n, mask = math.prod(shape), 0xFFFFFFFF
    if len(shape) == 1:
        return torch.full(shape, 1.0 if "norm" in name and name.endswith("weight") else 0.0)
    h = (torch.arange(n, dtype=torch.int64) * 2654435761 + zlib.crc32(name.encode())) & mask
    h = ((h ^ (h >> 16)) * 0x85EBCA6B) & mask
    h = ((h ^ (h >> 13)) * 0xC2B2AE35) & mask
    h = h ^ (h >> 16)
    return ((h.double() / 2**31 - 1) * 0.035).float().reshape(shape)


def main():
    torch.set_num_threads(1)
    text = open(os.path.join(HERE, "../../../LICENSE"), "rb").read()
    vocabulary = sorted(set(text))
    tokens = torch.tensor([vocabulary.index(b) for b in text])
    v, d = len(vocabulary), DIM
    shapes = {"token.weight": (v, d), "position.weight": (CONTEXT, d)}
    for i in range(LAYERS):
        for name, shape in {
            "norm1.weight": (d,), "norm1.bias": (d,), "qkv.weight": (3 * d, d), "qkv.bias": (3 * d,),
            "proj.weight": (d, d), "proj.bias": (d,), "norm2.weight": (d,), "norm2.bias": (d,),
            "up.weight": (4 * d, d), "up.bias": (4 * d,), "down.weight": (d, 4 * d), "down.bias": (d,),
        }.items():
            shapes[f"blocks.{i}.{name}"] = shape
    shapes |= {"norm.weight": (d,), "norm.bias": (d,), "head.weight": (v, d)}
    p = {name: begin(name, *shape).requires_grad_() for name, shape in shapes.items()}

    def linear(x, name):
        return F.linear(x, p[name + ".weight"], p[name + ".bias"])

    def norm(x, name):
        return F.layer_norm(x, (d,), p[name + ".weight"], p[name + ".bias"])

    def forward(x):
        b, t = x.shape
        h = p["token.weight"][x] + p["position.weight"]
        for i in range(LAYERS):
            at = f"blocks.{i}."
            qkv = linear(norm(h, at + "norm1"), at + "qkv").view(b, t, 3, HEADS, d // HEADS)
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + linear(y.transpose(1, 2).reshape(b, t, d), at + "proj")
            h = h + linear(F.gelu(linear(norm(h, at + "norm2"), at + "up"), approximate="tanh"), at + "down")
        return F.linear(norm(h, "norm"), p["head.weight"])

    opt = torch.optim.AdamW(p.values(), lr=1e-3, weight_decay=0.01)
    losses = []
    for step in range(STEPS):
        starts = [(step * BATCH + i) * 37 % (len(tokens) - CONTEXT) for i in range(BATCH)]
        batch = torch.stack([tokens[s:s + CONTEXT + 1] for s in starts])
        logits = forward(batch[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, v), batch[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(p.values(), 1.0)
        opt.step()
        losses.append(float(f"{loss.item():.9g}"))
    with open(os.path.join(HERE, "gpt.json"), "w") as f:
        json.dump({"torch": torch.__version__, "losses": losses}, f, indent=0)
        f.write("\n")


main()
