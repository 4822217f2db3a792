"""A decoder writes on, token by token, and every new token adds a row to its maps.

Earlier tokens are not run again: their keys and values come from the cache (model.cache), and their rows stay as they
were. Shape letters: see model.attention.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from model.cache import KeyValueCache
from model.errors import HeadworkError, shown
from model.masks import Mask, MaskLike
from model.prediction import NextToken, next_token
from model.seeds import mixed_seed
from model.tokenizers.tokens import Tokens, grown
from model.trace import AttentionTrace
from model.tracing import AttentionModel


class Generation:
    """A text that a decoder goes on with. `step` writes a token, `back` takes one back.

    Each step has a random generator of its own, made from the seed and the token's place, so that a step taken back and
    taken again writes the same token.

    Args:
        model: one with an output matrix.
        text: the prompt.
        mask: under which it reads; None = the model's own. Only a causal one lets earlier rows stay as they are.
        temperature: 0 = always the most probable token; above, logits / temperature are drawn from.
        seed: of the draws.

    Raises:
        HeadworkError: no text, a model without an output matrix, a mask that isn't causal, a temperature below 0.
    """

    def __init__(
        self,
        model: AttentionModel,
        text: str,
        *,
        mask: MaskLike | None = None,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.mask = model.default_mask if mask is None else Mask.of(mask)
        check_settings(temperature, seed)
        if model.is_encoder_decoder:
            raise HeadworkError(
                "An encoder–decoder doesn't go on with a text, it writes a target for it: model.write(text)."
            )
        if not model.has_output:
            raise HeadworkError("This model has no output matrix, so it can't write. Choose a decoder.")
        check_mask(self.mask)
        self.model = model
        self.temperature = temperature
        self.seed = seed
        self.written: list[NextToken] = []
        self.cache = KeyValueCache(model.n_layers)
        self._states = [model.tokens(text)]  # of the prompt, then after each token written
        self._rows: list[NDArray[np.float32]] = []  # (L, h, N, N) of the prompt, then (L, h, 1, all tokens so far)
        self._hidden: list[torch.Tensor] = []  # (N, d_model) of the prompt, then (1, d_model)
        self._read(self.tokens.ids)

    @property
    def tokens(self) -> Tokens:
        """The prompt and what was written."""
        return self._states[-1]

    @property
    def n_prompt(self) -> int:
        """Tokens of the prompt."""
        return len(self._states[0])

    @property
    def ended(self) -> bool:
        """Whether the last token written is a mark of the model's, such as the end of the text."""
        return bool(self.written) and self.model.tokenizer.is_special(self.written[-1].id)

    @property
    def is_full(self) -> bool:
        """Whether the text has as many tokens as the model, or this app, reads."""
        return len(self.tokens) >= self.model.token_limit

    @torch.inference_mode()
    def _read(self, ids: tuple[int, ...]) -> None:
        """Runs the new tokens, which look at themselves and at what is in the cache."""
        before = self.cache.n_tokens
        allowed = self.mask.allowed(before + len(ids))[before:]  # (N, all tokens so far)
        output = self.model.transformer(torch.tensor([ids]), allowed, cache=self.cache)
        self._rows.append(output.attention[:, 0].numpy())
        self._hidden.append(output.hidden[0])

    @torch.inference_mode()
    def step(self) -> NextToken:
        """Writes one token.

        Raises:
            HeadworkError: the text is full.
        """
        if self.is_full:
            raise HeadworkError(
                "The text has {n} tokens, as many as can be read. Step back, or begin with a shorter text.",
                n=len(self.tokens),
            )
        logits = self.model.transformer.logits(self._hidden[-1][-1])  # (V,)
        probabilities = logits.softmax(-1)
        id_ = int(probabilities.argmax())
        if self.temperature > 0:
            # Divided after the largest is taken away, so that the smallest temperature doesn't overflow.
            weights = ((logits - logits.max()).double() / self.temperature).softmax(-1)
            generator = torch.Generator().manual_seed(mixed_seed(self.seed, len(self.written)))
            id_ = int(torch.multinomial(weights, 1, generator=generator))
        token = next_token(self.model.tokenizer, id_, float(probabilities[id_]))
        self._read((id_,))
        self.written.append(token)
        self._states.append(self._grown(token))
        return token

    def _grown(self, token: NextToken) -> Tokens:
        """The tokens with the one just written: as the text would be read, where that gives the same tokens."""
        tokenizer, ids = self.model.tokenizer, (*self.tokens.ids, token.id)
        text = self._states[0].text + tokenizer.text_of([written.id for written in self.written])
        read = tokenizer.encode(text, limit=self.model.token_limit)
        if read.ids == ids:
            return read
        return grown(self.tokens, token.id, token.label, text, is_special=tokenizer.is_special(token.id))

    def back(self) -> None:
        """Takes the last token back; without one, nothing happens."""
        if self.written:
            for of_steps in (self.written, self._states, self._rows, self._hidden):
                of_steps.pop()
            self.cache.cut(len(self.tokens))

    def __iter__(self) -> Iterator[NextToken]:
        """Writes until the text ends or is full."""
        while not self.ended and not self.is_full:
            yield self.step()

    def trace(self) -> AttentionTrace:
        """The maps of the text so far, put together from the rows that each step made."""
        n = len(self.tokens)
        attention = np.zeros((self.model.n_layers, self.model.n_heads, n, n), dtype=np.float32)
        start = 0
        for rows in self._rows:
            attention[:, :, start : start + rows.shape[2], : rows.shape[3]] = rows
            start += rows.shape[2]
        return self.model.as_trace(self.tokens, self.mask, attention, torch.cat(self._hidden).numpy())


def generate(
    model: AttentionModel,
    text: str,
    n: int,
    *,
    mask: MaskLike | None = None,
    temperature: float = 0.0,
    seed: int = 0,
) -> Generation:
    """A text with up to n tokens written on; fewer where the text ends or is full. Arguments as of `Generation`.

    Raises:
        HeadworkError: also for n below 0.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise HeadworkError("A number of tokens to write is 0 or more, not {n}.", n=shown(n))
    generation = Generation(model, text, mask=mask, temperature=temperature, seed=seed)
    for _ in zip(range(n), generation, strict=False):
        pass
    return generation


def check_mask(mask: Mask) -> None:
    """Raises HeadworkError unless earlier rows stay as they are when a token is added under this mask."""
    if not mask.is_causal or mask.custom is not None or mask.padded_length is not None:
        raise HeadworkError(
            "Under the mask {mask} a new token would change the rows before it, so the text can't be written on "
            "row by row. Choose the mask causal.",
            mask=str(mask),
        )


def check_settings(temperature: float, seed: int) -> None:
    """Raises HeadworkError unless the temperature is a number from 0 on and the seed is a whole number from 0 on."""
    is_number = isinstance(temperature, int | float) and not isinstance(temperature, bool)
    if not is_number or not math.isfinite(temperature) or temperature < 0:
        raise HeadworkError(
            "The temperature is {temperature}: it must be 0 (always the most probable token) or a number above 0.",
            temperature=shown(temperature),
        )
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise HeadworkError("The seed is {seed}: it must be a whole number from 0 to 4294967295.", seed=shown(seed))
