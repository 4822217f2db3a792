"""A small Unigram tokenizer with pieces longer than a word, as large multilingual vocabularies have them."""

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, processors

from model.tokenizers.tokenizer_json import FastTokenizer

SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
PIECES = ("▁", "因为", "因为他", "他说", "给了", "苹果", "帮过", "Python", "。”", "▁good", "es")
LETTERS = "小明红把递给了因为她他帮过苹果说病今天好，。：“”！？…—因為幫PythonGMPgod95.%!, "


def tokenizer():
    """Pieces in `PIECES`, and each letter alone: XLM-R's settings."""
    letters = [letter for letter in dict.fromkeys(LETTERS) if letter != " " and letter not in PIECES]
    scored = [(name, 0.0) for name in SPECIAL] + [(name, -5.0) for name in PIECES] + [(name, -6.0) for name in letters]
    backend = tokenizers.Tokenizer(models.Unigram(scored, unk_id=3))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    frame = [("<s>", 0), ("</s>", 2)]
    backend.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=frame)
    backend.add_special_tokens(list(SPECIAL))
    return FastTokenizer(backend, {"unk_token": "<unk>", "pad_token": "<pad>"})


_shared = tokenizer()


def encode(text):
    """The tokens of a text."""
    return _shared.encode(text, limit=512)
