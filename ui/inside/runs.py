"""The forwards behind "Inside a block", kept up to a number of bytes for everybody.

A model runs once a sentence and mask; of another layer only that block runs again, of another head nothing.
"""

import os
from dataclasses import replace

import torch

from analysis.blocks.pair import Pair, run_pair
from analysis.blocks.record import Record, Stack, record_forward, record_layer, run_stack
from analysis.blocks.worked_examples import BOUNDS, LABELS, Sizes, check_sizes, sentence_example, worked_example
from model import AttentionModel, Mask
from model.tokenizers.toy import ToyTokenizer
from ui.frame.cache import ByteCache
from ui.frame.loading import load_model, named

MOST_BYTES = 192_000_000  # one layer at 512 tokens: 110 MB of the built-in model, 170 MB of BERT-base; 10 MB at 16
records = ByteCache(MOST_BYTES, at_once=os.cpu_count())  # each run takes up to 100 MB beside what is kept
pairs = ByteCache(MOST_BYTES // 12)  # 64 tokens of each text: 0.6 MB
stacks = ByteCache(MOST_BYTES // 3)  # at 512 tokens 23 MB of the built-in model, 57 MB of SmolLM2-135M


def example(sizes: Sizes, mask: Mask, layer: int) -> Record:
    """A worked example: three tokens with random x, as `analysis.blocks.worked_examples.example_code` makes them."""
    return records.get(("example", sizes, mask, layer), lambda: _example(sizes, mask, layer))


def sentence(text: str, n_tokens: int, sizes: Sizes, mask: Mask, layer: int) -> Record:
    """The first n_tokens tokens of a sentence through an untrained stack of the chosen sizes.

    Raises:
        HeadworkError: impossible sizes, no text, or a mask that doesn't fit.
    """
    check_sizes(sizes, n_tokens)
    question = (text, n_tokens, sizes, mask, layer)
    return records.get(("sentence", *question), lambda: _sentence(*question))


def trained(text: str, model_id: str, mask: Mask, layer: int) -> Record:
    """A sentence through a loaded model.

    Raises:
        HeadworkError: no text, a model that isn't here, or a mask that doesn't fit.
    """
    loaded = load_model(model_id)
    key = (text, named(model_id), mask)
    kept = records.get(("trained", *key, layer), lambda: _without_model(_trained(text, loaded, key, layer)))
    return replace(kept, stack=_of(kept.stack, loaded))


def pair(source: str, target: str) -> Pair:
    """Two texts through encoder only, decoder only, encoder and decoder, all of them untrained.

    Raises:
        HeadworkError: one of the texts is empty.
    """
    return pairs.get((source, target), lambda: run_pair(source, target))


@torch.inference_mode()
def _example(sizes: Sizes, mask: Mask, layer: int) -> Record:
    x, blocks = worked_example(sizes)
    allowed = mask.allowed(len(LABELS), torch.zeros(len(LABELS), dtype=torch.bool))
    return record_forward(blocks, x, allowed, LABELS, layer=layer)


@torch.inference_mode()
def _sentence(text: str, n_tokens: int, sizes: Sizes, mask: Mask, layer: int) -> Record:
    tokens = ToyTokenizer().encode(text, limit=min(n_tokens, BOUNDS["N"][1]), pad_to=mask.padded_length)
    x, blocks = sentence_example(torch.tensor([tokens.ids]), sizes)
    allowed = mask.allowed(len(tokens.ids), torch.tensor(tokens.is_padding))
    return record_forward(blocks, x, allowed, tokens.labels, layer=layer)


@torch.inference_mode()
def _trained(text: str, loaded: AttentionModel, key: tuple[str, str, Mask], layer: int) -> Record:
    mask = key[-1]
    tokens = loaded.tokens(text, mask)
    allowed = mask.allowed(len(tokens), torch.tensor(tokens.is_padding))

    def run() -> Stack:
        x = loaded.transformer.embeddings(torch.tensor([tokens.ids]), loaded.token_types(tokens))
        return replace(run_stack(loaded.transformer, x, allowed), transformer=None)

    return record_layer(_of(stacks.get(key, run), loaded), allowed, tokens.labels, layer=layer)


def _without_model(record: Record) -> Record:
    """As it is kept: with its block, but without the model, which may be let go before the record is."""
    return replace(record, stack=replace(record.stack, transformer=None))


def _of(stack: Stack, loaded: AttentionModel) -> Stack:
    return replace(stack, transformer=loaded.transformer)
