"""Makes encoders*.json.gz: tiny random encoders, with hidden states and scores of a padded batch.

Weights are by the rule of gen.py. Needs torch and transformers (written with 5.24).

    python encoders.py [name...]     # the cases of these names only, the others stay
"""

import base64, gzip, json, os, re, sys, tempfile

import gguf
import torch
import transformers
from safetensors.torch import load_file, save_file

from gen import values

HERE = os.path.dirname(os.path.abspath(__file__))
IDS = [[5, 17, 93, 4, 55, 55, 8, 21, 70, 3, 39, 62, 11, 90, 28, 33, 47, 60, 9, 81], [7, 12, 41, 3, 88], [66]]
KINDS = [[0] * 8 + [1] * 12, [0, 0, 0, 1, 1], [0]]
BASE = dict(vocab_size=96, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=64, pad_token_id=1, bos_token_id=0, eos_token_id=2)
TASKS = {"masked": "MaskedLM", "classes": "SequenceClassification", "tokens": "TokenClassification",
         "answers": "QuestionAnswering", "model": ""}
LABELS = {"num_labels": 3}
DISTIL = {"dim": 48, "hidden_dim": 80, "n_layers": 2, "n_heads": 4, "activation": "gelu"}
LOCAL = {"cls_token_id": 0, "sep_token_id": 2, "num_hidden_layers": 4, "local_attention": 6, "rope_parameters": {
    "full_attention": {"rope_type": "default", "rope_theta": 5000.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}}}
DEBERTA = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8, "share_att_key": True,
           "norm_rel_ebd": "layer_norm", "position_biased_input": False, "max_relative_positions": -1,
           "type_vocab_size": 0}
QWEN3 = {"head_dim": 12, "num_key_value_heads": 2}
# name -> (model_type, what differs from BASE); the last word is the task
CASES = {
    "bert masked": ("bert", {}), "bert classes": ("bert", LABELS), "bert tokens": ("bert", LABELS),
    "bert answers": ("bert", {}), "bert model": ("bert", {"hidden_act": "gelu_new", "type_vocab_size": 4}),
    "distilbert masked": ("distilbert", DISTIL), "distilbert classes": ("distilbert", DISTIL | LABELS),
    "distilbert tokens": ("distilbert", DISTIL | LABELS),
    "roberta masked": ("roberta", {}), "roberta classes": ("roberta", {"num_labels": 1}),
    "xlm-roberta model": ("xlm-roberta", {"type_vocab_size": 1}),
    "xlm-roberta classes": ("xlm-roberta", {"num_labels": 1}), "camembert tokens": ("camembert", LABELS),
    "electra masked": ("electra", {"embedding_size": 32}), "electra classes": ("electra", LABELS),
    "modernbert masked": ("modernbert", LOCAL), "modernbert classes": ("modernbert", LOCAL | LABELS),
    "modernbert mean classes": ("modernbert", LOCAL | {"classifier_pooling": "mean"}),
    "modernbert tokens": ("modernbert", LOCAL | LABELS),
    "nomic_bert masked": ("nomic_bert", {}), "nomic_bert classes": ("nomic_bert", LABELS),
    "gte masked": ("gte", {"rope_parameters": {"rope_type": "linear", "factor": 2 ** (2 / 12), "rope_theta": 3000.0}}),
    "gte classes": ("gte", LABELS),
    "jina_embeddings_v3 masked": ("jina_embeddings_v3", {}),
    "eurobert masked": ("eurobert", {"num_key_value_heads": 2}),
    "eurobert classes": ("eurobert", {"num_key_value_heads": 2} | LABELS),
    "eurobert first classes": ("eurobert", {"num_key_value_heads": 2, "classifier_pooling": "bos"}),
    "mpnet masked": ("mpnet", {}), "mpnet classes": ("mpnet", LABELS),
    "deberta-v2 masked": ("deberta-v2", DEBERTA), "deberta-v2 classes": ("deberta-v2", DEBERTA | LABELS),
    "deberta-v2 apart tokens": ("deberta-v2", DEBERTA | {
        "share_att_key": False, "position_buckets": -1, "max_relative_positions": 7, "type_vocab_size": 2,
        "position_biased_input": True, "norm_rel_ebd": "none"}),
    "deberta-v2 one-way model": ("deberta-v2", DEBERTA | {"share_att_key": False, "pos_att_type": ["c2p"]}),
    "gemma3 model": ("gemma3_text", QWEN3 | {
        "num_hidden_layers": 7, "sliding_window": 6, "use_bidirectional_attention": True, "query_pre_attn_scalar": 24}),
    "qwen3 model": ("qwen3", QWEN3), "qwen3 classes": ("qwen3", QWEN3 | LABELS),
}
# those of encoders_more.json.gz
MORE = {
    "albert masked": ("albert", {"embedding_size": 32, "num_hidden_layers": 3}),
    "albert classes": ("albert", {"embedding_size": 48, "hidden_act": "gelu"} | LABELS),
    "albert answers": ("albert", {"embedding_size": 32}),
    "deberta-v2 conv model": ("deberta-v2", DEBERTA | {"conv_kernel_size": 3, "conv_act": "gelu"}),
    "deberta-v2 wide conv model": ("deberta-v2", DEBERTA | {"conv_kernel_size": 5}),
}
# general.architecture of GGUF files, of those that their program converts
GGUF = {"bert masked": "bert", "xlm-roberta model": "bert", "distilbert masked": "bert", "nomic_bert masked": "nomic-bert",
        "modernbert masked": "modern-bert", "qwen3 model": "qwen3"}


def text(t):
    return base64.b64encode(t.float().contiguous().numpy().astype("<f4").tobytes()).decode()


def gguf_names(arch, shapes):
    """The names that llama.cpp's converter has for tensors of the layers; heads are left out there."""
    kinds = {v: k for k, v in gguf.MODEL_ARCH_NAMES.items()}
    names, out = gguf.get_tensor_name_map(kinds[arch], 8), {}
    for n in shapes:
        s = re.sub(r"^(bert|roberta|distilbert|nomic_bert)\.", "", n)
        if arch == "modern-bert":
            s = s.removeprefix("model.")
        if to := names.get_name(s, (".weight", ".bias")):
            out[n] = to
    return out


def pooled(h, m):
    """What sentence_transformers' Pooling makes of hidden states (texts, tokens, features) and their mask."""
    w = m.unsqueeze(-1).float()
    at = w * torch.arange(1, h.shape[1] + 1).view(1, -1, 1)
    last = m.sum(1) - 1
    return {"cls": h[:, 0], "max": h.masked_fill(w == 0, -1e9).max(1).values,
            "mean": (h * w).sum(1) / w.sum(1), "mean_sqrt_len_tokens": (h * w).sum(1) / w.sum(1).sqrt(),
            "weightedmean": (h * at).sum(1) / at.sum(1), "lasttoken": h[torch.arange(len(h)), last]}


def make(name, kind, config):
    torch.manual_seed(0)
    c = transformers.CONFIG_MAPPING[kind](**config)
    c._attn_implementation = "eager"
    task = name.split()[-1]
    auto = getattr(transformers, f"AutoModelFor{TASKS[task]}" if TASKS[task] else "AutoModel")
    model = auto.from_config(c).float().eval()
    with tempfile.TemporaryDirectory() as d:
        model.save_pretrained(d)
        path = os.path.join(d, "model.safetensors")
        shapes = {n: list(t.shape) for n, t in load_file(path).items()}
        save_file({n: values(n, s) for n, s in shapes.items()}, path, {"format": "pt"})
        config = json.load(open(os.path.join(d, "config.json")))
        model, info = type(model).from_pretrained(
            d, attn_implementation="eager", dtype=torch.float32, output_loading_info=True)
        assert not info["missing_keys"] and not info["unexpected_keys"], info
    model = model.eval()
    n, pad = max(map(len, IDS)), config["pad_token_id"]
    batch = dict(input_ids=torch.tensor([x + [pad] * (n - len(x)) for x in IDS]),
                 attention_mask=torch.tensor([[1] * len(x) + [0] * (n - len(x)) for x in IDS]))
    kinds = config.get("type_vocab_size", 0) > 1
    if kinds:
        batch["token_type_ids"] = torch.tensor([x + [0] * (n - len(x)) for x in KINDS])
    mask = batch["attention_mask"].bool()
    with torch.no_grad():
        out = model(**batch)
        base = getattr(model, model.base_model_prefix, model)
        hidden = base(**batch).last_hidden_state
    r = dict(config=config, tensors=shapes, ids=IDS, kinds=KINDS if kinds else None, hidden=text(hidden[mask]))
    if task == "answers":
        r["logits"] = text(torch.stack([out.start_logits, out.end_logits], -1)[mask])
    elif task == "classes":
        r["logits"] = text(out.logits)
    elif task != "model":
        r["logits"] = text(out.logits[mask][-6:])  # of the last two texts
    if name == "bert model":
        r["pooled"] = {k: text(v) for k, v in pooled(hidden, mask).items()}
    if name in GGUF:
        r["arch"], r["names"] = GGUF[name], gguf_names(GGUF[name], shapes)
    print(f"{name:26} std {hidden[mask].std():.3f} tensors {len(shapes)}", flush=True)
    return r


def main():
    for file, cases in [("encoders.json.gz", CASES), ("encoders_more.json.gz", MORE)]:
        if todo := [n for n in cases if not sys.argv[1:] or n in sys.argv[1:]]:
            write(os.path.join(HERE, file), cases, todo)


def write(path, cases, todo):
    out = json.load(gzip.open(path)) if os.path.exists(path) and sys.argv[1:] else {}
    for name in todo:
        kind, config = cases[name]
        out[name] = make(name, kind, BASE | config)
    with open(path, "wb") as f:
        with gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
            z.write(json.dumps(out, sort_keys=True, separators=(",", ":")).encode())
    print(path, os.path.getsize(path), "bytes")


main()
