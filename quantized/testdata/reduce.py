"""Writes quants.safetensors.gz, the part of the golden data of quantized formats that tests read.

    python reduce.py ggml_quants.safetensors quants.safetensors.gz ../format/testdata/dots.safetensors.gz

The input is what the reference implementation, ggml 0.21.0 (d99724f2b141) in plain C without vector
code and floating-point contraction, made of blocks and rows: for a type T

    T/dequant/{valid,random}/{bytes,f32}       blocks and their values
    T/quantize/{ref,plain,imatrix}/bytes       quantize/x as rows of T, with quantize/imatrix in the last
    T/quantize/.../defined                     1 where the reference's result is defined
    T/mul_mat/{w,y_f64}                        weights, and their product with mul_mat/x in float64

Of these the output has some blocks and rows: two rows of each family of inputs, one of importance.
The second output has of dot products

    T/vec_dot/{valid,random}/{w,y,y_f64,mag}   rows of weights, and their products with vec_dot/act/P
    vec_dot/{x,act/P}                          activations, and the same as rows of the type P

one row of weights of each kind, of NVFP4 one with the scale 0xFF.
"""

import gzip
import json
import struct
import sys

import numpy as np

TYPES = {"U8": np.uint8, "U16": np.uint16, "F32": np.float32, "F64": np.float64, "I32": np.int32}
BLOCKS = {"valid": 12, "random": 20}
WEIGHTS = 16


def read(path):
    with open(path, "rb") as f:
        (n,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(n))
        data = f.read()
    meta = header.pop("__metadata__")
    tensors = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], TYPES[t["dtype"]]).reshape(t["shape"])
    return meta, tensors


def part(name, x):
    """The part of a tensor that is kept, None if nothing of it is."""
    words = name.split("/")
    if "dequant" in words:
        return x[: BLOCKS[words[2]]] if words[2] in BLOCKS else x[::64]
    if name == "quantize/imatrix":
        return x
    if "quantize" in words and x.ndim == 2:
        return x[[i for i in range(len(x)) if i % 3 < 2]]
    if words[0] == "scalar" or "quantize" in words:
        return x
    if name == "mul_mat/x":
        return x
    if words[1:] == ["mul_mat", "w"]:
        return x[:WEIGHTS]
    if words[1:] == ["mul_mat", "y_f64"]:
        return x[:, :WEIGHTS]
    return None


def dots(name, x):
    """The part of a tensor that is kept of dot products."""
    words = name.split("/")
    if words[0] == "vec_dot":
        return x
    if words[1] != "vec_dot":
        return None
    return x[4:5] if words[0] == "NVFP4" else x[:1]  # which has a scale of 0xFF


def main(source, target, products):
    meta, tensors = read(source)
    meta["rows_per_name"] = "2"
    write(target, meta, tensors, part)
    write(products, meta, tensors, dots)


def write(target, meta, tensors, part):
    header, data = {"__metadata__": meta}, b""
    names = {v: k for k, v in TYPES.items()}
    for name in sorted(tensors):
        x = part(name, tensors[name])
        if x is None:
            continue
        raw = np.ascontiguousarray(x).tobytes()
        header[name] = {
            "dtype": names[x.dtype.type],
            "shape": list(x.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    with open(target, "wb") as f:
        with gzip.GzipFile("", "wb", 9, f, 0) as z:
            z.write(struct.pack("<Q", len(text)) + text + data)


main(*sys.argv[1:])
