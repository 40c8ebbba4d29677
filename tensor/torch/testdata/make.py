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

# State dicts as the writer writes them: written.pth, and the digests of programs of many tensors.
import hashlib, io, zipfile


def program(value):
    b = io.BytesIO()
    torch.save(value, b)
    return zipfile.ZipFile(b).read("archive/data.pkl")


state = collections.OrderedDict()
numbers = torch.arange(1, 25)
for name in """float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e8m0fnu uint8 int8 int16 int32
int64 uint32""".split():
    state[name] = numbers[:6].reshape(2, 3).to(torch.float32).to(getattr(torch, name))
state["bool"] = torch.tensor([True, False])
state["scalar"] = torch.tensor(2.5)
state["0"] = torch.tensor([1.0])  # as the key of a storage
state["ü"] = numbers.reshape(2, 3, 4, 1).to(torch.uint8)
state["storage"] = torch.zeros(0, 3)
state["empty"] = torch.zeros(3, 0)
state["wide"] = torch.zeros(0, 300, 70000, 2**31)
state["less"] = torch.zeros(0, 40000, 2**15)
for i in range(30):  # more than 255 entries of the memo
    state[f"layer.{i}.bias"] = torch.full((i,), i, dtype=torch.int8)
torch.save(state, "written.pth")
with open("programs.txt", "w") as f:
    for n in (0, 1, 2, 999, 1000, 1001, 1002, 2001):
        value = collections.OrderedDict((f"t{i}", torch.zeros(1, dtype=torch.uint8)) for i in range(n))
        print(n, hashlib.sha256(program(value)).hexdigest(), file=f)
    print("tensor", hashlib.sha256(program(torch.zeros(2))).hexdigest(), file=f)
