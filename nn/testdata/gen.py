"""Writes layers.json, which has the layers of PyTorch that package nn is compared with.

    python3 gen.py        # in this folder; needs torch, any version from 2.4 on

Each case has the parameters under PyTorch's names, inputs, outputs, gradients of the sum of outputs
times cos(index), and buffers afterwards, all computed in float64.
"""
import json
import math

import torch
from torch import nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(1)
cases = {}


def rnd(*shape, scale=1.0):
    return (torch.randn(*shape) * scale).mul(1000).round().div(1000)


def ints(high, *shape):
    return torch.randint(0, high, shape)


def save(t):
    t = t.detach()
    if t.dtype == torch.bool:
        t = t.to(torch.int64)
    data = t.flatten().tolist()
    if t.is_floating_point():
        data = [float(f"{x:.12g}") for x in data]
    return {"shape": list(t.shape), "int": not t.is_floating_point(), "data": data}


def case(name, module, *inputs, run=None, train=False, params=None):
    """params: values of parameters by PyTorch's names, if module is a function."""
    inputs = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    c = {"inputs": [save(x) for x in inputs], "train": train}
    if isinstance(module, nn.Module):
        with torch.no_grad():
            for k, p in module.state_dict().items():
                if p.is_floating_point() and "._u" not in k and "._v" not in k:
                    p.copy_(rnd(*p.shape, scale=0.5).abs() + 0.5 if k.endswith("var") else rnd(*p.shape, scale=0.5))
        module.train(train)
        own = dict(module.named_parameters())
        state = module.state_dict()
    else:
        own = {k: p.clone().requires_grad_() for k, p in (params or {}).items()}
        state = own
    c["params"] = {k: save(p) for k, p in state.items()}
    fn = run or module
    out = fn(*inputs) if isinstance(module, nn.Module) else module(*inputs, **{"p": own} if own else {})
    out = [o for o in (out if isinstance(out, (list, tuple)) else [out])]
    loss = sum((o * torch.cos(torch.arange(o.numel(), dtype=torch.float64)).reshape(o.shape)).sum() for o in out)
    loss.backward()
    c["outputs"] = [save(o) for o in out]
    c["grads"] = {f"in{i}": save(x.grad) for i, x in enumerate(inputs) if x.grad is not None}
    c["grads"].update({k: save(p.grad) for k, p in own.items() if p.grad is not None})
    if isinstance(module, nn.Module):
        c["after"] = {k: save(p) for k, p in module.named_buffers()}
    assert name not in cases
    cases[name] = c


# Normalisation
case("layer_norm", nn.LayerNorm(5), rnd(2, 3, 5))
case("layer_norm 2", nn.LayerNorm((3, 5)), rnd(2, 3, 5))
case("layer_norm no bias", nn.LayerNorm(5, bias=False), rnd(2, 5))
case("rms_norm", nn.RMSNorm(5), rnd(2, 3, 5))
case("rms_norm eps", nn.RMSNorm((3, 5), eps=1e-3), rnd(2, 3, 5))
case("group_norm", nn.GroupNorm(2, 4), rnd(2, 4, 3, 2))
case("group_norm 2", nn.GroupNorm(3, 6), rnd(2, 6))
case("instance_norm", nn.InstanceNorm1d(3), rnd(2, 3, 5))
case("instance_norm affine", nn.InstanceNorm2d(3, affine=True), rnd(2, 3, 2, 3))
case("instance_norm tracked train", nn.InstanceNorm1d(3, affine=True, track_running_stats=True), rnd(2, 3, 5), train=True)
case("instance_norm tracked", nn.InstanceNorm1d(3, track_running_stats=True), rnd(2, 3, 5))
case("batch_norm 1", nn.BatchNorm1d(3), rnd(4, 3))
case("batch_norm 1 train", nn.BatchNorm1d(3), rnd(4, 3), train=True)
case("batch_norm 2 train", nn.BatchNorm2d(3, momentum=0.3), rnd(2, 3, 2, 3), train=True)
case("batch_norm 3 train plain", nn.BatchNorm3d(2, affine=False), rnd(2, 2, 2, 1, 2), train=True)
case("batch_norm mean train", nn.BatchNorm1d(2, momentum=None), rnd(3, 2, 2), train=True)
case("batch_norm untracked", nn.BatchNorm1d(2, track_running_stats=False), rnd(3, 2, 2))

# Convolutions
case("conv1d", nn.Conv1d(2, 3, 3), rnd(2, 2, 6))
case("conv1d groups", nn.Conv1d(4, 4, 2, stride=2, padding=1, groups=2, bias=False), rnd(1, 4, 5))
case("conv1d same", nn.Conv1d(2, 2, 4, padding="same", dilation=2), rnd(1, 2, 8))
for mode in ("reflect", "replicate", "circular"):
    case("conv1d " + mode, nn.Conv1d(2, 2, 3, padding=2, padding_mode=mode), rnd(1, 2, 5))
    case("conv2d " + mode, nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode=mode), rnd(1, 1, 4, 4))
case("conv2d", nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)), rnd(2, 2, 5, 5))
case("conv3d", nn.Conv3d(1, 2, 2, padding=1), rnd(1, 1, 2, 3, 2))
case("conv_transpose1d", nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1), rnd(1, 2, 4))
case("conv_transpose2d", nn.ConvTranspose2d(4, 2, 2, stride=2, groups=2), rnd(1, 4, 2, 3))
case("conv_transpose3d", nn.ConvTranspose3d(1, 2, 2, bias=False), rnd(1, 1, 2, 2, 2))

# Pools, padding, sizes
case("max_pool1d", nn.MaxPool1d(2), rnd(1, 2, 6))
case("max_pool2d", nn.MaxPool2d(3, stride=2, padding=1), rnd(1, 2, 5, 5))
case("max_pool2d dilated", nn.MaxPool2d(2, stride=1, dilation=2), rnd(1, 1, 4, 5))
case("max_pool3d", nn.MaxPool3d(2, stride=(1, 2, 2), padding=1), rnd(1, 1, 3, 4, 4))
case("avg_pool1d", nn.AvgPool1d(3, stride=2, padding=1), rnd(1, 2, 6))
case("avg_pool2d", nn.AvgPool2d(2, padding=1, count_include_pad=False), rnd(1, 1, 4, 4))
case("avg_pool3d", nn.AvgPool3d(2, stride=1, padding=1), rnd(1, 1, 3, 2, 3))
case("avg_pool3d inside", nn.AvgPool3d(2, padding=1, count_include_pad=False), rnd(1, 1, 3, 2, 3))
case("adaptive_avg_pool1d", nn.AdaptiveAvgPool1d(3), rnd(1, 2, 5))
case("adaptive_avg_pool2d", nn.AdaptiveAvgPool2d((2, 3)), rnd(1, 1, 5, 4))
case("adaptive_avg_pool3d", nn.AdaptiveAvgPool3d((2, 1, 3)), rnd(1, 1, 3, 3, 4))
case("adaptive_max_pool2d", nn.AdaptiveMaxPool2d((2, 3)), rnd(1, 1, 5, 4))
case("adaptive_max_pool3d", nn.AdaptiveMaxPool3d((2, 1, 3)), rnd(1, 1, 3, 3, 4))
case("pad zero", nn.ZeroPad2d((1, 2, 0, 1)), rnd(1, 1, 2, 3))
case("pad constant", nn.ConstantPad1d((1, 2), 3.5), rnd(1, 2, 3))
case("pad reflect", nn.ReflectionPad2d((1, 2, 0, 1)), rnd(1, 1, 3, 4))
case("pad replicate", nn.ReplicationPad3d(1), rnd(1, 1, 2, 2, 2))
case("pad circular", nn.CircularPad1d((1, 2)), rnd(1, 2, 3))
case("upsample nearest 1", nn.Upsample(scale_factor=2), rnd(1, 2, 3))
case("upsample nearest 3", nn.Upsample(size=(3, 2, 4)), rnd(1, 1, 2, 2, 2))
case("upsample linear", nn.Upsample(scale_factor=1.7, mode="linear"), rnd(1, 2, 5))
case("upsample bilinear", nn.Upsample(scale_factor=(1.7, 2), mode="bilinear"), rnd(1, 1, 4, 3))
case("upsample bilinear corners", nn.Upsample(size=(5, 4), mode="bilinear", align_corners=True), rnd(1, 1, 3, 2))
case("upsample bicubic", nn.Upsample(size=(5, 4), mode="bicubic"), rnd(1, 1, 3, 4))
case("upsample trilinear", nn.Upsample(size=(3, 2, 5), mode="trilinear"), rnd(1, 1, 2, 3, 3))
case("upsample trilinear by", nn.Upsample(scale_factor=(1.5, 2, 1.3), mode="trilinear"), rnd(1, 1, 2, 3, 4))
case("pixel_shuffle", nn.PixelShuffle(2), rnd(2, 8, 1, 2))
case("pixel_unshuffle", nn.PixelUnshuffle(2), rnd(1, 2, 2, 4))

# Others
case("prelu", nn.PReLU(), rnd(2, 3))
case("prelu channels", nn.PReLU(3), rnd(2, 3, 2))
case("bilinear", nn.Bilinear(2, 3, 4), rnd(5, 2), rnd(5, 3))
case("sequential", nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2), nn.Flatten(0))), rnd(2, 3))
for mode in ("sum", "mean", "max"):
    ids = torch.tensor([1, 4, 2, 2, 0, 5, 3, 1])
    case(f"embedding_bag {mode}", nn.EmbeddingBag(6, 3, mode=mode), ids, torch.tensor([0, 3, 3, 7]))
    case(f"embedding_bag {mode} padded", nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2), ids.reshape(2, 4))
bag = nn.EmbeddingBag(6, 3, mode="sum")
case("embedding_bag weighted", bag, ids, torch.tensor([0, 5]), rnd(8), run=lambda i, o, w: bag(i, o, w))

# Recurrent layers
for kind, make in (("rnn", nn.RNN), ("lstm", nn.LSTM), ("gru", nn.GRU)):

    def flat(m):
        def run(x, *state):
            y, end = m(x, (tuple(state) if len(state) > 1 else state[0]) if state else None)
            return (y, *end) if isinstance(end, tuple) else (y, end)

        return run

    m = make(3, 2, batch_first=True)
    case(kind, m, rnd(2, 5, 3), run=flat(m))
    m = make(3, 2, num_layers=2, bidirectional=True, batch_first=True)
    state = [rnd(4, 2, 2) for _ in range(2 if kind == "lstm" else 1)]
    case(kind + " deep", m, rnd(2, 4, 3), *state, run=flat(m))
    m = make(2, 3, num_layers=2, bias=False, batch_first=True)
    case(kind + " no bias", m, rnd(1, 3, 2), run=flat(m))
m = nn.RNN(3, 2, nonlinearity="relu", batch_first=True)
case("rnn relu", m, rnd(2, 3, 3), run=flat(m))

# Attention and transformers
F = nn.functional
m = nn.MultiheadAttention(6, 2, batch_first=True)
case("mha", m, rnd(2, 4, 6), run=lambda x: m(x, x, x, need_weights=False)[0])
m2 = nn.MultiheadAttention(4, 2, batch_first=True)
pad = torch.tensor([[1, 1, 1], [1, 1, 0]])
case("mha keys", m2, rnd(2, 2, 4), rnd(2, 3, 4), rnd(2, 3, 4), pad,
     run=lambda q, k, v, p: m2(q, k, v, key_padding_mask=p == 0, average_attn_weights=False))
m3 = nn.MultiheadAttention(4, 2, bias=False, kdim=3, vdim=5, batch_first=True)
case("mha sizes", m3, rnd(1, 2, 4), rnd(1, 3, 3), rnd(1, 3, 5), rnd(2, 3),
     run=lambda q, k, v, a: m3(q, k, v, attn_mask=a)[0])
m4 = nn.MultiheadAttention(4, 2, batch_first=True)
causal = torch.ones(4, 4).triu(1).bool()
case("mha causal", m4, rnd(2, 4, 4),
     run=lambda x: m4(x, x, x, attn_mask=causal, is_causal=True, need_weights=True, average_attn_weights=False))


def gqa(x, p):
    b, t, e = x.shape
    q, k, v = (x @ p["in_proj_weight"].T + p["in_proj_bias"]).split([8, 4, 4], -1)
    q, k, v = q.view(b, t, 4, 2).transpose(1, 2), k.view(b, t, 2, 2).transpose(1, 2), v.view(b, t, 2, 2).transpose(1, 2)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return y.transpose(1, 2).reshape(b, t, e) @ p["out_proj.weight"].T + p["out_proj.bias"]


case("gqa", gqa, rnd(2, 3, 8), params={"in_proj_weight": rnd(16, 8), "in_proj_bias": rnd(16), "out_proj.weight": rnd(8, 8), "out_proj.bias": rnd(8)})
e = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True, dropout=0)
case("encoder layer", e, rnd(2, 3, 4))
e2 = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True, dropout=0, activation="gelu", norm_first=True, bias=False)
case("encoder layer first", e2, rnd(1, 3, 4), run=lambda x: e2(x, src_mask=causal[:3, :3], is_causal=True))
de = nn.TransformerDecoderLayer(4, 2, 6, batch_first=True, dropout=0)
case("decoder layer", de, rnd(2, 3, 4), rnd(2, 2, 4), run=lambda x, y: de(x, y, tgt_mask=causal[:3, :3]))
de2 = nn.TransformerDecoderLayer(4, 2, 6, batch_first=True, dropout=0, norm_first=True)
case("decoder layer first", de2, rnd(1, 3, 4), rnd(1, 2, 4), run=lambda x, y: de2(x, y, tgt_mask=causal[:3, :3]))
tr = nn.Transformer(4, 2, 1, 2, 4, dropout=0, batch_first=True)
case("transformer", tr, rnd(1, 3, 4), rnd(1, 2, 4), run=lambda x, y: tr(x, y, tgt_mask=causal[:2, :2]))


# Gated layers and mixtures of experts
def mlp(act):
    return lambda x, p: (act(x @ p["gate_proj.weight"].T) * (x @ p["up_proj.weight"].T)) @ p["down_proj.weight"].T


gated = {"gate_proj.weight": rnd(5, 3), "up_proj.weight": rnd(5, 3), "down_proj.weight": rnd(3, 5)}
case("swiglu", mlp(F.silu), rnd(2, 2, 3), params=gated)
case("geglu", mlp(lambda x: F.gelu(x, approximate="tanh")), rnd(2, 3), params=gated)


def moe(k, sigmoid=False, normalise=False, scale=1, groups=1, top_groups=1, group_top=1):
    def run(x, p):
        s = x @ p["gate.weight"].T
        s = s.sigmoid() if sigmoid else s.softmax(-1)
        choice = s.detach() + p.get("gate.e_score_correction_bias", torch.zeros(1)).detach()
        if groups > 1:
            t = choice.shape[0]
            best = choice.view(t, groups, -1).topk(group_top).values.sum(-1).topk(top_groups).indices
            keep = torch.zeros(t, groups).scatter(1, best, 1).repeat_interleave(choice.shape[1] // groups, 1)
            choice = choice.masked_fill(keep == 0, -math.inf)
        ids = choice.topk(k).indices
        w = s.gather(1, ids)
        w = (w / w.sum(-1, keepdim=True) if normalise else w) * scale
        y = torch.zeros_like(x)
        for i in range(k):
            h = torch.einsum("td,twd->tw", x, p["experts.gate_proj"][ids[:, i]])
            h = F.silu(h) * torch.einsum("td,twd->tw", x, p["experts.up_proj"][ids[:, i]])
            y = y + torch.einsum("tw,tdw->td", h, p["experts.down_proj"][ids[:, i]]) * w[:, i : i + 1]
        return y

    return run


def experts(n, **more):
    return {"gate.weight": rnd(n, 3), "experts.gate_proj": rnd(n, 4, 3), "experts.up_proj": rnd(n, 4, 3), "experts.down_proj": rnd(n, 3, 4), **more}


case("moe", moe(2), rnd(5, 3), params=experts(4))
case("moe normalised", moe(2, normalise=True, scale=2.5), rnd(5, 3), params=experts(3))
case("moe groups", moe(2, True, True, 1.5, 3, 2, 2), rnd(6, 3), params=experts(6, **{"gate.e_score_correction_bias": rnd(6)}))

# Wrapped weights and adapters
norms = nn.utils.parametrizations
case("weight_norm", norms.weight_norm(nn.Linear(3, 4)), rnd(2, 3))
case("weight_norm conv", norms.weight_norm(nn.Conv1d(2, 3, 2)), rnd(1, 2, 4))
case("spectral_norm", norms.spectral_norm(nn.Linear(3, 4)), rnd(2, 3))
case("spectral_norm train", norms.spectral_norm(nn.Linear(3, 4, bias=False)), rnd(2, 3), train=True)
case("spectral_norm conv train", norms.spectral_norm(nn.ConvTranspose1d(2, 3, 2), n_power_iterations=2), rnd(1, 2, 4), train=True)


def flat_lstm(out):
    y, (h, c) = out
    return y, h, c


def lora(scale, dora=False):
    def run(x, p):
        w = p["weight"].detach()
        if not dora:
            return x @ w.T + p["bias"].detach() + (x @ p["lora_A.weight"].T) @ p["lora_B.weight"].T * scale
        w = w + scale * p["lora_B.weight"] @ p["lora_A.weight"]
        w = w * (p["lora_magnitude_vector"] / w.norm(dim=1).detach())[:, None]
        return x @ w.T + p["bias"].detach()

    return run


adapter = {"weight": rnd(4, 3), "bias": rnd(4), "lora_A.weight": rnd(2, 3), "lora_B.weight": rnd(4, 2)}
case("lora", lora(1.5), rnd(2, 2, 3), params=adapter)
case("dora", lora(2, True), rnd(2, 3), params={**adapter, "lora_magnitude_vector": rnd(4).abs()})

# Projections of recurrent layers, and keys and values behind all others
m = nn.LSTM(3, 4, proj_size=2, batch_first=True)
case("lstm proj", m, rnd(2, 3, 3), rnd(1, 2, 2), rnd(1, 2, 4), run=lambda x, h, c: flat_lstm(m(x, (h, c))))
m5 = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=3, batch_first=True)
case("lstm proj deep", m5, rnd(2, 3, 3), run=lambda x: flat_lstm(m5(x)))
m6 = nn.MultiheadAttention(4, 2, add_bias_kv=True, batch_first=True)
case("mha bias kv", m6, rnd(2, 2, 4), rnd(2, 3, 4), rnd(2, 3, 4), pad,
     run=lambda q, k, v, p: m6(q, k, v, key_padding_mask=p == 0, average_attn_weights=False))
m7 = nn.MultiheadAttention(4, 2, add_zero_attn=True, batch_first=True)
case("mha zero kv", m7, rnd(1, 2, 4), rnd(1, 3, 4), rnd(1, 3, 4), rnd(2, 3),
     run=lambda q, k, v, a: m7(q, k, v, attn_mask=a)[0])
m8 = nn.MultiheadAttention(4, 2, bias=False, add_bias_kv=True, add_zero_attn=True, batch_first=True)
case("mha bias zero causal", m8, rnd(2, 4, 4),
     run=lambda x: m8(x, x, x, attn_mask=causal, need_weights=True, average_attn_weights=False))


if __name__ == "__main__":
    with open("layers.json", "w") as f:
        f.write("{\n" + ",\n".join(json.dumps(k) + ": " + json.dumps(c, separators=(",", ":")) for k, c in cases.items()) + "\n}\n")
    print(len(cases), "cases")
