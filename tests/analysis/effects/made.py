"""Questions and models that the tests of effects share."""

import torch

from analysis.effects.questions import EncodedQuestion, Question
from model.entry import Entry
from model.tracing import AttentionModel
from model.transformer import Transformer, TransformerConfig
from tests.models import byte_level

A, B = 3.0, 0.9  # what the two heads that do something multiply by


def question(ids, right, wrong, places=()):
    """A question in tokens; its texts say nothing."""
    return EncodedQuestion(Question("p", "r", "w"), tuple(ids), ("x",) * len(ids), right, wrong, places)


def by_hand():
    """Two layers of two heads, attention only, of four tokens: every head looks at all tokens alike.

    1-1 writes A times the mean of the tokens seen so far into the four columns that the logits are read off; 2-1 reads
    these, and writes B times their mean over the tokens there too. 1-2 and 2-2 write nothing.
    """
    config = TransformerConfig(
        vocab_size=4,
        d_model=8,
        num_heads=2,
        num_layers=2,
        d_ff=0,
        max_tokens=16,
        norm="none",
        positions="none",
        embedding_norm=False,
        bias=False,
        output="own",
    )
    transformer = Transformer(config).double()
    one = torch.eye(4, dtype=torch.float64)
    with torch.no_grad():
        for parameter in transformer.parameters():
            parameter.zero_()
        transformer.embeddings.token.weight[:, :4] = one
        transformer.output.weight[:, 4:] = one
        first, second = (block.attention for block in transformer.blocks)
        first.W_v.weight[:4, :4], first.W_o.weight[4:, :4] = one, A * one
        second.W_v.weight[:4, 4:], second.W_o.weight[4:, :4] = one, B * one
    entry = Entry("by-hand", "By hand", "Two layers.", "folder", trained_mask="causal")
    return AttentionModel(entry, transformer, byte_level(), sha256=None, packed=False)
