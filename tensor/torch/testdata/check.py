"""Loads what the writer wrote from written.pth, and compares it with that: python check.py file.

    KILN_WRITTEN=/tmp/again.pth go test ./tensor/torch -run TestWriteAsPyTorch
    python tensor/torch/testdata/check.py /tmp/again.pth
"""

import os
import sys
import torch

want = torch.load(os.path.join(os.path.dirname(__file__), "written.pth"), weights_only=True)
for mmap in (False, True):
    have = torch.load(sys.argv[1], weights_only=True, mmap=mmap)
    assert list(have) == list(want), list(have)
    for name, x in want.items():
        y = have[name]
        assert x.dtype == y.dtype and x.shape == y.shape and x.stride() == y.stride(), name
        a, b = (z.contiguous().flatten().view(torch.uint8) for z in (x, y))
        assert torch.equal(a, b), name
print(len(want), "tensors are the same")
