"""Writes sdpa.json: attention and its gradients in float64, by PyTorch.

Run in this directory: python3 gen.py

Every case is the formula of the package's documentation, by PyTorch's operations and autograd.
Where PyTorch's scaled_dot_product_attention has the case, both must agree.
"""
import json

import torch
import torch.nn.functional as F

torch.manual_seed(19)
INF = float("inf")


def rand(*shape):
    """Multiples of 1/16, which are short in the file and exact in all types."""
    return (torch.randn(shape, dtype=torch.float64) * 16).round() / 16


def positions(s, kv):
    return torch.arange(s)[:, None] + kv - s, torch.arange(kv)[None, :]


def formula(q, k, v, scale=0.0, causal=False, window=None, mask=None, alibi=None, softcap=0.0, sinks=None):
    group = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(group, -3), v.repeat_interleave(group, -3)
    s = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    if softcap:
        s = softcap * torch.tanh(s / softcap)
    at, key = positions(q.shape[-2], k.shape[-2])
    if alibi is not None:
        s = s - alibi[..., None, None] * (key - at).abs()
    if mask is not None and mask.dtype == torch.bool:
        s = s.masked_fill(~mask, -INF)
    elif mask is not None:
        s = s + mask
    if causal:
        s = s.masked_fill(key > at, -INF)
    if window is not None and window[0] >= 0:
        s = s.masked_fill(key < at - window[0], -INF)
    if window is not None and window[1] >= 0:
        s = s.masked_fill(key > at + window[1], -INF)
    if sinks is not None:
        s = torch.cat([s, sinks[:, None, None].expand(*s.shape[:-1], 1)], -1)
    none = (s == -INF).all(-1, keepdim=True)
    s = s.masked_fill(none, 0)
    lse = s.logsumexp(-1).masked_fill(none[..., 0], -INF)
    p = s.softmax(-1).masked_fill(none, 0)[..., : k.shape[-2]]
    return p @ v, lse


def data(t):
    if t is None:
        return None
    bool_ = t.dtype == torch.bool
    flat = [int(x) if bool_ else (None if x == -INF else float(f"{x:.13g}")) for x in t.detach().flatten().tolist()]
    return {"shape": list(t.shape), "data": flat, "bool": bool_}


CASES = []


def case(name, q=(2, 2, 3, 4), kv=5, hkv=None, dv=3, torch_mask=None, **o):
    """A case; torch_mask is the boolean mask that PyTorch needs for the same, True for none."""
    lead, hq, d = q[:-3], q[-3], q[-1]
    hkv = hkv or hq
    x = {"q": rand(*q), "k": rand(*lead, hkv, kv, d), "v": rand(*lead, hkv, kv, dv)}
    x |= {n: o[n] for n in ("mask", "alibi", "sinks") if n in o}
    tensors = {n: t.requires_grad_() for n, t in x.items() if t.dtype != torch.bool}
    out, lse = formula(x["q"], x["k"], x["v"], **o)
    if torch_mask is not None:
        mask = o.get("mask") if torch_mask is True else torch_mask
        ref = F.scaled_dot_product_attention(x["q"], x["k"], x["v"], attn_mask=mask,
                                             scale=o.get("scale") or None, enable_gqa=hq != hkv)
        torch.testing.assert_close(out, ref, rtol=1e-12, atol=1e-12)
    seed, seed_lse = rand(*out.shape), rand(*lse.shape)
    finite = lse.masked_fill(lse == -INF, 0)
    grads = torch.autograd.grad((out * seed).sum(), list(tensors.values()), retain_graph=True)
    both = torch.autograd.grad((out * seed).sum() + (finite * seed_lse).sum(), list(tensors.values()))
    CASES.append({
        "name": name,
        "in": {n: data(t) for n, t in x.items()},
        "options": {"scale": o.get("scale", 0), "causal": o.get("causal", False),
                    "window": o.get("window"), "softcap": o.get("softcap", 0)},
        "out": data(out), "lse": data(lse), "seed": data(seed), "seed_lse": data(seed_lse),
        "grads": {n: data(g) for n, g in zip(tensors, grads)},
        "grads_lse": {n: data(g) for n, g in zip(tensors, both)},
    })


def lower_right(s, kv):
    at, key = positions(s, kv)
    return key <= at


def boolean(*shape):
    return torch.rand(shape) < 0.6


some = boolean(2, 1, 3, 5)
some[0, 0, 1] = False  # a query that attends to nothing
additive = rand(3, 5)
additive[1, 2] = -INF

case("plain", torch_mask=True)
case("three dimensions", q=(2, 3, 4), torch_mask=True)
case("five dimensions", q=(2, 1, 2, 3, 4), torch_mask=True)
case("scale", scale=0.3, torch_mask=True)
case("one query", q=(2, 2, 1, 4), kv=7, torch_mask=True)
case("grouped heads", q=(1, 4, 3, 4), hkv=2, torch_mask=True)
case("one head of keys", q=(2, 4, 3, 4), hkv=1, causal=True, torch_mask=lower_right(3, 5))
case("causal", causal=True, q=(1, 2, 5, 4), torch_mask=lower_right(5, 5))
case("causal, more keys", causal=True, torch_mask=lower_right(3, 5))
case("causal, fewer keys", causal=True, q=(1, 2, 6, 4), kv=4, torch_mask=lower_right(6, 4))
case("window", window=(2, 1), q=(1, 2, 6, 4), kv=6)
case("window in front", window=(1, -1), q=(1, 2, 6, 4), kv=6)
case("window behind", window=(-1, 2), q=(1, 2, 6, 4), kv=6)
case("causal window", window=(2, 2), causal=True, q=(1, 4, 6, 4), kv=9, hkv=2)
case("window of itself", window=(0, 0), q=(1, 1, 4, 4), kv=4)
case("boolean mask", mask=some, torch_mask=True)
case("boolean mask of heads", mask=boolean(4, 3, 5), q=(2, 4, 3, 4), hkv=2, torch_mask=True)
case("mask of keys", mask=torch.tensor([True, False, True, True, False]),
     torch_mask=torch.tensor([[True, False, True, True, False]]))
case("additive mask", mask=additive, torch_mask=True)
case("additive mask of all", mask=rand(2, 2, 3, 5), causal=True)
case("ALiBi", alibi=torch.tensor([0.5, 0.125], dtype=torch.float64))
case("ALiBi of batches", alibi=rand(2, 4).abs(), q=(2, 4, 3, 4), hkv=2, causal=True)
case("soft cap", softcap=1.5, causal=True)
case("sinks", sinks=rand(2))
case("sinks and nothing", sinks=rand(4), q=(1, 4, 6, 4), kv=4, hkv=2, causal=True)
case("all", sinks=rand(4), softcap=2.0, alibi=rand(4).abs(), mask=rand(1, 4, 6, 8), window=(4, 3),
     causal=True, q=(2, 4, 6, 4), kv=8, hkv=2, scale=0.7)

with open("sdpa.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in CASES) + "\n]\n")
