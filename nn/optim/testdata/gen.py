"""Writes golden.json: what PyTorch's optimisers make of given gradients, for the tests of optim.

Run in this folder: python3 gen.py (needs PyTorch; 2.15 wrote what is here).

Parameters and gradients are computed alike here and in the tests, of numbers with 24 bits, so that
only results are stored: the parameters after ten steps. There are two groups: a matrix (7, 5), and
a vector (11) with half of the learning rate and no weight decay, which has no gradient in step 3.
"f64" and "f32" are computed in these types, "bf16" in float32 from rounded parameters and gradients.
"""

import json

import torch
from torch.optim.lr_scheduler import OneCycleLR, CosineAnnealingLR, CosineAnnealingWarmRestarts, ReduceLROnPlateau

STEPS = 10


def values(seed, n):
    return [(((seed + k) * 2654435761 % 2**32) >> 8) / 2**23 - 1 for k in range(n)]


def tensor(seed, shape, dtype, scale=1.0):
    n = 1
    for s in shape:
        n *= s
    x = torch.tensor(values(seed, n), dtype=torch.float64) * scale
    if dtype == "bf16":
        return x.to(torch.bfloat16).to(torch.float32).reshape(shape)
    return x.to(torch.float64 if dtype == "f64" else torch.float32).reshape(shape)


class Lion(torch.optim.Optimizer):
    """Chen et al., 2023, algorithm 2."""

    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.sub_(group["lr"] * torch.sign(b1 * m + (1 - b1) * p.grad))
                m.mul_(b2).add_(p.grad, alpha=1 - b2)


O = torch.optim
CASES = {
    "sgd": (O.SGD, dict(lr=0.1)),
    "sgd_decay": (O.SGD, dict(lr=0.1, weight_decay=0.05)),
    "sgd_momentum": (O.SGD, dict(lr=0.1, momentum=0.9, dampening=0.25, weight_decay=0.05)),
    "sgd_nesterov": (O.SGD, dict(lr=0.1, momentum=0.8, nesterov=True)),
    "adam": (O.Adam, dict(lr=0.01, weight_decay=0.05)),
    "adam_amsgrad": (O.Adam, dict(lr=0.01, betas=(0.8, 0.9), eps=1e-6, amsgrad=True)),
    "adamw": (O.AdamW, dict(lr=0.01, weight_decay=0.1)),
    "adamw_amsgrad": (O.AdamW, dict(lr=0.01, betas=(0.8, 0.9), weight_decay=0.1, amsgrad=True)),
    "lion": (Lion, dict(lr=0.01, weight_decay=0.1)),
    "rmsprop": (O.RMSprop, dict(lr=0.01, weight_decay=0.05)),
    "rmsprop_momentum": (O.RMSprop, dict(lr=0.01, alpha=0.9, momentum=0.9)),
    "rmsprop_centered": (O.RMSprop, dict(lr=0.01, alpha=0.9, momentum=0.9, centered=True)),
    "adagrad": (O.Adagrad, dict(lr=0.1, weight_decay=0.05)),
    "adagrad_decay": (O.Adagrad, dict(lr=0.1, lr_decay=0.1, initial_accumulator_value=0.5)),
    "adafactor": (O.Adafactor, dict(lr=0.05, weight_decay=0.05)),
    "adafactor_least": (O.Adafactor, dict(lr=0.05, eps=(0.25, 2.0))),
    "adafactor_clip": (O.Adafactor, dict(lr=0.05, d=1.25, beta2_decay=-0.6)),
}
MUON = {
    "muon": dict(lr=0.05, weight_decay=0.1),
    "muon_plain": dict(lr=0.05, weight_decay=0.0, nesterov=False, momentum=0.8, adjust_lr_fn="match_rms_adamw"),
}


class Exact:
    """While it is open, torch.optim.Muon multiplies in the type of the parameters, not in bfloat16."""

    def __enter__(self):
        self.old = torch.bfloat16

    def __exit__(self, *_):
        torch.bfloat16 = self.old


def exact_muon(params, args):
    torch.bfloat16 = params[0].dtype  # what the iteration converts to
    return O.Muon(params, **args)


def run(make, shapes, dtype):
    params = [torch.nn.Parameter(tensor(1000 * i, s, dtype)) for i, s in enumerate(shapes)]
    opt = make(params)
    for step in range(STEPS):
        for i, p in enumerate(params):
            p.grad = tensor(100000 + 10000 * i + 100 * step, shapes[i], dtype, 2.0 ** (step * step % 5 - 2))
            if i == 1 and step == 3:
                p.grad = None
        opt.step()
    return [p.detach().double().flatten().tolist() for p in params]


def grouped(cls, args):
    def make(params):
        slow = dict(params=[params[1]], lr=args["lr"] / 2, weight_decay=0.0)
        return cls([dict(params=[params[0]]), slow], **args)
    return make


def schedule(make, lr, n):
    opt = O.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    sched = make(opt)
    out = []
    for _ in range(n):
        out.append(opt.param_groups[0]["lr"])
        opt.step()
        sched.step()
    return out


def plateau():
    opt = O.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    sched = ReduceLROnPlateau(opt, factor=0.5, patience=2, cooldown=1, min_lr=0.1)
    out = []
    for loss in LOSSES:
        sched.step(loss)
        out.append(opt.param_groups[0]["lr"])
    return out


LOSSES = [3, 2, 2, 2, 2, 1.9, 1.9, 1.9, 1.9, 1.9, 1.9, 1.9, 1.9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]

updates = {}
for name, (cls, args) in CASES.items():
    updates[name] = {d: run(grouped(cls, args), [(7, 5), (11,)], d) for d in ("f64", "f32", "bf16")}
for name, args in MUON.items():
    # Products are in bfloat16 there: only the first digits can agree. The others are exact.
    updates[name + "_bf16"] = {"f32": run(lambda params: O.Muon(params, **args), [(7, 5), (4, 6)], "f32")}
    with Exact():
        updates[name] = {d: run(lambda params: exact_muon(params, args), [(7, 5), (4, 6)], d) for d in ("f64", "f32")}

schedules = {
    "cosine": schedule(lambda o: CosineAnnealingLR(o, 10, eta_min=0.01), 0.5, 10),
    "restarts": schedule(lambda o: CosineAnnealingWarmRestarts(o, 4, T_mult=2, eta_min=0.01), 0.5, 20),
    "onecycle": schedule(lambda o: OneCycleLR(o, 0.5, total_steps=20), 0.5, 20),
    "onecycle_three": schedule(lambda o: OneCycleLR(o, 0.5, total_steps=21, three_phase=True, anneal_strategy="linear"), 0.5, 21),
    "plateau": plateau(),
}

ps = [torch.nn.Parameter(torch.zeros(7, 5, dtype=torch.float64)), torch.nn.Parameter(torch.zeros(11, dtype=torch.float64))]
for i, p in enumerate(ps):
    p.grad = tensor(100000 + 10000 * i, p.shape, "f64", 0.25)
norm = torch.nn.utils.clip_grad_norm_(ps, 0.75).item()
clip = {"norm": norm, "grads": [p.grad.flatten().tolist() for p in ps]}

with open("golden.json", "w") as f:
    json.dump({"updates": updates, "schedules": schedules, "losses": LOSSES, "clip": clip}, f, indent=0)
    f.write("\n")
