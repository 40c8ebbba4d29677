"""RWKV-7 in torch, for golden data: transformers has no such model.

Written from the formulas of "RWKV-7 Goose with expressive dynamic state evolution" (Peng et al.,
2025, section 4), with the names of parameters that the published models in the format of
flash-linear-attention have. Token after token, in float64.
"""

import torch
from torch.nn import functional as F


def shapes(c):
    h, n, out = c["hidden_size"], c["head_dim"], {}
    out["model.embeddings.weight"] = [c["vocab_size"], h]
    out["lm_head.weight"] = [c["vocab_size"], h]

    def norm(name):
        out[name + ".weight"] = out[name + ".bias"] = [h]

    def lora(name, rank, bias=True):
        out[name + ".lora.0.weight"], out[name + ".lora.2.weight"] = [rank, h], [h, rank]
        if bias:
            out[name + ".lora.2.bias"] = [h]

    norm("model.norm")
    norm("model.layers.0.pre_norm")
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for part in ["attn_norm", "ffn_norm", "attn.g_norm"]:
            norm(p + part)
        for part in "rwkvag":
            out[p + "attn.x_" + part] = [1, 1, h]
        for part in "rkvo":
            out[p + f"attn.{part}_proj.weight"] = [h, h]
        out[p + "attn.k_k"] = out[p + "attn.k_a"] = [h]
        out[p + "attn.r_k"] = [h // n, n]
        lora(p + "attn.w_lora", c["decay_low_rank_dim"])
        lora(p + "attn.a_lora", c["a_low_rank_dim"])
        lora(p + "attn.g_lora", c["gate_low_rank_dim"], bias=False)
        if i > 0:
            lora(p + "attn.v_lora", c["v_low_rank_dim"])
        out[p + "ffn.x_k"] = [h]
        out[p + "ffn.key.weight"] = [c["intermediate_size"], h]
        out[p + "ffn.value.weight"] = [h, c["intermediate_size"]]
    return out


def logits(c, weights, ids):
    w = {name: t.double() for name, t in weights.items()}
    h, n, eps = c["hidden_size"], c["head_dim"], c["norm_eps"]
    heads = h // n

    def norm(x, name):
        return F.layer_norm(x, (h,), w[name + ".weight"], w[name + ".bias"], eps)

    def lora(x, name, act):
        return act(x @ w[name + ".lora.0.weight"].T) @ w[name + ".lora.2.weight"].T + w.get(name + ".lora.2.bias", 0)

    def shifted(x):  # the token before
        return torch.cat([torch.zeros_like(x[:1]), x[:-1]])

    x = norm(w["model.embeddings.weight"][torch.tensor(ids)], "model.layers.0.pre_norm")
    first = None
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}.attn."
        y = norm(x, f"model.layers.{i}.attn_norm")
        mixed = {k: y + (shifted(y) - y) * w[p + "x_" + k].flatten() for k in "rwkvag"}
        r, k, v = (mixed[m] @ w[p + m + "_proj.weight"].T for m in "rkv")
        decay = torch.exp(-torch.exp(torch.tensor(-0.5)) * torch.sigmoid(lora(mixed["w"], p + "w_lora", torch.tanh)))
        if first is None:
            first = v
        else:
            v = v + (first - v) * torch.sigmoid(lora(mixed["v"], p + "v_lora", lambda z: z))
        a = torch.sigmoid(lora(mixed["a"], p + "a_lora", lambda z: z))
        g = lora(mixed["g"], p + "g_lora", torch.sigmoid)
        kk = F.normalize((k * w[p + "k_k"]).view(-1, heads, n), dim=-1)
        k = k * (1 + (a - 1) * w[p + "k_a"])
        r, k, v, decay, a = (t.view(-1, heads, n) for t in (r, k, v, decay, a))
        state, out = torch.zeros(heads, n, n, dtype=torch.float64), []
        for t in range(len(ids)):
            change = torch.diag_embed(decay[t]) - kk[t][:, :, None] * (a[t] * kk[t])[:, None, :]
            state = state @ change + v[t][:, :, None] * k[t][:, None, :]
            out.append((state @ r[t][:, :, None]).squeeze(-1))
        out = torch.stack(out).view(-1, h)
        out = F.group_norm(out, heads, w[p + "g_norm.weight"], w[p + "g_norm.bias"], n * eps).view(-1, heads, n)
        out = out + (r * k * w[p + "r_k"]).sum(-1, keepdim=True) * v
        x = x + (out.view(-1, h) * g) @ w[p + "o_proj.weight"].T
        p = f"model.layers.{i}.ffn."
        y = norm(x, f"model.layers.{i}.ffn_norm")
        y = y + (shifted(y) - y) * w[p + "x_k"]
        x = x + F.relu(y @ w[p + "key.weight"].T) ** 2 @ w[p + "value.weight"].T
    return norm(x, "model.norm") @ w["lm_head.weight"].T
