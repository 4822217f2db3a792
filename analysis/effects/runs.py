"""Runs of prompts of one length, whole or from any layer on, with a part of a layer replaced.

Whatever is switched off in a layer, the layers before it give what they gave: their output is kept and not computed
again. Within the layer, a head's output can be taken out of the sum that W_o makes, so that attention is not computed
again either. After the last layer only the last token is read, so there only that token is run. Tokens with which all
prompts begin, under a mask that lets none of them see a later one, run once for all prompts. All of this is exact.

Shape letters: see model.attention; B prompts, each of N tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from model.attention import AttentionSteps
from model.blocks import BlockSteps, TransformerBlock
from model.cache import LayerCache
from model.masks import Mask
from model.rotary import Rotation, rotate
from model.transformer import Transformer, refuse_overflow

Off = Literal["zero", "mean", "position"]
OFF: tuple[Off, ...] = get_args(Off)
ROWS_AT_ONCE = 512  # tokens in one product: more run no faster, since activations then leave the processor's cache


class Stopped(Exception):
    """The run was to stop."""


@dataclass(frozen=True, eq=False)
class Whole:
    """What one run of B prompts made, nothing replaced. Lists have an entry a layer.

    Attributes:
        states: the input of each layer (B, N, d_model), and the last layer's output.
        mixed: the input of W_o (B, N, h·d_k): head i's output in columns i·d_k … (i+1)·d_k − 1.
        attended: the output of W_o (B, N, d_model).
        ffn: the FFN's output (B, N, d_model); 0 where a block has none.
        looks: the attention of the last token, (L, B, h, N).
        hidden: (B, N, d_model), after the final norm.
    """

    states: list[Tensor]
    mixed: list[Tensor]
    attended: list[Tensor]
    ffn: list[Tensor]
    looks: Tensor
    hidden: Tensor


@dataclass(frozen=True, eq=False)
class Replacement:
    """What stands in for a part that is off: (1, …) the same everywhere, or (N, …) by position from the start.

    Attributes:
        mixed: for the heads, L of (1 or N, h·d_k); of another run, (B, N, h·d_k).
        ffn: L of (1 or N, d_model); likewise.
    """

    mixed: list[Tensor]
    ffn: list[Tensor]

    def cut(self, n_tokens: int) -> Replacement:
        """For prompts of so many tokens."""
        return Replacement([each[:n_tokens] for each in self.mixed], [each[:n_tokens] for each in self.ffn])


class Runner:
    """Runs of B prompts of one length through a model, under a mask. Nothing in the model is changed.

    Args:
        transformer: in eval mode.
        ids: (B, N).
        mask: who may attend to whom; the layers' own windows are laid over it.
        last_only: the hidden state of the last token is all that is asked for, as in a prediction.
        stop: once it is set, runs end with `Stopped` before their next layer.
        share: whether tokens with which all prompts begin may run once; not where something differs between prompts
            there that isn't in their tokens.
    """

    def __init__(
        self,
        transformer: Transformer,
        ids: Tensor,
        mask: Mask,
        *,
        last_only: bool = True,
        stop: threading.Event | None = None,
        share: bool = True,
    ) -> None:
        self.stop = stop
        self.transformer = transformer
        self.blocks: Sequence[TransformerBlock] = list(transformer.blocks)  # type: ignore[arg-type]
        self.ids = ids
        self.last_only = last_only
        allowed = mask.allowed(ids.size(1))
        self.masks = transformer.layer_masks(None if bool(allowed.all()) else allowed, ids.size(1))
        self.n_shared = _n_shared(ids, allowed) if share and last_only else 0
        self.x = transformer.embeddings(ids)  # (B, N, d_model)
        self.rotation = transformer.rotation(None, self.x)
        self.bias = transformer.position_bias(None, self.x, ids.size(1))  # (h, N, N), where positions add to scores

    def whole(self) -> Whole:
        """The run with everything on."""
        x, states, mixed, attended, ffn, looks = self.x, [self.x], [], [], [], []
        for layer, block in enumerate(self.blocks):
            steps = BlockSteps()
            x, attention = block(x, self.masks[layer], rotation=self.rotation, bias=self.bias, steps=steps)
            states.append(x)
            mixed.append(_there(steps.attention.concatenated))
            attended.append(_there(steps.attention.output))
            ffn.append(torch.zeros_like(x) if steps.ffn.output is None else steps.ffn.output)
            looks.append(attention[:, :, -1].clone())  # (B, h, N): a view would keep the whole map
        hidden = self.normed(x)
        refuse_overflow(hidden)
        return Whole(states, mixed, attended, ffn, torch.stack(looks), hidden)

    def from_layer(self, x: Tensor, first: int) -> Tensor:
        """The layers from `first` on, counted from 0, and the final norm.

        Args:
            x: (B', N, d_model), the input of that layer; after the last layer also (B', 1, d_model).
            first: L = only the final norm.

        Returns:
            (B', N, d_model), or (B', 1, d_model) of the last token where that is all that is asked for.
        """
        last, n = len(self.blocks) - 1, self.n_shared
        start = (
            x[:: len(self.ids), :n] if n and first < last else None
        )  # (B' / B, n, d_model), of each run's first prompt
        x = x if start is None else x[:, n:]
        for layer in range(first, len(self.blocks)):
            if self.stop is not None and self.stop.is_set():
                raise Stopped
            if self.last_only and layer == last:
                x = x if start is None else torch.cat((start.repeat_interleave(len(self.ids), dim=0), x), dim=1)
                x = self._last_token(x)
            elif start is None:
                x, _ = self.blocks[layer](x, self.masks[layer], rotation=self.rotation, bias=self.bias)
            else:
                start, x = self._after_shared(layer, start, x)
        return self.normed(x[:, -1:] if self.last_only else x)

    def normed(self, x: Tensor) -> Tensor:
        """After the final norm, where there is one."""
        return x if self.transformer.final_norm is None else self.transformer.final_norm(x)

    def heads_off(self, whole: Whole, layer: int, heads: Sequence[int], instead: Replacement) -> Tensor:
        """Each of these heads of a layer off alone.

        Returns:
            (len(heads), B, N or 1, d_model): hidden states, as `from_layer` returns them.
        """
        x = whole.states[layer]
        done = []
        at_once = max(1, ROWS_AT_ONCE // (x.size(0) * x.size(1)))
        for start in range(0, len(heads), at_once):
            some = heads[start : start + at_once]
            outputs = [
                self._without(layer, [head], whole.mixed[layer], whole.attended[layer], instead) for head in some
            ]
            hidden = self.after_attention(x.repeat(len(some), 1, 1), torch.cat(outputs), layer)
            done.append(hidden.view(len(some), x.size(0), *hidden.shape[1:]))
        return torch.cat(done)

    def several_off(self, heads: Mapping[int, Sequence[int]], instead: Replacement) -> Tensor:
        """Heads of any layers off together, {layer: heads}: hidden states, as `from_layer` returns them."""
        x = self.x
        for layer, block in enumerate(self.blocks):
            if not heads.get(layer):
                x, _ = block(x, self.masks[layer], rotation=self.rotation, bias=self.bias)
                continue
            steps = AttentionSteps()
            attention_input = block.attention_norm(x) if block.norm == "pre" else x
            attended, _ = block.attention(
                attention_input, self.masks[layer], rotation=self.rotation, bias=self.bias, steps=steps
            )
            attended = self._without(layer, heads[layer], _there(steps.concatenated), attended, instead)
            x = finish(block, x, attended)
        return self.normed(x[:, -1:] if self.last_only else x)

    def _without(
        self, layer: int, heads: Sequence[int], mixed: Tensor, attended: Tensor, instead: Replacement
    ) -> Tensor:
        """The output of W_o when these heads' slices of its input are replaced: (B, N, d_model)."""
        attention = self.blocks[layer].attention
        weight: Any = attention.W_o.weight  # (d_model, h·d_k)
        for head in heads:
            columns = slice(head * attention.d_k, (head + 1) * attention.d_k)
            change = instead.mixed[layer][..., columns] - mixed[..., columns]  # (B, N, d_k)
            attended = attended + change @ weight[:, columns].T
        return attended

    def ffn_off(self, whole: Whole, layer: int, instead: Replacement) -> Tensor:
        """The layer's FFN off: (B, N or 1, d_model)."""
        return self.after_attention(whole.states[layer], whole.attended[layer], layer, ffn=instead.ffn[layer])

    def layer_off(self, whole: Whole, layer: int, instead: Replacement, *, is_zero: bool) -> Tensor:
        """A whole layer off, attention with W_o's bias and FFN: (B, N or 1, d_model). In pre-LN its input goes on."""
        attended = torch.zeros_like(whole.attended[layer])
        if not is_zero:
            attended = attended + self.blocks[layer].attention.W_o(instead.mixed[layer])
        return self.after_attention(whole.states[layer], attended, layer, ffn=instead.ffn[layer])

    def after_attention(self, x: Tensor, attended: Tensor, layer: int, ffn: Tensor | None = None) -> Tensor:
        """What follows from a layer's input x and its attention's output; ffn in place of the FFN's.

        Returns:
            Hidden states, as `from_layer` returns them.
        """
        if self.last_only and layer == len(self.blocks) - 1:
            x, attended = x[:, -1:], attended[:, -1:]
            ffn = None if ffn is None else ffn[-1:]
        return self.from_layer(finish(self.blocks[layer], x, attended, ffn), layer + 1)

    def _after_shared(self, layer: int, start: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """A layer for the tokens that all prompts share, once, and for the others, which meet their keys and values.

        Args:
            layer: from 0.
            start: (B' / B, n, d_model).
            x: (B', N − n, d_model), B prompts of each run in a row.
        """
        block, mask, n = self.blocks[layer], self.masks[layer], self.n_shared
        own, given = LayerCache(), LayerCache()
        masks = (None, None) if mask is None else (mask[:n, :n], mask[n:])
        turns: tuple[Rotation | None, Rotation | None] = (None, None)
        if self.rotation is not None:
            cosines, sines = self.rotation  # (N, width)
            turns = (cosines[:n], sines[:n]), (cosines[n:], sines[n:])
        biases = (None, None) if self.bias is None else (self.bias[..., :n, :n], self.bias[..., n:, :])
        start, _ = block(start, masks[0], rotation=turns[0], bias=biases[0], cache=own)
        given.append(*(_there(each).repeat_interleave(len(self.ids), dim=0) for each in (own.keys, own.values)))
        x, _ = block(x, masks[1], rotation=turns[1], bias=biases[1], cache=given)
        return start, x

    def _last_token(self, x: Tensor) -> Tensor:
        """The last layer for the last token alone, which meets the keys and values of all: (B', 1, d_model)."""
        if x.size(1) == 1:
            return self.blocks[-1](x, self.masks[-1], rotation=self.rotation, bias=self.bias)[0]  # type: ignore[no-any-return]
        block, mask = self.blocks[-1], self.masks[-1]
        attention = block.attention
        earlier = x[:, :-1]
        if block.norm == "pre":
            earlier = block.attention_norm(earlier)
        keys, values = attention.split_heads(attention.W_k(earlier)), attention.split_heads(attention.W_v(earlier))
        if attention.has_qk_norm:
            keys = attention.k_norm(keys)
        of_last = None
        if self.rotation is not None:
            cosines, sines = self.rotation  # (N, width)
            keys = rotate(keys, (cosines[:-1], sines[:-1]))
            of_last = (cosines[-1:], sines[-1:])
        cache = LayerCache()
        cache.append(keys, values)
        bias = None if self.bias is None else self.bias[..., -1:, :]
        x, _ = block(x[:, -1:], None if mask is None else mask[-1:], rotation=of_last, bias=bias, cache=cache)
        return x


def finish(block: TransformerBlock, x: Tensor, attended: Tensor, ffn: Tensor | None = None) -> Tensor:
    """A block after its attention, as TransformerBlock.forward has it: residuals, norms and FFN.

    Args:
        block: in eval mode.
        x: the block's input (B, N, d_model).
        attended: the output of its W_o, likewise.
        ffn: taken for the FFN's output, where given.
    """
    post = block.norm == "post"
    middle = block.attention_norm(x + attended) if post else x + attended
    if not block.d_ff:
        return middle
    if ffn is None:
        branch = x if block.parallel else middle
        ffn = block.ffn(block.ffn_norm(branch) if block.norm == "pre" else branch)
    return block.ffn_norm(middle + ffn) if post else middle + ffn


def _n_shared(ids: Tensor, allowed: Tensor) -> int:
    """How many tokens all prompts (B, N) begin with, none of which sees a later one; never the last token."""
    if len(ids) < 2:
        return 0
    same = (ids == ids[0]).all(dim=0)[:-1].long().cumprod(dim=0)  # (N − 1,): 1 as long as all are the same
    n = int(same.sum())
    while n and bool(allowed[:n, n:].any()):
        n -= 1
    return n


def _there(tensor: Tensor | None) -> Tensor:
    assert tensor is not None  # every run keeps it
    return tensor
