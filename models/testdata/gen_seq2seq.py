"""Makes seq2seq.json.gz: tiny random models from sequences to sequences, with what the encoder
returns for two sources of different lengths, logits of the decoder, and tokens of beam search.

Weights are those of gen.py: by a rule, not stored. What the reference computes is of both sources
together, the shorter one padded, and of the decoder without a cache.

    python gen_seq2seq.py     # written with torch 2.15, transformers 5.24
"""

import base64, gzip, json, os, tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

from gen import gguf_names, values

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = [[5, 17, 33, 4, 55, 55, 8, 21, 60, 3, 39, 62, 11, 40, 28, 9, 2], [44, 7, 19, 50, 23, 6, 2]]
PROMPT = [3, 41, 9, 9, 27, 50, 12, 63, 5, 30]  # behind the token that decoders begin with
ENDS = [2, 6, 13, 20, 31, 37, 45, 52]
BASE = dict(vocab_size=64, d_model=32, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0)
T5 = BASE | dict(d_kv=10, d_ff=40, num_layers=2, num_decoder_layers=3, num_heads=4,
                 relative_attention_num_buckets=8)
NEAR = {"feed_forward_proj": "gated-gelu", "relative_attention_max_distance": 12}
BART = BASE | dict(encoder_layers=2, decoder_layers=3, encoder_attention_heads=4,
                   decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=48,
                   max_position_embeddings=40, pad_token_id=1)
# name -> (model_type, configuration, what is changed in it once it is made)
CASES = {
    "t5": ("t5", T5, {}),
    "t5 v1.1": ("t5", T5 | {"feed_forward_proj": "gated-gelu"},
                {"tie_word_embeddings": False, "scale_decoder_outputs": False}),
    "mt5": ("mt5", T5 | NEAR, {"tie_word_embeddings": False}),
    "umt5": ("umt5", T5 | NEAR, {}),
    "marian": ("marian", BART | {"scale_embedding": True, "activation_function": "swish"}, {}),
    "marian two vocabularies": ("marian", BART | {
        "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 70, "vocab_size": 65}, {}),
    "bart": ("bart", BART, {}),
    "mbart": ("mbart", BART | {"scale_embedding": True}, {}),
    "m2m_100": ("m2m_100", BART, {}),
    "pegasus": ("pegasus", BART | {"scale_embedding": True}, {}),
    "blenderbot": ("blenderbot", BART, {}),
    "plbart": ("plbart", BART, {}),
}
BEAMS = [
    {"num_beams": 4},
    {"num_beams": 3, "length_penalty": 2.0, "early_stopping": "never"},
    {"num_beams": 4, "length_penalty": 0.6, "early_stopping": True},
    {"num_beams": 3, "length_penalty": 0.0, "early_stopping": True, "forced_bos_token_id": 21,
     "forced_eos_token_id": 2, "bad_words_ids": [[9], [44, 7], [21, 30]], "no_repeat_ngram_size": 2,
     "min_length": 6},
    {"num_beams": 2, "length_penalty": -1.0, "min_length": 4, "forced_eos_token_id": 2},
    {"num_beams": 2, "length_penalty": 3.0},
    {"num_beams": 1, "forced_bos_token_id": 21, "forced_eos_token_id": 2, "no_repeat_ngram_size": 3,
     "bad_words_ids": [[9], [50, 12]], "min_length": 5},
]


def packed(t):
    return base64.b64encode(t.detach().numpy().astype("<f4").tobytes()).decode()


def build(kind, config, change):
    torch.manual_seed(0)
    c = transformers.CONFIG_MAPPING[kind](**config)
    c._attn_implementation = "eager"
    for k, v in change.items():
        setattr(c, k, v)
    model = transformers.AutoModelForSeq2SeqLM.from_config(c).float().eval()
    with tempfile.TemporaryDirectory() as d:
        model.save_pretrained(d)
        path = os.path.join(d, "model.safetensors")
        shapes = {n: list(t.shape) for n, t in load_file(path).items()}
        text = json.load(open(os.path.join(d, "config.json")))
    if kind == "pegasus":  # sinusoids
        shapes = {n: s for n, s in shapes.items() if "embed_positions" not in n}
    with torch.no_grad():
        have = dict(model.named_parameters(remove_duplicate=False)) | dict(model.named_buffers())
        for n, s in shapes.items():
            have[n].copy_(values(n, s))
        if "shared.weight" in shapes:  # files of untied models have copies
            for n in [n for n in shapes if n.endswith("embed_tokens.weight")]:
                have[n].copy_(have["shared.weight"])
                del shapes[n]
    return model, shapes, text


def generated(model, ids, mask, options):
    o = dict(max_new_tokens=12, eos_token_id=ENDS, decoder_start_token_id=model.config.decoder_start_token_id or 0,
             pad_token_id=model.config.pad_token_id, use_cache=False, num_return_sequences=options["num_beams"])
    c = transformers.GenerationConfig(**(o | options))
    c.return_dict_in_generate, c.output_scores = True, True
    model.generation_config = c
    out = model.generate(ids, attention_mask=mask, generation_config=c)
    n = options["num_beams"]
    lists = []
    for s in out.sequences[:, 1:].tolist():
        end = next((i for i, x in enumerate(s) if x in ENDS), len(s) - 1)
        lists.append(s[:end + 1])
    scores = out.sequences_scores.tolist() if n > 1 else [0.0] * len(lists)
    return [dict(ids=lists[i * n:(i + 1) * n], scores=scores[i * n:(i + 1) * n]) for i in range(len(SOURCES))]


def make(name, kind, config, change):
    model, shapes, text = build(kind, config, change)
    longest = max(len(s) for s in SOURCES)
    pad = config["pad_token_id"]
    ids = torch.tensor([s + [pad] * (longest - len(s)) for s in SOURCES])
    mask = torch.tensor([[1] * len(s) + [0] * (longest - len(s)) for s in SOURCES])
    start = [text.get("decoder_start_token_id") or 0] + PROMPT
    with torch.no_grad():
        h = model.get_encoder()(ids, attention_mask=mask).last_hidden_state
        logits = model(input_ids=ids, attention_mask=mask, use_cache=False,
                       decoder_input_ids=torch.tensor([start] * len(SOURCES))).logits
        beams = []
        for o in BEAMS:
            if name != "t5" and name != "marian" and o not in (BEAMS[0], BEAMS[-2], BEAMS[-1]):
                continue
            beams.append(dict(options=o, results=generated(model, ids, mask, o)))
    with torch.no_grad():
        half = model.to(torch.bfloat16)(input_ids=ids, attention_mask=mask, use_cache=False,
                                        decoder_input_ids=torch.tensor([start] * len(SOURCES))).logits
    bf16 = float((half.float() - logits).norm() / logits.norm())
    print(f"{name:24} bf16 {bf16:.3f} std {logits.std():.3f} tensors {len(shapes)}", *[
        [len(x) for x in r["ids"]] for b in beams for r in b["results"]], flush=True)
    arch, names = gguf_names(kind, shapes) if kind == "t5" else (None, None)
    return dict(arch=arch, names=names, config=text, tensors=shapes, sources=SOURCES, start=start,
                bf16=bf16, encoded=packed(torch.cat([h[i, :len(s)] for i, s in enumerate(SOURCES)])),
                logits=packed(logits), ends=ENDS, beams=beams)


def buckets():
    """Buckets of distances as T5 has them, for keys in front of and behind queries, and in front."""
    of = transformers.models.t5.modeling_t5.T5Attention._relative_position_bucket
    d = torch.arange(-300, 301)
    return [of(d, True, 32, 128).tolist(), of(d, False, 32, 128).tolist(), of(d, True, 8, 12).tolist()]


def main():
    out = dict(models={name: make(name, *case) for name, case in CASES.items()}, buckets=buckets())
    path = os.path.join(HERE, "seq2seq.json.gz")
    with open(path, "wb") as f:
        with gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
            z.write(json.dumps(out, sort_keys=True, separators=(",", ":")).encode())
    print(path, os.path.getsize(path), "bytes")


main()
