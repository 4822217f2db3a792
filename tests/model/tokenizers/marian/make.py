"""Makes the two small SentencePiece models of this folder and what sentencepiece itself makes of some texts.

    python -m venv /tmp/sp && /tmp/sp/bin/pip install sentencepiece==0.2.3 && /tmp/sp/bin/python make.py

The library is not needed to run this project or its tests: model/tokenizers/sentencepiece_file.py reads its files.
"""

import io
import json
import pathlib
import random

import sentencepiece

HERE = pathlib.Path(__file__).parent
WORDS = {
    "source": "the cat dog sees eats finds red big small house tree river on under with and a not never reading reader",
    "target": "die katze hund sieht frisst findet rote große kleine haus baum fluss auf unter mit und ein nicht lesen",
}
# Characters → what they become, in hexadecimal: a wide A, one half, a soft hyphen, a tab, a ligature.
RULES = "ff21\t41\nbd\t31 2f 32\nad\t\n9\t20\nfb01\t66 69\n"
TEXTS = (
    "the cat sees a red house",
    "  two  spaces   and an end ",
    "never reading, readers!",
    "unknown ☂☃ signs and 猫",
    "ＡＡ ½ so\u00adft\ttab \ufb01nds",
    "katze und große häuser",
    "a",
    "thecatseesthedog",
    "line\nbreak",
    "e\u0301 combining",
    "<s> and < / s",
    "😀 emoji 👩‍👩‍👧",
)


def train(side: str) -> sentencepiece.SentencePieceProcessor:
    draw = random.Random(0)
    lines = [" ".join(draw.choices(WORDS[side].split(), k=draw.randint(3, 9))) for _ in range(400)]
    (HERE / "rules.tsv").write_text(RULES)
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=written,
        vocab_size=90,
        hard_vocab_limit=False,
        normalization_rule_tsv=str(HERE / "rules.tsv"),
        minloglevel=2,
    )
    (HERE / "rules.tsv").unlink()
    (HERE / f"{side}.spm").write_bytes(written.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())


found = {}
pieces = {"</s>": 0, "<unk>": 1}
for side in WORDS:
    processor = train(side)
    found[side] = {text: processor.encode(text, out_type=str) for text in TEXTS}
    for i in range(processor.get_piece_size()):
        # As Marian's vocabularies are: another order than SentencePiece's, and some pieces missing.
        if not (processor.is_control(i) or processor.is_unknown(i)) and i % 17 != 5:
            pieces.setdefault(processor.id_to_piece(i), len(pieces))
pieces[">>de<<"] = len(pieces)
pieces["<pad>"] = len(pieces)
(HERE / "vocab.json").write_text(json.dumps(pieces, ensure_ascii=False))
(HERE / "expected.json").write_text(json.dumps(found, ensure_ascii=False, indent=1))
