"""A byte-level BPE tokenizer (Radford et al. 2019) from a vocabulary and its merges, as a GGUF file has them."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from model.errors import HeadworkError, first_line, is_fault
from model.tokenizers.tokenizer_json import FastTokenizer


def byte_level_tokenizer(
    pieces: Sequence[str],
    merges: Sequence[str],
    special: Sequence[int],
    *,
    start_id: int | None = None,
    padding_id: int | None = None,
    digits_apart: bool = False,
) -> FastTokenizer:
    """The tokenizer of a vocabulary; nothing is put before or after a text.

    Args:
        pieces: in the order of their ids, each byte as one printable character ("Ġthe").
        merges: "left right", the first is made first.
        special: the ids of marks such as <|endoftext|>, which are no text.
        start_id: of the mark that stands before a text in training.
        padding_id: what fills up a sentence.
        digits_apart: each digit is a token of its own.

    Raises:
        HeadworkError: vocabulary, merges and special tokens don't fit together.
    """
    ids = {piece: id_ for id_, piece in enumerate(pieces)}
    if len(ids) != len(pieces):
        raise _unfitting("a piece stands in the vocabulary twice")
    named = {"bos_token": start_id, "pad_token": padding_id}
    if not all(isinstance(id_, int) and 0 <= id_ < len(pieces) for id_ in (*special, start_id or 0, padding_id or 0)):
        raise _unfitting(f"a special token has no place among {len(pieces)} pieces")
    if strange := next((merge for merge in merges if merge.count(" ") != 1), None):
        raise _unfitting(f"{strange[:40]!r} is no pair of pieces")
    try:
        backend = Tokenizer(models.BPE(ids, [(left, right) for left, right in (merge.split(" ") for merge in merges)]))
    except BaseException as error:  # the library raises bare Exception, and panics
        if not is_fault(error):
            raise
        raise _unfitting(first_line(error)) from error
    bytes_alone = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = [pre_tokenizers.Digits(individual_digits=True)] if digits_apart else []
    backend.pre_tokenizer = pre_tokenizers.Sequence([*digits, bytes_alone])
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(pieces[id_], normalized=False, special=True) for id_ in special])
    return FastTokenizer(backend, {name: pieces[id_] for name, id_ in named.items() if id_ is not None})


def _unfitting(reason: str) -> HeadworkError:
    return HeadworkError(
        "The tokenizer of this model can't be used: {reason}. Get the model again, or choose another.", reason=reason
    )
