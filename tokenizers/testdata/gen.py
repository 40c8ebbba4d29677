"""Makes golden.json.bz2: what the reference, package tokenizers of PyPI, makes of a corpus.

    pip install tokenizers tiktoken mistral-common sentencepiece
    python testdata/gen.py testdata/golden.json.bz2
    python testdata/gen.py ids FOLDER     # FOLDER/*.json: ids of published tokenizers beside them

Texts are stored as hexadecimal bytes, since some are not UTF-8: the reference gets those with
replacement characters. Offsets are in characters.
"""
import bz2
import gzip
import json
import pathlib
import random
import sys

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

SENTENCES = [
    "Hello world", "  leading and   many spaces  ", "The quick brown fox jumps over the lazy dog.",
    "I'm here, you're there; we'll see what they've done. It's he'd DON'T", "naïve café — “quotes”",
    "Привет, как дела? Всё хорошо.", "你好，世界！今天天气很好。", "こんにちは世界。カタカナとひらがな、コーヒー",
    "안녕하세요 세계", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "Γειά σου Κόσμε",
    "emoji 😀😃 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 end", "def f(x):\n    return x**2 + 1  # comment\n\n\nclass A:\n\tpass\n",
    "for (int i = 0; i < 10; ++i) { printf(\"%d\\n\", i); }", "1234567890 3.14159 1,000,000 ½ ² Ⅷ ٣٤٥",
    "line\r\nbreak\r\n\r\nand\ttabs\t\t", "e\u0301 cafe\u0301 A\u030aB\u0323\u0307 \u1e9b\u0323", "ﬁne ﬂ ①②③ ｆｕｌｌ　ｗｉｄｔｈ ™",
    "İstanbul ẞtraße ǅ Σίσυφος", "zero\u200bwidth\u200djoin\ufeffbom\u00adsoft", "\x00\x01\x7f control \x85 next",
    "[CLS] special [SEP] <s>tokens</s> <|endoftext|> [MASK] and <pad>", "a[MASK]b  <mask>  c  <new>d <word>s <word> x",
    "snake_case camelCase HTTPServer XMLHttpRequest2 iPhone", "https://example.com/path?q=1&x=%20#frag user@mail.org",
    "!!! ??? ... --- ''' \"\"\" ((())) [[]] {{}}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "ab" * 70, "x" * 120 + " " + "é" * 60, "", " ", "\n", "   \n  \n ", "a", "é", "😀", "``quoted'' text", "▁already▁meta▁",
    "mixed 漢字kana カナ русский עברית 123abc٣", "word\u00a0nbsp\u2003em\u3000ideographic", "don’t ‘single’ «guillemets»",
]
BROKEN = [b"bad \xff\xfe bytes", b"cut \xe4\xbd", b"\xf0\x9f\x98 half", b"\xed\xa0\x80 surrogate", b"a\xc0\x80b\xf5z\xe2\x82"]


def rows():
    rng = random.Random(7)
    pool = [c for s in SENTENCES for c in s] + list("  \n\t'\"-_ABZabz059.,!?") * 8
    made = ["".join(rng.choice(pool) for _ in range(rng.randrange(1, 40))) for _ in range(60)]
    return [s.encode() for s in SENTENCES + made] + BROKEN


ROWS = rows()
TEXTS = [b.decode("utf-8", errors="replace") for b in ROWS]
SPLITS = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"[一-龥぀-ゟ゠-ヿ]+", r"\p{N}{1,3}", r"[0-9][0-9][0-9]", r"\p{Han}+|\P{Latin}", r"(\p{L}+)(?=\s)|\d++", r"^\w+$|\bno?\b|(?<!\w)a|(?<=[xy])z",
    r"(?:ab)+?c|(?:ab)*|x{2,3}?|y{2,}", r"[[:alpha:]&&[^a-m]]+|[[:space:][:punct:]]", r"\A.|.\z|\h{2}", r"(?i)straße|HELLO|ſ", r" ?[^(\s|[.,!?…。，、।۔،])]+",
]


def config(kind, part):
    t = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    setattr(t, kind, part)
    return json.loads(t.to_str())[kind]


def charsmap():
    """A small table of replacements, in the layout of SentencePiece."""
    pairs = {"ﬁ": "fi", "①": "1", "é": "E", "e\u0301": "é", "\u3000": " ", "™": "TM", "\u200b": "", "Å": "A\u030a"}
    import struct, base64
    trie = [{}]
    for k in pairs:
        node = 0
        for b in k.encode():
            if b not in trie[node]:
                trie.append({})
                trie[node][b] = len(trie) - 1
            node = trie[node][b]
        trie[node][0] = k
    blob, at = b"", {}
    for k, v in pairs.items():
        at[k] = len(blob)
        blob += v.encode() + b"\0"
    units, used = {0: 0}, {0}

    def place(node, index):
        labels = sorted(trie[node])
        offset = next(o for o in range(1, 1 << 21)
                      if all((index ^ o ^ b) not in used and (index ^ o ^ b) != 0 for b in labels))
        units[index] |= offset << 10 | (256 if 0 in labels else 0)
        for b in labels:
            used.add(index ^ offset ^ b)
            units[index ^ offset ^ b] = b
        for b in labels:
            child = index ^ offset ^ b
            if b == 0:
                units[child] = 1 << 31 | at[trie[node][0]]
            else:
                place(trie[node][b], child)

    place(0, 0)
    size = (max(units) | 255) + 1
    body = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(size))
    return base64.b64encode(struct.pack("<I", len(body)) + body + blob).decode()


def all_normalizers():
    n = normalizers
    bert = [n.BertNormalizer(clean_text=a, handle_chinese_chars=b, strip_accents=c, lowercase=d)
            for a, b, c, d in [(True, True, None, True), (True, False, None, False), (False, True, True, False), (True, True, False, True)]]
    return [n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.Strip(), n.Strip(left=False), n.StripAccents(), n.Nmt(),
            n.ByteLevel(), n.Prepend("▁"), n.Replace(" ", "▁"), n.Replace(Regex(r"\s{2,}|o"), "<>"), n.Replace("``", '"'),
            n.Sequence([n.NFKD(), n.StripAccents(), n.Lowercase(), n.Strip(), n.Replace(Regex(" +"), " ")])] + bert


def all_pre_tokenizers():
    p = pre_tokenizers
    out = [p.ByteLevel(), p.ByteLevel(add_prefix_space=False), p.ByteLevel(use_regex=False), p.Whitespace(), p.WhitespaceSplit(),
           p.BertPreTokenizer(), p.Punctuation(), p.Digits(), p.Digits(individual_digits=True), p.Metaspace(),
           p.Metaspace(prepend_scheme="never"), p.Metaspace(prepend_scheme="first", split=False), p.CharDelimiterSplit("a"),
           p.UnicodeScripts(), p.FixedLength(5), p.Sequence([p.WhitespaceSplit(), p.Metaspace()]),
           p.Sequence([p.Punctuation("contiguous"), p.ByteLevel(add_prefix_space=False), p.Digits(), p.Split(Regex("[0-9][0-9][0-9]"), "isolated")])]
    for b in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
        out += [p.Split(" ", b), p.Split(Regex(r"\p{P}|\d+"), b), p.Split(Regex(r"[a-z]+"), b, invert=True), p.Punctuation(b)]
    return out + [p.Split(Regex(s), "isolated") for s in SPLITS]


def all_decoders():
    d = decoders
    tokens = [["▁Hello", "▁wor", "ld", "▁", "!"], ["Hel", "##lo", "wor", "##ld", ".", "do", "not", "n't"], ["<0xE4>", "<0xBD>", "<0xA0>", "a", "<0xFF>", "<0xC3>", "▁b"],
              ["ĠHello", "Ġwor", "ld", "â", "Ń¢", "Ã", "x"], ["he", "llo</w>", "wor", "ld</w>"], ["<pad>", "h", "h", "<pad>", "i", "|", "|", "'s", "x"],
              [" a ", "  b", "   "], [], [""], ["▁▁x", "y▁"], ["ï", "¿", "½", "é", "😀"]]
    items = [d.ByteLevel(), d.WordPiece(), d.WordPiece(prefix="", cleanup=False), d.Metaspace(), d.Metaspace(prepend_scheme="never"), d.BPEDecoder(), d.ByteFallback(), d.Fuse(), d.CTC(), d.CTC(cleanup=False),
             d.Replace("▁", " "), d.Replace(Regex("[lo]+"), "_"), d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])]
    return [{"config": config("decoder", x), "in": tokens, "out": [x.decode(list(t)) for t in tokens]} for x in items]


CORPUS = TEXTS + ["the cat sat on the mat and the hat of the rat", "lower lowest newer newest wider widest",
                  "tokenization tokenizers tokenize tokens token", "мир миру мира", "世界世界你好你好"] * 3


def trained(model, trainer, **parts):
    t = Tokenizer(model)
    for k, v in parts.items():
        setattr(t, k, v)
    t.train_from_iterator(CORPUS, trainer)
    return t


def all_tokenizers():
    n, p, d, q = normalizers, pre_tokenizers, decoders, processors
    special = ["<unk>", "<s>", "</s>", "<pad>", "<mask>"]
    out = {}
    t = trained(models.BPE(), trainers.BpeTrainer(vocab_size=420, special_tokens=["<|endoftext|>"], initial_alphabet=p.ByteLevel.alphabet()),
                pre_tokenizer=p.ByteLevel(add_prefix_space=False), decoder=d.ByteLevel(), post_processor=q.ByteLevel(trim_offsets=False))
    t.add_tokens([AddedToken("<new>", lstrip=True), AddedToken("<word>", single_word=True), AddedToken("HTTP", normalized=True)])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, rstrip=True)])
    out["gpt2"] = t
    t = Tokenizer.from_str(t.to_str())
    t.pre_tokenizer = p.ByteLevel(add_prefix_space=True)
    e = t.token_to_id("<|endoftext|>")
    t.post_processor = q.RobertaProcessing(("</s>", e), ("<s>", e))
    out["roberta"] = t
    t = Tokenizer.from_str(t.to_str())
    t.pre_tokenizer = p.Sequence([p.Split(Regex(SPLITS[1]), "isolated"), p.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.post_processor = q.Sequence([q.ByteLevel(trim_offsets=False), q.TemplateProcessing(single="<|endoftext|> $A", pair="<|endoftext|> $A <|endoftext|>:1 $B:1", special_tokens=[("<|endoftext|>", e)])])
    j = json.loads(t.to_str())
    j["model"]["ignore_merges"] = True
    j["model"]["merges"] = [" ".join(m) for m in j["model"]["merges"]]
    out["llama3"] = Tokenizer.from_str(json.dumps(j))
    out["llama3"].raw = json.dumps(j)
    t = trained(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), trainers.BpeTrainer(vocab_size=420, special_tokens=special + [f"<0x{i:02X}>" for i in range(256)], limit_alphabet=90),
                normalizer=n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")]), decoder=d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)]))
    j = json.loads(t.to_str())
    j["model"]["vocab"].update({})
    t = Tokenizer.from_str(json.dumps(j))
    t.post_processor = q.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    out["llama2"] = t
    for fuse in [True, False]:
        out[f"bpe unk {fuse}"] = trained(models.BPE(unk_token="<unk>", fuse_unk=fuse), trainers.BpeTrainer(vocab_size=200, special_tokens=special, limit_alphabet=40), pre_tokenizer=p.Whitespace())
    out["clip"] = trained(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix="@"), trainers.BpeTrainer(vocab_size=300, special_tokens=special, end_of_word_suffix="</w>", continuing_subword_prefix="@", limit_alphabet=60),
                          normalizer=n.Sequence([n.NFC(), n.Replace(Regex(r"\s+"), " "), n.Lowercase()]), pre_tokenizer=p.Whitespace(), decoder=d.BPEDecoder())
    t = trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]),
                normalizer=n.BertNormalizer(), pre_tokenizer=p.BertPreTokenizer(), decoder=d.WordPiece())
    t.post_processor = q.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    out["bert"] = t
    t = Tokenizer.from_str(t.to_str())
    t.enable_truncation(12)
    t.enable_padding(length=16, pad_id=0, pad_token="[PAD]")
    out["bert cut"] = t
    t = Tokenizer.from_str(t.to_str())
    t.enable_truncation(9, strategy="only_first", direction="left")
    t.enable_padding(direction="left", pad_to_multiple_of=8, pad_type_id=1)
    out["bert cut left"] = t
    j = json.loads(trained(models.Unigram(), trainers.UnigramTrainer(vocab_size=400, special_tokens=special, unk_token="<unk>"),
                           pre_tokenizer=p.Metaspace()).to_str())
    j["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": charsmap()}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}
    j["decoder"] = config("decoder", d.Metaspace())
    j["post_processor"] = config("post_processor", q.TemplateProcessing(single="$A </s>", pair="$A </s> $B:1 </s>:1", special_tokens=[("</s>", 2)]))
    out["t5"] = Tokenizer.from_str(json.dumps(j))
    j["model"]["byte_fallback"] = True
    j["model"]["vocab"] = [v for v in j["model"]["vocab"] if len(v[0]) < 2 or v[0].isascii() or v[0][0] == "▁"][:300] + [[f"<0x{i:02X}>", -20.0] for i in range(256)]
    j["pre_tokenizer"] = None
    out["unigram bytes"] = Tokenizer.from_str(json.dumps(j))
    out["words"] = trained(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(special_tokens=special, min_frequency=2), normalizer=n.Sequence([n.Nmt(), n.NFKC(), n.StripAccents()]),
                           pre_tokenizer=p.Sequence([p.UnicodeScripts(), p.Whitespace(), p.Digits()]))
    t = Tokenizer.from_str(out["gpt2"].to_str())
    t.pre_tokenizer = p.Sequence([p.Punctuation("contiguous"), p.ByteLevel(add_prefix_space=False), p.Digits()])
    t.normalizer = n.NFC()
    out["falcon"] = t
    return out


def ranked(tokenizer):
    """The trained byte-level tokenizer once more, as a file of tiktoken."""
    import base64
    import tiktoken
    from tiktoken_ext import openai_public as public
    vocab = json.loads(tokenizer.to_str())["model"]["vocab"]
    alphabet = {}
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    for b in range(256):
        alphabet[chr(b) if b in printable else chr(256 + sum(x not in printable for x in range(b)))] = b
    tokens = sorted((i, bytes(alphabet[c] for c in t)) for t, i in vocab.items() if t != "<|endoftext|>")
    ranks = {b: i for i, (_, b) in enumerate(tokens)}
    out = {"file": "".join(f"{base64.b64encode(b).decode()} {i}\n" for b, i in ranks.items()), "patterns": []}
    import re
    source = pathlib.Path(public.__file__).read_text()
    cl100k = re.search(r'"pat_str": r"""(.*?)"""', source).group(1)
    o200k = "|".join(re.findall(r'r"""(.*?)"""', source[source.index("def o200k_base"):]))
    for split in [public.r50k_pat_str, cl100k, o200k]:
        e = tiktoken.Encoding("x", pat_str=split, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": len(ranks)})
        out["patterns"].append({"split": split, "ids": [e.encode(s, allowed_special="all") for s in TEXTS]})
    return out


def pieced():
    """Small models of SentencePiece."""
    import base64
    import io
    import tempfile
    import sentencepiece
    common = dict(vocab_size=700, hard_vocab_limit=False, character_coverage=0.98, minloglevel=2, user_defined_symbols=["<new>", "xx", "  "])
    rules = tempfile.NamedTemporaryFile("w", suffix=".tsv")
    rules.write("FB01\t66 69\nE9\t45\n65 301\tE9\n3000\t20\n200B\t\n9\t20\nA\t20\n")
    rules.flush()
    out = []
    for kind in [dict(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False),
                 dict(model_type="bpe", normalization_rule_tsv=rules.name), dict(model_type="bpe", split_by_whitespace=False, add_dummy_prefix=False, normalization_rule_name="identity"),
                 dict(model_type="unigram", normalization_rule_tsv=rules.name), dict(model_type="unigram", byte_fallback=True, normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False)]:
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(s.replace("\0", "") for s in CORPUS if s.strip()), model_writer=model, **common, **kind)
        p = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        ids = [p.encode(s) for s in TEXTS]
        out.append({"model": base64.b64encode(model.getvalue()).decode(), "ids": ids, "decoded": [p.decode(i) for i in ids]})
    return out


def encoding(e):
    return {"ids": e.ids, "offsets": [x for o in e.offsets for x in o], "types": e.type_ids, "words": [-1 if w is None else w for w in e.word_ids],
            "special": e.special_tokens_mask, "mask": e.attention_mask}


def described(name, t):
    out = {"name": name, "json": json.loads(getattr(t, "raw", t.to_str())), "rows": [], "pairs": [], "decoded": []}
    for i, s in enumerate(TEXTS):
        e = t.encode(s)
        out["rows"].append(encoding(e))
        out["decoded"].append([t.decode(e.ids, skip_special_tokens=True), t.decode(e.ids, skip_special_tokens=False)])
        if i % 9 == 0 and i + 1 < len(TEXTS):
            try:
                out["pairs"].append([i, encoding(t.encode(s, TEXTS[i + 1]))])
            except Exception:
                out["pairs"].append([i, None])
    return out


def golden():
    out = {"texts": [b.hex() for b in ROWS], "normalizers": [], "pre_tokenizers": [], "decoders": all_decoders()}
    for x in all_normalizers():
        out["normalizers"].append({"config": config("normalizer", x), "out": [x.normalize_str(s) for s in TEXTS]})
    x = {"type": "Precompiled", "precompiled_charsmap": charsmap()}
    j = json.loads(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).to_str())
    j["normalizer"] = x
    t = Tokenizer.from_str(json.dumps(j))
    out["normalizers"].append({"config": x, "out": [t.normalizer.normalize_str(s) for s in TEXTS]})
    for x in all_pre_tokenizers():
        out["pre_tokenizers"].append({"config": config("pre_tokenizer", x), "out": [[[w, *o] for w, o in x.pre_tokenize_str(s)] for s in TEXTS]})
    made = all_tokenizers()
    out["tokenizers"] = [described(k, t) for k, t in made.items()]
    out["tiktoken"] = ranked(made["gpt2"])
    out["sentencepiece"] = pieced()
    return out


def published(folder):
    """Ids of published tokenizers, of the texts and of the files FOLDER/*.txt."""
    for path in sorted([*pathlib.Path(folder).glob("*.json"), *pathlib.Path(folder).glob("*.model*")]):
        if path.suffix == ".gz":
            continue
        if path.name.startswith("tekken"):
            from mistral_common.tokens.tokenizers.tekken import Tekkenizer
            t = Tekkenizer.from_file(path)
            encode = lambda s, special: t.encode(s, bos=special, eos=False)
        elif ".model" in path.name:
            import sentencepiece
            p = sentencepiece.SentencePieceProcessor(model_file=str(path))
            encode = lambda s, special: p.encode(s)
        else:
            t = Tokenizer.from_file(str(path))
            encode = lambda s, special: t.encode(s, add_special_tokens=special).ids
        rows = [encode(s, True) for s in TEXTS]
        files = {f.name: encode(f.read_text(encoding="utf-8"), False) for f in sorted(pathlib.Path(folder).glob("*.txt"))}
        with gzip.open(str(path) + ".ids.gz", "wt") as out:
            json.dump({"rows": rows, "files": files}, out)
        print(path.name, sum(len(r) for r in rows), {k: len(v) for k, v in files.items()})


if __name__ == "__main__":
    if sys.argv[1] == "ids":
        published(sys.argv[2])
    else:
        text = json.dumps(golden(), ensure_ascii=False, separators=(",", ":")).encode()
        pathlib.Path(sys.argv[1]).write_bytes(bz2.compress(text, 9))
