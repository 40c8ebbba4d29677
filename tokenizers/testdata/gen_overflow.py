"""Makes overflow.json.gz: texts in parts of few tokens, as the reference library has them.

    python gen_overflow.py     # written with tokenizers 0.22
"""

import gzip, itertools, json, os

from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = "a b c d e f g h i j k l m n".split()


def base():
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(["[CLS]", "[SEP]"] + WORDS)}, "a"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 0), ("[SEP]", 1)])
    return t


def fields(e):
    return dict(ids=e.ids, types=e.type_ids, offsets=e.offsets, special=e.special_tokens_mask)


def main():
    cases = []
    for strategy, n, m, most, stride, left, special in itertools.product(
            ["longest_first", "only_first", "only_second"], [0, 1, 7, 14], [None, 2, 9], [4, 5, 8],
            [0, 1, 2], [False, True], [False, True]):
        t = base()
        case = dict(strategy=strategy, first=" ".join(WORDS[:n]), most=most, stride=stride, left=left,
                    special=special, second=None if m is None else " ".join(WORDS[-m:]))
        try:
            t.enable_truncation(most, stride=stride, strategy=strategy, direction="left" if left else "right")
            e = t.encode(case["first"], case["second"], add_special_tokens=special)
            case["parts"] = [fields(x) for x in [e] + e.overflowing]
        except BaseException as err:  # a panic of its own is one
            case["error"] = str(err)
        cases.append(case)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "overflow.json.gz")
    out = dict(tokenizer=json.loads(base().to_str()), cases=cases)
    with open(path, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
        z.write(json.dumps(out, sort_keys=True, separators=(",", ":")).encode())
    errors = {c["error"] for c in cases if "error" in c}
    print(len(cases), "cases,", os.path.getsize(path), "bytes", errors, max(len(c.get("parts", [])) for c in cases))


main()
