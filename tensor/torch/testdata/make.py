"""Writes the files beside it, with PyTorch 2.15. Tests read the files and need no Python."""

import collections
import torch

rows = torch.arange(6, dtype=torch.float32).reshape(2, 3)
state = collections.OrderedDict(
    rows=rows,
    columns=rows.t(),
    part=rows[:, 1:],
    expanded=torch.tensor([7.0]).expand(3),
    scalar=torch.tensor(2.5, dtype=torch.float64),
    empty=torch.zeros(0, 3),
    param=torch.nn.Parameter(torch.tensor([1.0, -2.0])),
    negative=torch.tensor([1 + 2j]).conj().imag,
)
types = """float64 float16 bfloat16 float8_e4m3fn float8_e5m2 uint8 int8 int16 int32 int64 bool
uint16 uint32 uint64 complex64 float8_e4m3fnuz""".split()
for name in types:
    state[name] = torch.tensor([0.0, 1.0, 1.0]).to(getattr(torch, name))
model = torch.nn.BatchNorm1d(1)
optimizer = torch.optim.Adam(model.parameters())
model(torch.tensor([[1.0], [2.0]])).sum().backward()
optimizer.step()
checkpoint = dict(
    state_dict=state,
    model=model.state_dict(),
    optimizer=optimizer.state_dict(),
    epoch=3,
    size=rows.size(),
    device=rows.device,
    dtype=torch.float16,
)
for protocol in (2, 4):
    torch.save(checkpoint, f"zip-{protocol}.pt", pickle_protocol=protocol)
    torch.save(checkpoint, f"legacy-{protocol}.pt", pickle_protocol=protocol, _use_new_zipfile_serialization=False)
