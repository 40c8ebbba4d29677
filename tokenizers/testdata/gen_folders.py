"""Makes folders.json.gz: ids of folders without a tokenizer.json, as transformers has them.

    pip install transformers sentencepiece protobuf
    python gen_folders.py     # written with transformers 5.24
"""
import base64, bz2, gzip, io, json, os, tempfile

import sentencepiece
from transformers import AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = json.load(bz2.open(os.path.join(HERE, "golden.json.bz2")))
GOLDEN_TEXTS = [bytes.fromhex(s).decode("utf-8", "replace") for s in GOLDEN["texts"]]
TEXTS = ["Hello world", "The quick brown fox", "naïve café", "你好 x", "", "a  b", "I'm here, you're there.", "Привет 123", "unknown ☃ snow"]


def trained(**options):
    """A small SentencePiece model."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(GOLDEN_TEXTS), model_writer=out, normalization_rule_name="identity",
                                             hard_vocab_limit=False, num_threads=1, minloglevel=2, **options)
    return out.getvalue()


def main():
    t5 = trained(model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1, vocab_size=260)
    xlmr = trained(model_type="unigram", vocab_size=260)
    llama = trained(model_type="bpe", vocab_size=600, byte_fallback=True, remove_extra_whitespaces=False)
    models = {t["name"]: t["json"] for t in GOLDEN["tokenizers"]}
    bert, gpt2 = models["bert"]["model"]["vocab"], models["gpt2"]["model"]
    lines = "\n".join(sorted(bert, key=bert.get)) + "\n"
    merges = "#version: 0.2\n" + "\n".join(m if isinstance(m, str) else " ".join(m) for m in gpt2["merges"]) + "\n"
    roberta = {t: i for i, t in enumerate(["<s>", "<pad>", "</s>", "<unk>", *(t for t in gpt2["vocab"] if t not in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")), "<mask>"])}
    p = sentencepiece.SentencePieceProcessor(model_proto=xlmr)
    marian = {t: i for i, t in enumerate(["</s>", "<unk>", *sorted({p.id_to_piece(i) for i in range(5, p.vocab_size(), 2)} - {"</s>", "<unk>", "<s>"}), "<pad>"])}
    folders = [
        ({"vocab.txt": lines}, {"tokenizer_class": "BertTokenizer"}),
        ({"vocab.txt": lines}, {"tokenizer_class": "BertTokenizer", "do_lower_case": False}),
        ({"vocab.json": json.dumps(gpt2["vocab"]), "merges.txt": merges}, {"tokenizer_class": "GPT2Tokenizer"}),
        ({"vocab.json": json.dumps(roberta), "merges.txt": merges}, {"tokenizer_class": "RobertaTokenizer"}),
        ({"source.spm": xlmr, "target.spm": xlmr, "vocab.json": json.dumps(marian)}, {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de"}),
    ]
    folders += [({"spiece.model": t5}, {"tokenizer_class": "T5Tokenizer"}), ({"sentencepiece.bpe.model": xlmr}, {"tokenizer_class": "XLMRobertaTokenizer"}),
                ({"tokenizer.model": llama}, {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True}),
                ({"tokenizer.model": llama}, {"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": True, "add_eos_token": True})]
    out = []
    for files, config in folders:
        with tempfile.TemporaryDirectory() as d:
            for name, text in files.items():
                with open(os.path.join(d, name), "wb") as f:
                    f.write(text if isinstance(text, bytes) else text.encode())
            with open(os.path.join(d, "tokenizer_config.json"), "w") as f:
                json.dump(config, f)
            try:
                t = AutoTokenizer.from_pretrained(d)
                ids = [t(s).input_ids for s in TEXTS]
                row = dict(ids=ids, pair=t(TEXTS[0], TEXTS[1]).input_ids, decoded=[t.decode(i, skip_special_tokens=True, clean_up_tokenization_spaces=False) for i in ids])
            except Exception as err:
                print("left out:", config, str(err)[:200])
                continue
        text = lambda s: s if isinstance(s, bytes) else s.encode()
        out.append(dict(files={n: base64.b64encode(text(s)).decode() for n, s in files.items()}, config=config, **row))
    path = os.path.join(HERE, "folders.json.gz")
    with open(path, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
        z.write(json.dumps(dict(texts=TEXTS, folders=out), sort_keys=True, separators=(",", ":")).encode())
    print(len(out), "folders,", os.path.getsize(path), "bytes")


main()
