"""Measures the reference library, package tokenizers of PyPI, on one thread.

    TOKENIZERS_PARALLELISM=false RAYON_NUM_THREADS=1 python bench/tokenizers/reference.py FOLDER
    KILN_TOKENIZERS=FOLDER GOMAXPROCS=1 go test ./bench/tokenizers -bench . -run '^$'

It prints megabytes of text a second, the best of five: encode_batch_fast of one text has no
offsets, as IDs; encode has them, as Encode.
"""
import pathlib
import sys
import time

from tokenizers import Tokenizer


def best(f, size):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return size / min(times) / 1e6


folder = pathlib.Path(sys.argv[1])
for model in sorted(folder.glob("*.json")):
    t = Tokenizer.from_file(str(model))
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        size = len(text.encode())
        ids = t.encode(text, add_special_tokens=False).ids
        lines = text.split("\n")
        print(f"{model.stem}/{path.name}",
              f"ids {best(lambda: t.encode_batch_fast([text], add_special_tokens=False), size):.2f}",
              f"encode {best(lambda: t.encode(text, add_special_tokens=False), size):.2f}",
              f"lines {best(lambda: [t.encode(s, add_special_tokens=False) for s in lines], size):.2f}",
              f"decode {best(lambda: t.decode(ids, skip_special_tokens=False), size):.2f}", flush=True)
