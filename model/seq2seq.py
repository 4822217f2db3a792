"""From a source and a target to the maps of every head: a loaded encoder–decoder, ready to be asked.

Shape letters: see model.attention; N_q target tokens, N_k source tokens.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.decoder_block import DecoderBlock
from model.encoder_decoder import EncoderDecoder, EncoderDecoderConfig, EncoderDecoderOutput
from model.entry import Entry, Named
from model.errors import HeadworkError, shown
from model.masks import Mask, MaskLike
from model.packed import PackedLinear, pack
from model.prediction import Prediction
from model.tokenizers.targets import started, without
from model.tokenizers.tokens import Tokenizer, Tokens, grown
from model.trace import AttentionTrace, Traces
from model.tracing import MOST_TOKENS, check_ids
from model.transformer import Record
from model.writing import WritingRules, write_greedily

MOST_WRITTEN = 64  # tokens, where nobody says another number


class EncoderDecoderModel(Named):
    """An encoder–decoder ready to be asked: tokenizer, both parts, where they come from. Safe to share by threads.

    Args:
        rules: how a target begins and ends.
        target_tokenizer: of the target, where it isn't the source's.
        packed: packs the weights for oneDNN where that is faster (model.packed).
    """

    is_encoder_decoder = True

    def __init__(
        self,
        entry: Entry,
        transformer: EncoderDecoder,
        tokenizer: Tokenizer,
        *,
        rules: WritingRules,
        sha256: str | None,
        target_tokenizer: Tokenizer | None = None,
        packed: bool = True,
    ) -> None:
        self.entry = entry
        self.sha256 = sha256
        self.rules = rules
        self.tokenizer = tokenizer
        self.target_tokenizer = target_tokenizer or tokenizer
        self.transformer = transformer.eval().requires_grad_(False)
        size = transformer.config.decoder.vocab_size
        first = max(rules.start, rules.first or 0)
        if first >= size:
            raise HeadworkError(
                "A target starts with the token {id}, but the model has vectors for ids below {vocab_size}. Config and "
                "weights don't belong together.",
                id=shown(first),
                vocab_size=size,
            )
        self.is_packed = packed and pack_parts(self.transformer)

    @property
    def config(self) -> EncoderDecoderConfig:
        """Sizes and choices of both parts."""
        return self.transformer.config

    @property
    def has_output(self) -> bool:
        """Whether it predicts the next token of a target, and so can write."""
        return self.config.decoder.output != "none"

    @property
    def default_mask(self) -> Mask:
        """The mask of the decoder's self-attention: causal, as it was trained."""
        return Mask.causal()

    @property
    def token_limit(self) -> int:
        """Longest source in tokens: the model's own limit, at most 512."""
        return min(self.config.encoder.max_tokens, MOST_TOKENS)

    @property
    def target_limit(self) -> int:
        """Longest target in tokens, the start among them."""
        return min(self.config.decoder.max_tokens, MOST_TOKENS)

    def trace(
        self,
        source: str,
        target: str | None = None,
        mask: MaskLike | None = None,
        *,
        source_mask: MaskLike = "bidirectional",
    ) -> Traces:
        """Every head's map of a source and a target.

        Args:
            source: any text; what exceeds the token limit is cut (`Tokens.n_cut`).
            target: likewise; None = the model writes it, at most MOST_WRITTEN tokens, always the most probable one.
            mask: of the decoder's self-attention; None = causal. It doesn't change what the model writes.
            source_mask: of the encoder. Padding of the source is hidden from the decoder too.

        Raises:
            HeadworkError: an empty text, or none; a mask that doesn't fit; a model that can't write asked to.
        """
        mask, source_mask = Mask.causal() if mask is None else Mask.of(mask), Mask.of(source_mask)
        sources, targets, output = self.run(source, target, mask, source_mask=source_mask)
        visible, hidden = _visible(sources, source_mask), output.hidden[0].numpy()
        cross_mask = Mask.bidirectional()
        if source_mask.padded_length is not None:
            cross_mask = Mask.padding(source_mask.padded_length)
        crossing = np.broadcast_to(~np.array(sources.is_padding), (len(targets), len(sources))).copy()
        encoder = self._trace(sources, source_mask, output.encoder.attention, visible)
        decoder = self._trace(targets, mask, output.decoder.attention, _visible(targets, mask), hidden)
        cross = self._trace(targets, cross_mask, output.cross, crossing, hidden)
        return Traces(encoder, decoder, replace(cross, context=sources), is_written=target is None)

    def _trace(
        self,
        tokens: Tokens,
        mask: Mask,
        maps: Tensor,
        allowed: NDArray[np.bool_],
        hidden: NDArray[np.float32] | None = None,
    ) -> AttentionTrace:
        attention = maps[:, 0].numpy()  # (L, h, N, N)
        for array in (attention, allowed) if hidden is None else (attention, allowed, hidden):
            array.flags.writeable = False
        return AttentionTrace(
            model_id=self.id,
            model_label=self.label,
            sha256=self.sha256,
            trained=self.trained,
            mask=mask,
            tokenized=tokens,
            attention=attention,
            allowed=allowed,
            hidden=hidden,
            model=self,
        )

    @torch.inference_mode()
    def run(
        self,
        source: str,
        target: str | None = None,
        mask: MaskLike | None = None,
        *,
        source_mask: MaskLike = "bidirectional",
        record: Record = "maps",
    ) -> tuple[Tokens, Tokens, EncoderDecoderOutput]:
        """The tokens of both texts, and everything that one run made of them, with B = 1. Arguments as in `trace`.

        Args:
            source: as in `trace`, likewise target, mask, source_mask.
            target: see there.
            mask: see there.
            source_mask: see there.
            record: see Transformer.forward.
        """
        mask, source_mask = Mask.causal() if mask is None else Mask.of(mask), Mask.of(source_mask)
        if target is None and mask.padded_length is not None:
            raise HeadworkError("Only a target that is typed can be padded. Type one, or choose another mask.")
        sources = self.source_tokens(source, source_mask)
        allowed = torch.from_numpy(_visible(sources, source_mask))
        source_ids = torch.tensor([sources.ids])
        encoded = self.transformer.encoder(source_ids, allowed, record=record)
        seen = ~torch.tensor(sources.is_padding)[None, None, None]  # (1, 1, 1, N_k)
        if target is None:
            targets = self._written(encoded.hidden, MOST_WRITTEN, seen)
        else:
            targets = self.target_tokens(target, mask)
        target_ids = torch.tensor([targets.ids])
        self.transformer.check_size(source_ids, target_ids, record)
        decoded = self.transformer.decoder(
            target_ids, encoded.hidden, torch.from_numpy(_visible(targets, mask)), seen, record=record
        )
        return sources, targets, EncoderDecoderOutput(encoded, decoded)

    def source_tokens(self, source: str, mask: Mask | None = None) -> Tokens:
        """The tokens of a source, padded where the mask of the encoder asks for it."""
        pad_to = None if mask is None else mask.padded_length
        tokens = self.tokenizer.encode(_text(source, "source"), limit=self.token_limit, pad_to=pad_to)
        check_ids(tokens, self.config.encoder.vocab_size)
        return tokens

    def target_tokens(self, target: str, mask: Mask | None = None) -> Tokens:
        """The tokens of a target as the decoder reads them: the start before them, without the end after them.

        So each row of a map predicts the token of the next.
        """
        text, limit = _text(target, "target"), self.target_limit
        pad_to = None if mask is None else mask.padded_length
        tokens = self.target_tokenizer.encode(text, limit=limit, pad_to=pad_to)
        last = len(tokens) - 1 - sum(tokens.is_padding)
        if tokens.ids[last] in self.rules.ends and tokens.spans[last] == (0, 0):
            tokens = without(tokens, last)
        elif len(tokens) in (limit, pad_to):  # nothing goes, so there is no room yet for the start
            shorter = None if pad_to is None else pad_to - 1
            tokens = self.target_tokenizer.encode(text, limit=limit - 1, pad_to=shorter)
        check_ids(tokens, self.config.decoder.vocab_size)
        return self._started(tokens)

    def _started(self, tokens: Tokens | None = None) -> Tokens:
        """The tokens after the one that every target starts with; None = that one alone."""
        return started(self.rules.start, self.target_tokenizer.label_of(self.rules.start), tokens)

    def _written(self, context: Tensor, most: int, seen: Tensor | None = None) -> Tokens:
        """The tokens that the decoder reads when it has written a target itself: the start, then all but the end."""
        most = min(most, self.target_limit - 1)
        ids = write_greedily(self.transformer, context, self.rules, most, seen)
        ids = ids[:-1] if ids[-1] in self.rules.ends else ids
        tokenizer = self.target_tokenizer
        text = tokenizer.text_of([id_ for id_ in ids if not tokenizer.is_special(id_)]).strip()
        with contextlib.suppress(HeadworkError):  # nobody may type it: nothing, or control characters only
            read = self.target_tokens(text)
            if read.ids == (self.rules.start, *ids):
                return read  # as it would be if it were typed
        tokens, told = self._started(), []
        for id_ in ids:
            is_special = tokenizer.is_special(id_)
            told += [] if is_special else [id_]
            tokens = grown(tokens, id_, tokenizer.label_of(id_), tokenizer.text_of(told), is_special=is_special)
        return tokens

    def write(self, source: str, most: int = MOST_WRITTEN) -> str:
        """The target that the model writes for a source: always the most probable token, at most so many.

        Raises:
            HeadworkError: an empty source; a number below 1; a model without an output matrix.
        """
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise HeadworkError("A number of tokens to write is 1 or more, not {n}.", n=shown(most))
        with torch.inference_mode():
            tokens = self.source_tokens(source)
            hidden = self.transformer.encoder(torch.tensor([tokens.ids])).hidden
            return self._written(hidden, most).text.strip()

    def prediction(self, trace: AttentionTrace) -> Prediction:
        """What this model expects after each target token of a decoder's or cross-attention's trace that it made.

        Raises:
            HeadworkError: it has no output matrix, or the trace has no hidden states: the encoder's never has.
        """
        self.transformer.output_matrix()
        if trace.hidden is None:
            raise HeadworkError(
                "This trace has no hidden states, off which the next token is read. Of an encoder–decoder, ask the "
                "decoder's maps for what comes next."
            )
        tokens = trace.tokenized
        return Prediction(trace.hidden, tokens.ids, self.transformer, self.target_tokenizer, sum(tokens.is_padding))


def pack_parts(transformer: EncoderDecoder) -> bool:
    """Packs for oneDNN, where that is faster, what reads whole texts: the encoder, and the keys and values made of it.

    The rest of the decoder writes one token at a time, where packing can cost more than it saves (model.packed).
    """
    if not pack(transformer.encoder.blocks, only_if_faster=True):
        return False
    for block in transformer.decoder.blocks:
        assert isinstance(block, DecoderBlock)
        for name in ("W_k", "W_v"):
            setattr(block.cross_attention, name, PackedLinear(getattr(block.cross_attention, name)))
    return True


def _text(text: object, what: Literal["source", "target"]) -> str:
    """A text as it is. Raises HeadworkError for what is none, and for an empty one."""
    if not isinstance(text, str):
        raise HeadworkError(
            "An encoder–decoder reads one source text and one target text; this is {text}.", text=shown(text)
        )
    if not text.strip():
        if what == "source":
            raise HeadworkError("There is no source to read. Type a sentence.")
        raise HeadworkError("There is no target to read. Type one, or let the model write it.")
    return text


def _visible(tokens: Tokens, mask: Mask) -> NDArray[np.bool_]:
    """(N, N), True = may attend."""
    visible: NDArray[np.bool_] = mask.allowed(len(tokens), torch.tensor(tokens.is_padding)).numpy()
    return visible
