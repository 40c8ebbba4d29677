"""Compares package tokenizers with the reference, package tokenizers of PyPI, on random input.

    pip install tokenizers
    go build -o peer ./tokenizers/internal/peer
    python tokenizers/testdata/fuzz.py ./peer SECONDS [SEED] [tokenizer.json…]
    python tokenizers/testdata/fuzz.py ./peer characters
    python tokenizers/testdata/fuzz.py tokenizers/testdata/random.json.gz

Without files it makes small tokenizer.json of random parts, and texts of their tokens and of odd
characters. Each is encoded with and without special tokens, alone and in pairs, truncated and padded,
and decoded, at once and id by id. What differs is made as short as it goes and printed as a request for
the peer with both answers. The exit status is 1 if anything differs.

The second form goes through all characters with every part that looks at what they are. The third writes
what the reference makes of some random configurations, for the test of the peer.
"""
import base64
import copy
import functools
import gzip
import json
import os
import random
import subprocess
import sys
import time

from tokenizers import Tokenizer

FIELDS = ["ids", "tokens", "offsets", "type_ids", "word_ids", "sequence_ids", "special_tokens_mask", "attention_mask"]
STRATEGIES = ["longest_first", "only_first", "only_second"]
WORDS = ["a", "b", "c", "ab", "abc", "ba", "cab", "the", "Hello", "world", "don't", "we've", "1", "12", "345", "é", "ß", "你", "好", "你好",
         "мир", "か", "ガ", "한", "ñ", "x" * 30, "aaaa", "  ", " ", "\n", "\t", ".", ",", "!", "'s", " 's", "-", "_", "▁", "##", "</w>", "Ġ",
         "<s>", "</s>", "[CLS]", "[SEP]", "[MASK]", "<new>", "new", "<0x41>", "|", "<pad>", "A", "Ab", "ABC", "É"]
ODD = ["\u0301", "\u0323", "e\u0301", "\u200d", "👩\u200d👩\u200d👧", "👍🏽", "🏳\ufe0f\u200d🌈", "😀", "\u00a0", "\u2003", "\u3000", "\u200b",
       "\ufeff", "\u00ad", "\x00", "\x7f", "\x85", "\r\n", "\r", "\v", "\f", "\u2028", "ำ", "नि", "क्ष", "ﬁ", "ﬃ", "①", "½", "Ⅷ", "٣",
       "İ", "ẞ", "ǅ", "Σ", "ς", "ſ", "K", "Å", "\u1e9b\u0323", "각", "\u1100\u1161\u11a8", "…", "“", "’", "¡", "＄", "€", "+", "$", "^", "`", "~",
       "𝔘", "𐍈", "\U000e0041", "\ue000", "\u0378", "\ufffd", "\uffff", "\U0010ffff", "שלום", "مرحبا", "สวัสดี", "ー", "々", "〇", "ˈ", "\u034f"]
BROKEN = [b"\xff", b"\xe4\xbd", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc0\x80", b"\xe2\x82", b"\x80"]


def guarded(f):
    """The result of f, or an error in the place of it: panics of the reference are no Exception."""
    try:
        return f(), None
    except KeyboardInterrupt:
        raise
    except BaseException as err:
        return None, f"{type(err).__name__}: {err}"


# Random input.

class Maker:
    def __init__(self, rng):
        self.rng = rng

    def some(self, *choices):
        return self.rng.choice(choices)

    def maybe(self, p=0.5):
        return self.rng.random() < p

    def word(self):
        r = self.rng
        k = r.random()
        if k < 0.6:
            return r.choice(WORDS)
        if k < 0.8:
            return r.choice(ODD)
        if k < 0.9:
            return "".join(r.choice("abcABé1. ") for _ in range(r.randrange(1, 6)))
        while True:
            c = r.choice([r.randrange(0x20, 0x500), r.randrange(0x2000, 0x3100), r.randrange(0xffff), r.randrange(0x10000, 0x20000)])
            if not 0xd800 <= c < 0xe000:
                return chr(c)

    def text(self, tokens=()):
        r = self.rng
        n = r.choice([0, 1, 2, 3, 5, 10, 30])
        if r.random() < 0.02:
            n = 300
        out = []
        for _ in range(n):
            k = r.random()
            if k < 0.35 and tokens:
                out.append(r.choice(tokens).encode())
            elif k < 0.55:
                out.append(b" ")
            elif k < 0.57:
                out.append(r.choice(BROKEN))
            else:
                out.append(self.word().encode() * (r.choice([1, 1, 1, 1, 1, 1, 2, 3, 60])))
        return b"".join(out)

    def regex(self):
        return self.some(r"\s+", r"\w+|[^\w\s]+", r"\p{L}+", r"\d", r"a|b+", r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "[abc]",
                         r"\p{N}{1,3}", r"(?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\s*[\r\n]+|\s", r"\b", r"^a|b$", r"x*", r"(?=b)", r".", r"\S\s?",
                         r"[\p{M}\p{P}]", r"(?<=a)b", r"\p{Lu}[\p{Ll}\p{M}]*")

    def pattern(self):
        return {"Regex": self.regex()} if self.maybe() else {"String": self.some(" ", "a", "ab", "  ", ".", "▁", "é", "'", "", "aa")}

    def list(self, make, most=4):
        return [make(False) for _ in range(self.rng.randrange(most))]

    def normalizer(self, deep=True):
        kind = self.some("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel", "Strip", "Prepend", "Replace",
                         "BertNormalizer", "Precompiled", *["Sequence"] * (5 if deep else 0))
        n = {"type": kind}
        if kind == "Strip":
            n.update(strip_left=self.maybe(), strip_right=self.maybe())
        elif kind == "Prepend":
            n.update(prepend=self.some("▁", "a", " ", "xy", "é"))
        elif kind == "Replace":
            n.update(pattern=self.pattern(), content=self.some("", " ", "▁", "a", "ab", "éé", "\u0301"))
        elif kind == "BertNormalizer":
            n.update(clean_text=self.maybe(), handle_chinese_chars=self.maybe(), strip_accents=self.some(None, True, False), lowercase=self.maybe())
        elif kind == "Precompiled":
            n.update(precompiled_charsmap=charsmap())
        elif kind == "Sequence":
            n.update(normalizers=self.list(self.normalizer, 5))
        return n

    def metaspace(self):
        return {"type": "Metaspace", "replacement": self.some("▁", "▁", "_", "é", "a"), "prepend_scheme": self.some("always", "never", "first"), "split": self.maybe()}

    def pre_tokenizer(self, deep=True):
        kind = self.some("BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Metaspace", "Whitespace", "WhitespaceSplit", "Split", "Punctuation",
                         "Digits", "UnicodeScripts", "FixedLength", *["Sequence"] * (5 if deep else 0))
        behaviors = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
        p = {"type": kind}
        if kind == "ByteLevel":
            p.update(add_prefix_space=self.maybe(), trim_offsets=self.maybe(), use_regex=self.maybe())
        elif kind == "CharDelimiterSplit":
            p.update(delimiter=self.some(" ", "a", "é", ".", "▁"))
        elif kind == "Metaspace":
            p = self.metaspace()
        elif kind == "Split":
            p.update(pattern=self.pattern(), behavior=self.some(*behaviors), invert=self.maybe(0.3))
        elif kind == "Punctuation":
            p.update(behavior=self.some(*behaviors))
        elif kind == "Digits":
            p.update(individual_digits=self.maybe())
        elif kind == "FixedLength":
            p.update(length=self.some(1, 2, 3, 5))
        elif kind == "Sequence":
            p.update(pretokenizers=self.list(self.pre_tokenizer))
        return p

    def decoder(self, deep=True):
        kind = self.some("ByteLevel", "ByteFallback", "Fuse", "WordPiece", "Metaspace", "BPEDecoder", "Strip", "Replace", "CTC",
                         *["Sequence"] * (5 if deep else 0))
        d = {"type": kind}
        if kind == "WordPiece":
            d.update(prefix=self.some("##", "a", ""), cleanup=self.maybe())
        elif kind == "Metaspace":
            d = self.metaspace()
        elif kind == "BPEDecoder":
            d.update(suffix=self.some("</w>", "a", "▁"))
        elif kind == "Strip":
            d.update(content=self.some(" ", "a", "é"), start=self.some(0, 1, 2), stop=self.some(0, 1, 2))
        elif kind == "Replace":
            d.update(pattern=self.pattern(), content=self.some("", " ", "a", "éé"))
        elif kind == "CTC":
            d.update(pad_token=self.some("<pad>", "a"), word_delimiter_token=self.some("|", "b"), cleanup=self.maybe())
        elif kind == "Sequence":
            d.update(decoders=self.list(self.decoder))
        return d

    def post_processor(self, vocab, deep=True):
        kind = self.some("ByteLevel", "TemplateProcessing", "TemplateProcessing", "BertProcessing", "RobertaProcessing", *["Sequence"] * (2 if deep else 0))
        p = {"type": kind}
        token = lambda: self.some(["[CLS]", 0], ["[SEP]", 1], ["<s>", 2], ["a", 3])
        if kind == "ByteLevel":
            p.update(add_prefix_space=self.maybe(), trim_offsets=self.maybe(), use_regex=self.maybe())
        elif kind == "TemplateProcessing":
            special = lambda: {"SpecialToken": {"id": self.some("[CLS]", "[SEP]"), "type_id": self.some(0, 0, 1, 2)}}
            sequence = lambda s: {"Sequence": {"id": s, "type_id": self.some(0, 0, 1, 2)}}
            around = lambda: [special() for _ in range(self.rng.randrange(3))]
            p.update(single=[*around(), sequence("A"), *around()], pair=[*around(), sequence("A"), *around(), sequence("B"), *around()],
                     special_tokens={"[CLS]": {"id": "[CLS]", "ids": [0], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [1, 2], "tokens": ["[SEP]", "x"]}})
        elif kind == "BertProcessing":
            p.update(sep=token(), cls=token())
        elif kind == "RobertaProcessing":
            p.update(sep=token(), cls=token(), trim_offsets=self.maybe(), add_prefix_space=self.maybe())
        elif kind == "Sequence":
            # Not two that add tokens: the reference forgets which are special. Nor two that trim: it goes on where it stopped.
            last = self.post_processor(vocab, False)
            p.update(processors=[{"type": "ByteLevel", "add_prefix_space": self.maybe(), "trim_offsets": not last.get("trim_offsets") and self.maybe(),
                                  "use_regex": True}] * self.rng.randrange(2) + [last])
        return p

    def tokens(self):
        """Characters and strings of them; those of the byte-level alphabet and tokens of bytes for some."""
        r = self.rng
        chars = {c for w in r.sample(WORDS, 20) + r.sample(ODD, 8) for c in w} | set("abc ▁")
        if self.maybe(0.3):
            keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
            alphabet = [chr(b) for b in keep] + [chr(256 + i) for i in range(256 - len(keep))]
            chars |= set(alphabet if self.maybe(0.7) else r.sample(alphabet, 100))
        out = sorted(chars)
        r.shuffle(out)
        return out

    def bpe(self):
        chars, merges = self.tokens(), []
        prefix, suffix = self.some(None, None, None, "##"), self.some(None, None, None, "</w>")
        vocab = {t: i for i, t in enumerate(["[CLS]", "[SEP]", "<s>", *chars])}
        add = lambda t: vocab.setdefault(t, len(vocab))
        if self.maybe(0.4):
            for b in range(256):  # with some of them, the reference gets the order of unknown characters wrong
                add(f"<0x{b:02X}>")
        if prefix:
            for c in chars:
                add(prefix + c)
        if suffix:
            for t in list(vocab):
                add(t + suffix)
        pool = list(vocab)[3:]
        small = [t for t in pool if t.replace("##", "").replace("</w>", "") in "abc ▁é你1Ġ"] or pool
        for _ in range(self.rng.choice([0, 3, 10, 40, 80])):
            a, b = self.rng.choice(small), self.rng.choice(small if self.maybe(0.8) else pool)
            if suffix and a.endswith(suffix):
                continue
            if prefix and not b.startswith(prefix):
                b = add(prefix + b) and prefix + b
            if [a, b] in merges:
                continue
            new = a + (b[len(prefix):] if prefix else b)
            add(new)
            small.append(new)
            merges.append([a, b])
        return {"type": "BPE", "dropout": None, "unk_token": self.some(None, "<unk>", "a"), "continuing_subword_prefix": prefix, "end_of_word_suffix": suffix,
                "fuse_unk": self.maybe(), "byte_fallback": not prefix and not suffix and self.maybe(), "ignore_merges": self.maybe(0.3), "vocab": vocab, "merges": merges}, "<unk>"

    def words(self, marks):
        """Tokens of pieces of texts, with a mark in front of some."""
        out = dict.fromkeys(["[CLS]", "[SEP]", "<s>", *self.tokens()])
        for _ in range(self.rng.choice([5, 30, 60])):
            w = self.word() if self.maybe() else "".join(self.rng.choice("abc▁ ") for _ in range(self.rng.randrange(1, 5)))
            out[self.some(*marks) + w] = None
        if self.maybe(0.3):
            out.update(dict.fromkeys(f"<0x{b:02X}>" for b in range(256)))
        out.pop("", None)
        return list(out)

    def model(self):
        kind = self.some("BPE", "BPE", "BPE", "WordPiece", "WordLevel", "Unigram", "Unigram")
        if kind == "BPE":
            m, unk = self.bpe()
            if self.maybe(0.8):
                m["vocab"].setdefault(unk, len(m["vocab"]))
            return m
        tokens = self.words(["", "", "##"] if kind == "WordPiece" else ["", "", "▁"])
        if kind == "Unigram":
            scores = [[t, -self.rng.choice([round(self.rng.random() * 12, 3), self.rng.randrange(12), 3])] for t in tokens]
            return {"type": "Unigram", "unk_id": self.some(0, 2, 5, 5, None if self.maybe(0.2) else 0), "vocab": scores, "byte_fallback": self.maybe(0.3)}
        vocab = {t: i for i, t in enumerate([*tokens, "<unk>"] if "<unk>" not in tokens else tokens)}
        if kind == "WordLevel":
            return {"type": kind, "vocab": vocab, "unk_token": self.some("<unk>", "<unk>", "nothing")}
        return {"type": kind, "vocab": vocab, "unk_token": "<unk>", "continuing_subword_prefix": self.some("##", "##", "", "a"),
                "max_input_chars_per_word": self.some(100, 100, 3)}

    def added(self):
        out = []
        for content in self.rng.sample(WORDS + ODD, self.rng.choice([0, 0, 2, 5])):
            out.append({"content": content, "single_word": self.maybe(0.3), "lstrip": self.maybe(0.3), "rstrip": self.maybe(0.3),
                        "normalized": self.maybe(), "special": False})
            out[-1]["special"] = not out[-1]["normalized"] and self.maybe()  # the reference does not skip others when it decodes
        return out

    def config(self):
        m = self.model()
        names = [t for t, _ in m["vocab"]] if m["type"] == "Unigram" else m["vocab"]
        return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": numbered(self.added(), names),
                "normalizer": self.normalizer() if self.maybe(0.6) else None,
                "pre_tokenizer": self.pre_tokenizer() if self.maybe(0.8) else None,
                "post_processor": self.post_processor(names) if self.maybe(0.6) else None,
                "decoder": self.decoder() if self.maybe(0.7) else None, "model": m}

    def case(self, tokens):
        r = self.rng
        c = {"Text": self.text(tokens), "Pair": b"", "IsPair": self.maybe(0.25), "Special": self.maybe(0.7), "Truncation": None, "Padding": None}
        if c["IsPair"]:
            c["Pair"] = self.text(tokens)
        if self.maybe(0.2):
            c["Truncation"] = {"MaxLength": r.choice([0, 1, 2, 3, 5, 8, 20]), "Left": self.maybe(), "Strategy": r.choice(STRATEGIES), "Stride": r.choice([0, 0, 0, 1, 2])}
        if self.maybe(0.2):
            c["Padding"] = {"Length": r.choice([0, 0, 4, 12]), "MultipleOf": r.choice([0, 0, 3, 8]), "Left": self.maybe(), "ID": r.choice([0, 7]),
                            "TypeID": r.choice([0, 3]), "Token": "[PAD]"}
        return c


def numbered(added, names):
    """Added tokens with the ids that the reference gives them whatever the file says: those of the model, and the next."""
    ids = {t: i for i, t in enumerate(names)} if isinstance(names, list) else names
    number, out = len(ids), []
    for a in added:
        if a["content"] not in ids:
            number += 1
        out.append({**a, "id": ids.get(a["content"], number - 1)})
    return out


@functools.cache
def charsmap():
    """A table of replacements in the layout of SentencePiece, that of the golden file."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.dont_write_bytecode = True
    import gen
    return gen.charsmap()


# Both sides.

class Peer:
    def __init__(self, path):
        self.path, self.p = path, None

    def ask(self, request):
        if self.p is None:
            self.p = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.p.stdin.write(json.dumps(request).encode() + b"\n")
        self.p.stdin.flush()
        line = self.p.stdout.readline()
        if not line:
            self.p = None
            return {"Error": "the peer ended", "Cases": None, "Died": True}
        return json.loads(line)


def wire(c):
    return {**c, "Text": base64.b64encode(c["Text"]).decode(), "Pair": base64.b64encode(c["Pair"]).decode()}


def fields(e):
    out = {f: getattr(e, f) for f in FIELDS}
    out["offsets"] = [list(o) for o in e.offsets]
    for f in "word_ids", "sequence_ids":
        out[f] = [-1 if x is None or not mask else x for x, mask in zip(out[f], e.attention_mask)]
    return out


def sound(t, x):
    """Whether a configuration is one that the reference does well; shortening tries others."""
    forms = [t.normalizer.normalize_str(a["content"]) if t.normalizer else a["content"] for a in x["added_tokens"] if a["normalized"]]
    if "" in forms or len(forms) > len(set(forms)):
        return False
    m = x["model"]
    return m["type"] != "BPE" or not m["byte_fallback"] or all(f"<0x{b:02X}>" in m["vocab"] for b in range(256))


def roomy(t, c):
    """A case that truncates to more tokens than are special: the reference does nothing useful below."""
    if not c["Truncation"]:
        return c
    k, added = c["Truncation"], max(t.num_special_tokens_to_add(pair) for pair in (False, c["IsPair"]))
    most = max(k["MaxLength"], added and added + 1 + c["IsPair"])
    return {**c, "Truncation": {**k, "MaxLength": most, "Stride": max(min(k["Stride"], most - added - 1), 0)}}


def reference(t, c):
    text, pair = c["Text"].decode("utf-8", "replace"), c["Pair"].decode("utf-8", "replace") if c["IsPair"] else None
    t.no_truncation()
    t.no_padding()
    if c["Truncation"]:
        k = c["Truncation"]
        t.enable_truncation(k["MaxLength"], stride=k["Stride"], strategy=k["Strategy"], direction="left" if k["Left"] else "right")
    if c["Padding"]:
        k = c["Padding"]
        t.enable_padding(direction="left" if k["Left"] else "right", pad_id=k["ID"], pad_type_id=k["TypeID"], pad_token=k["Token"],
                         length=k["Length"] or None, pad_to_multiple_of=k["MultipleOf"] or None)
    e = t.encode(text, pair, add_special_tokens=c["Special"])
    return {"Parts": [fields(x) for x in [e, *e.overflowing]], "Decoded": t.decode(e.ids, skip_special_tokens=True),
            "Kept": t.decode(e.ids, skip_special_tokens=False)}


def difference(want, failed, got, stream, places):
    """What differs between the reference's result, or its error, and the peer's; None if nothing does."""
    if failed:
        return None if got["Error" if got.get("Error") else "Parts"] and got.get("Error") or "Panic" in failed else f"the reference fails: {failed}"
    if got.get("Error"):
        return f"error: {got['Error']}"
    for i, (a, b) in enumerate(zip(want["Parts"], got["Parts"])):
        for f in FIELDS:
            if i > 0 and f in ("type_ids", "sequence_ids"):
                continue  # a template of the reference does not get at what truncation left out
            if a[f] != (b[f] or []) and (places or f != "offsets"):
                return f"part {i}, {f}: want {a[f]}, got {b[f]}"
    if len(want["Parts"]) != len(got["Parts"]):
        return f"want {len(want['Parts'])} parts, got {len(got['Parts'])}"
    for f in "Decoded", "Kept":
        if want[f] != got[f]:
            return f"{f}: want {want[f]!r}, got {got[f]!r}"
    if got["IDs"] is not None and got["IDs"] != want["Parts"][0]["ids"]:
        return f"IDs: want {want['Parts'][0]['ids']}, got {got['IDs']}"
    if stream and "\ufffd" not in want["Kept"] and got["Streamed"] != want["Kept"]:
        return f"streamed: want {want['Kept']!r}, got {got['Streamed']!r}"
    return None


def streams(config):
    """Whether a decoder only appends: the text of some ids is how that of more ids begins."""
    if config is None:
        return True
    return config["type"] in ("ByteLevel", "ByteFallback", "Fuse", "Metaspace") or config["type"] == "Replace" and "String" in config["pattern"] and len(config["pattern"]["String"]) == 1


def exempt(x):
    """Whether offsets are not compared: behind characters that a model leaves out, those of the reference lag."""
    return x["model"]["type"] == "BPE" and x["model"]["unk_token"] not in x["model"]["vocab"]


class Compared:
    """Compares requests; counts them."""
    def __init__(self, peer):
        self.peer, self.cases, self.refused = peer, 0, 0

    def of(self, request, cases):
        """Returns (i, what differs) of the first case in which both differ, or None. A file that
        the reference refuses makes no difference."""
        t, failed = guarded(lambda: Tokenizer.from_str(request["JSON"]) if "JSON" in request else Tokenizer.from_file(request["File"]))
        if failed:
            self.refused += 1
            return None
        if "JSON" in request and not sound(t, json.loads(request["JSON"])):
            return None
        x = json.loads(request["JSON"]) if "JSON" in request else None
        stream = x is None or streams(x.get("decoder"))
        places = x is None or not exempt(x)
        dropped = x is not None and "Precompiled" in request["JSON"]  # so they do if the first character is replaced by none
        cases = [roomy(t, c) for c in cases]
        got = self.peer.ask({**request, "Cases": [wire(c) for c in cases]})
        if got.get("Error"):
            return 0, f"the file: {got['Error']}"
        for i, c in enumerate(cases):
            self.cases += 1
            there = places and not (dropped and any("\u200b".encode() in c[f] for f in ("Text", "Pair")))
            what = difference(*guarded(lambda: reference(t, c)), got["Cases"][i], stream, there)
            if what:
                return i, what
        return None


# Shortening.

def shorter(text):
    n = len(text) // 2
    while n >= 1:
        for i in range(0, len(text), n):
            yield text[:i] + text[i + n:]
        n //= 2


def simpler_case(c):
    for f in "Text", "Pair":
        for s in shorter(c[f]):
            yield {**c, f: s}
    for f, v in ("Truncation", None), ("Padding", None), ("IsPair", False), ("Special", False):
        if c[f] != v:
            yield {**c, f: v}


def simpler_config(x):
    """Configurations with a part less."""
    for f in "normalizer", "pre_tokenizer", "post_processor", "decoder":
        if x[f] is not None:
            yield {**x, f: None}
            for name in "normalizers", "pretokenizers", "processors", "decoders":
                for i, part in enumerate(x[f].get(name, [])):
                    yield {**x, f: part}
                    yield {**x, f: {**x[f], name: x[f][name][:i] + x[f][name][i + 1:]}}
    for i in range(len(x["added_tokens"])):
        names = [t for t, _ in x["model"]["vocab"]] if x["model"]["type"] == "Unigram" else x["model"]["vocab"]
        yield {**x, "added_tokens": numbered(x["added_tokens"][:i] + x["added_tokens"][i + 1:], names)}
    for i, a in enumerate(x["added_tokens"]):
        for f in "single_word", "lstrip", "rstrip", "normalized", "special":
            if a[f]:
                y = copy.deepcopy(x)
                y["added_tokens"][i][f] = False
                yield y
    m = x["model"]
    for f in "fuse_unk", "byte_fallback", "ignore_merges", "unk_token", "continuing_subword_prefix", "end_of_word_suffix":
        if m.get(f) and m["type"] == "BPE":
            yield {**x, "model": {**m, f: None if isinstance(m[f], str) else False}}
    for f in "merges", "vocab":
        items = m.get(f, [])
        items = list(items.items()) if isinstance(items, dict) else items
        n = len(items) // 2
        while n >= 1:
            for i in range(0, len(items), n):
                rest = items[:i] + items[i + n:]
                y = {**x, "model": {**m, f: dict(rest) if isinstance(m[f], dict) else rest}}
                names = [t for t, _ in y["model"]["vocab"]] if m["type"] == "Unigram" else y["model"]["vocab"]
                yield {**y, "added_tokens": numbered(x["added_tokens"], names)}
            n //= 4


def shortened(compared, request, case, limit=60):
    """The same difference, or another, with less."""
    kind = lambda what: what.split(":")[0]
    what = compared.of(request, [case])
    if what is None:
        return request, case, ("only behind other cases")
    end, again = time.time() + limit, True
    while again and time.time() < end:
        again = False
        tries = [(request, c) for c in simpler_case(case)]
        if "JSON" in request:
            tries += [({"JSON": json.dumps(x, ensure_ascii=False)}, case) for x in simpler_config(json.loads(request["JSON"]))]
        for r, c in tries:
            now = compared.of(r, [c])
            if now and kind(now[1]) == kind(what[1]):
                request, case, what, again = r, c, now, True
                break
            if time.time() > end:
                break
    return request, case, what[1]


# All characters.

def classes():
    """Parts that look at what characters are; a model that shows the text of each."""
    each = {"type": "FixedLength", "length": 1}
    for n in "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "Strip":
        yield {"type": n, **({"strip_left": True, "strip_right": True} if n == "Strip" else {})}, each
    for on in "clean_text", "handle_chinese_chars", "strip_accents", "lowercase":
        yield {"type": "BertNormalizer", **{f: f == on for f in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")}}, each
    for p in "BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts":
        yield None, {"type": p}
    yield None, {"type": "Punctuation", "behavior": "Isolated"}
    yield None, {"type": "Digits", "individual_digits": True}
    for c in r"\p{L} \p{Lu} \p{Ll} \p{Lt} \p{Lm} \p{Lo} \p{M} \p{Mn} \p{N} \p{Nd} \p{P} \p{S} \p{Z} \p{C} \p{Han} \p{Latin} \s \w \d (?i:s) (?i:k)".split():
        yield None, {"type": "Split", "pattern": {"Regex": c}, "behavior": "Removed", "invert": False}


def characters(compared):
    """Compares all parts at all characters that are assigned, or were lately."""
    points = [c for c in [*range(0x32400), *range(0xe0000, 0xe0200), 0xf0000, 0x10fffd, 0x10ffff] if not 0xd800 <= c < 0xe000]
    found = 0
    for normalizer, pre in classes():
        x = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": None,
             "decoder": None, "model": {"type": "Unigram", "unk_id": 0, "vocab": [["\x01", -1]], "byte_fallback": False}}
        request = {"JSON": json.dumps(x)}
        case = lambda list: {"Text": "".join(f"a{chr(c)}b" for c in list).encode(), "Pair": b"", "IsPair": False, "Special": False, "Truncation": None, "Padding": None}
        ends = case if not normalizer or normalizer["type"] != "Strip" else lambda list: {**case([]), "Text": chr(list[0]).encode() + b"a"}
        size = 128 if ends is case else 1
        different = []
        for i in range(0, len(points), size * 100):
            blocks = [points[j:j + size] for j in range(i, min(i + size * 100, len(points)), size)]
            while blocks and (what := compared.of(request, [ends(b) for b in blocks])):
                block = blocks[what[0]]
                different += [c for c in block if compared.of(request, [ends([c])])]
                blocks = blocks[what[0] + 1:]
        if different:
            found += 1
            print(f"== {len(different)} characters: {json.dumps(normalizer or pre)}: {ranges(different)}", flush=True)
    return found


def record(path, n=100):
    """Writes requests with what the reference makes of them."""
    out = []
    for seed in range(n):
        m = Maker(random.Random(f"record/{seed}"))
        x = m.config()
        request = {"JSON": json.dumps(x, ensure_ascii=False)}
        t, failed = guarded(lambda: Tokenizer.from_str(request["JSON"]))
        if failed or exempt(x) or "Precompiled" in request["JSON"] or not sound(t, x):
            continue
        tokens = [v[0] if isinstance(v, list) else v for v in x["model"]["vocab"]] + [a["content"] for a in x["added_tokens"]] * 8
        cases, wants = [], []
        for c in [roomy(t, m.case(tokens)) for _ in range(3)]:
            want, failed = guarded(lambda: reference(t, c))
            if not failed and len(c["Text"]) < 500:
                wants.append({**want, "Parts": want["Parts"][:1]})
                cases.append(wire(c))
        out.append({**request, "Cases": cases, "Want": wants})
    with open(path, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
        z.write(json.dumps(out, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())
    print(len(out), "configurations,", sum(len(r["Cases"]) for r in out), "cases,", os.path.getsize(path), "bytes")


def ranges(list):
    out = []
    for c in list:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in out)


def main():
    if len(sys.argv) == 2:
        return record(sys.argv[1])
    if sys.argv[2] == "characters":
        sys.exit(characters(Compared(Peer(sys.argv[1]))) > 0)
    peer, seconds, rest = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    seed = int(rest.pop(0)) if rest and rest[0].isdigit() else random.randrange(1 << 30)
    compared = Compared(Peer(peer))
    end, rounds, found = time.time() + seconds, 0, 0
    vocabularies = {f: list(Tokenizer.from_file(f).get_vocab()) for f in rest}
    while time.time() < end:
        m = Maker(random.Random(f"{seed}/{rounds}"))
        rounds += 1
        if rest:
            f = rest[rounds % len(rest)]
            request, tokens, n = {"File": f}, vocabularies[f], 200
            tokens = [t.replace("Ġ", " ").replace("▁", " ") for t in m.rng.sample(tokens, min(200, len(tokens)))]
        else:
            x = m.config()
            tokens = [v[0] if isinstance(v, list) else v for v in x["model"]["vocab"]] + [a["content"] for a in x["added_tokens"]] * 8
            request, n = {"JSON": json.dumps(x, ensure_ascii=False)}, 12
        cases = [m.case(tokens) for _ in range(n)]
        what = compared.of(request, cases)
        if what:
            found += 1
            r, c, what = shortened(compared, request, cases[what[0]])
            print(f"== round {seed}/{rounds - 1}: {what}\n   {c}\n   {r.get('JSON', r.get('File'))}", flush=True)
    print(f"seed {seed}: {rounds} rounds, {compared.cases} cases, {compared.refused} configurations refused by the reference, {found} differences", flush=True)
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
