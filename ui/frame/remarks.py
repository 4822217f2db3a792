"""What a page says about a trace: what was cut, what to beware of, and the measured check under the picture."""

import math

import streamlit as st
import torch

from model import AttentionModel, AttentionTrace, Mask, parse_mask
from model.seq2seq import EncoderDecoderModel
from model.tokenizers.tokens import MAX_CHARACTERS
from model.trace import LARGEST_ROW_ERROR
from ui.frame import mask_choice
from ui.frame.captions import caution, small
from ui.frame.chinese_words import pronouns_without_token
from ui.frame.controls import MOST_CHARACTERS
from ui.frame.languages import _, _n
from ui.frame.loading import check, load_any
from ui.frame.unread import unread


def cut(trace: AttentionTrace, whose: str = "") -> None:
    """Says how much of the text was left out; of two texts, `whose`."""
    tokens, whose = trace.tokenized, whose and whose + _(": ")
    if tokens.n_cut_characters:
        said = _("The text is too long: its last {n:,} characters were left out before reading.")
        if tokens.n_cut_characters >= MOST_CHARACTERS - MAX_CHARACTERS:  # the box itself holds no more
            said = _("The text is too long: more than {n:,} characters at its end were left out before reading.")
        st.warning(whose + said.format(n=tokens.n_cut_characters))
    if tokens.n_cut:
        limit = trace.n_tokens
        said = _n(
            "This model reads {limit} tokens: the last token of the text was cut.",
            "This model reads {limit} tokens: the last {n:,} tokens of the text were cut.",
            tokens.n_cut,
        )
        st.warning(whose + said.format(limit=limit, n=tokens.n_cut))


def status(trace: AttentionTrace, name: str) -> None:
    """Model, head, mask, N, and what was measured on this very trace."""
    found = check(trace)
    n_empty = found.n_empty_rows
    parts = [
        _(trace.model_label),
        _("head {name}").format(name=name),
        *([_("mask {mask}").format(mask=mask_choice.spelled(trace.mask))] if trace.kind == "self" else []),
        f"N = {trace.n_tokens}" if trace.kind == "self" else f"N = {trace.n_queries} × {trace.n_keys}",
        *([_("read as a pair")] if trace.tokenized.is_pair else []),
        row_sums(found.max_row_error),
        _("masked cells exactly 0") if found.masked_is_zero else _("masked cells are NOT all 0"),
    ]
    if n_empty:
        said = _n("{n} row may look at nothing and is 0", "{n} rows may look at nothing and are 0", n_empty)
        parts.append(said.format(n=n_empty))
    small(" · ".join(parts))


def row_sums(error: float) -> str:
    """What the largest distance of a row's sum from 1 means."""
    if not math.isfinite(error):
        return _("some weights are NOT numbers: the model computed values too large for float32")
    if error > LARGEST_ROW_ERROR:
        return _("rows do NOT sum to 1 (max error {error})").format(error=scientific(error))
    return _("rows sum to 1 (max error {error})").format(error=scientific(error))


def scientific(number: float) -> str:
    """A number with one digit: 3e-7. As it is where it has none: nan, inf."""
    if not math.isfinite(number):
        return str(number)
    digit, exponent = f"{number:.0e}".split("e")
    return f"{digit}e{int(exponent)}" if number else "0"


def cautions(trace: AttentionTrace, *, offers: bool = True) -> None:
    """What to beware of with this model, mask and text, a line each. Each is said only where it matters.

    Args:
        trace: what is shown.
        offers: as for `unread`.
    """
    if not trace.trained:
        caution(_("Untrained model: its weights are random, and so is what its heads look at."))
    elif not is_as_trained(trace):
        caution(_outside_its_training(load_any(trace.model_id)))
    unread(trace, offers=offers)
    if not load_any(trace.model_id).is_encoder_decoder:
        pronouns_without_token(trace, offers=offers)


def is_as_trained(trace: AttentionTrace) -> bool:
    """Whether the model saw of this sentence what it saw in training: a window wider than the sentence hides nothing.

    A mask that isn't known is taken for bidirectional. In an encoder–decoder only the decoder's self-attention has one.
    """
    model = load_any(trace.model_id)
    if model.is_encoder_decoder and (trace.kind == "cross" or trace.hidden is None):
        return True
    padding = torch.tensor(trace.tokenized.is_padding)
    own, here = model.default_mask, trace.mask
    return torch.equal(here.allowed(trace.n_tokens, padding), own.allowed(trace.n_tokens, padding))


def _outside_its_training(model: AttentionModel | EncoderDecoderModel) -> str:
    """What to say when a model runs under a mask that it was not trained under."""
    if model.default_mask == Mask.bidirectional() and model.entry.source != "trained here":
        return _("This model was trained without this mask. The maps are what it computes, outside its training.")
    said = _("This model was trained under the mask {mask}. The maps are what it computes, outside its training.")
    return said.format(mask=mask_choice.spelled(model.default_mask))


def in_repetition(n: int, length: int, mask: str, previous: float, induction: float) -> str:
    """What a head does in random tokens that stand twice, as `analysis.maps.induction` measures it."""
    said = _(
        "In {n} sequences of {length} random tokens, each twice in a row: {previous:.2f} of the weight on the token "
        "before, {induction:.2f} on the one that came after the same token earlier (induction; Olsson et al. 2022)."
    ).format(n=n, length=length, previous=previous, induction=induction)
    if parse_mask(mask).hides_later_tokens:
        return said
    return said + " " + _("Without a causal mask the next token is in sight anyway: there this is no prediction.")


def how_to_read() -> None:
    """The explanation behind the picture."""
    st.markdown(
        _(
            "- A **row** is a token as the *query*: it looks. A **column** is a token as the *key*: it is looked at.\n"
            "- A cell's colour is the weight from 0 to 1 that the query gives to the key. Each row sums to 1.\n"
            "- **Hatched grey** cells are masked: that query may not look at that key. This is not a weight of 0.\n"
            "- Heads are named layer-head, counted from 1: 4-2 is the second head of layer 4.\n"
            "- Much weight on a special token, or on the first one, often means that the head has nothing to do here.\n"
            "- A weight says where the head looks, not why, nor that the answer depends on it."
        )
    )
