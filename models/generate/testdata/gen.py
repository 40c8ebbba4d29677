# Writes golden.json: what the logits processors of transformers (5.24.0) make of logits.
#
#     python gen.py > golden.json
import json
import random

import torch
from transformers.generation.logits_process import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    SequenceBiasLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

random.seed(1)
rows = [[round(random.gauss(0, 3), 3) for _ in range(40)] for _ in range(3)]
rows.append([5.0] + [0.001 * i for i in range(39)])
history = [3, 5, 3, 7, 11, 39, 0, 5]

options = [
    {"temperature": 0.7},
    {"temperature": 1.0, "top_k": 5},
    {"temperature": 1.0, "top_p": 0.8},
    {"temperature": 1.0, "top_p": 0.05},
    {"temperature": 1.0, "min_p": 0.1},
    {"temperature": 1.0, "typical_p": 0.6},
    {"temperature": 1.7, "typical_p": 0.9},
    {"temperature": 1.0, "repetition_penalty": 1.3},
    {"temperature": 1.0, "repetition_penalty": 0.8},
    {"temperature": 1.0, "logit_bias": {"2": 4.5, "9": -3.25}},
    {"temperature": 0.6, "top_k": 12, "top_p": 0.9, "min_p": 0.02, "typical_p": 0.8},
    {"temperature": 2.0, "top_k": 30, "top_p": 0.7, "repetition_penalty": 1.1, "logit_bias": {"5": 2.0}},
    {"temperature": 1.3, "min_p": 0.3, "top_p": 0.95},
]


def processors(o):
    out = LogitsProcessorList()
    if "logit_bias" in o:
        out.append(SequenceBiasLogitsProcessor([[[int(k)], v] for k, v in o["logit_bias"].items()]))
    if "repetition_penalty" in o:
        out.append(RepetitionPenaltyLogitsProcessor(o["repetition_penalty"]))
    out.append(TemperatureLogitsWarper(o["temperature"]))
    if "top_k" in o:
        out.append(TopKLogitsWarper(o["top_k"]))
    if "top_p" in o:
        out.append(TopPLogitsWarper(o["top_p"]))
    if "min_p" in o:
        out.append(MinPLogitsWarper(o["min_p"]))
    if "typical_p" in o:
        out.append(TypicalLogitsWarper(o["typical_p"]))
    return out


cases = []
for o in options:
    for i, row in enumerate(rows):
        scores = processors(o)(torch.tensor([history]), torch.tensor([row], dtype=torch.float64))
        p = scores.softmax(-1)[0].tolist()
        cases.append({"options": o, "row": i, "kept": {k: round(x, 9) for k, x in enumerate(p) if x > 0}})
print(json.dumps({"rows": rows, "history": history, "cases": cases}, separators=(",", ":")))
