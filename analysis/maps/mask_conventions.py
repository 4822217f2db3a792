"""How other libraries write the same mask. Each line is checked against the library where it is installed.

The code of a line starts from our `allowed` (N, N) or from `is_padding` (B, N), both boolean, and the test runs it as
it stands. What libraries do with a row that may attend to nothing differs most.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Convention:
    """One way to hand a mask over.

    Attributes:
        library: its name, with the place where the mask goes.
        code: an expression that turns `allowed` or `is_padding` into what the library takes; "" when there is none.
        visible: the value that lets the query look.
        hidden: the value that doesn't.
        empty_row: what becomes of a row in which everything is hidden.
        source: how we know: "test" = run against the installed library; otherwise where it is written.
    """

    library: str
    code: str
    visible: str
    hidden: str
    empty_row: str
    source: str


CONVENTIONS = (
    Convention("Headwork", "allowed", "True", "False", "weights 0", "test"),
    Convention("torch SDPA (scaled_dot_product_attention), attn_mask", "allowed", "True", "False", "output 0", "test"),
    Convention(
        "torch SDPA, attn_mask (float, added)",
        "torch.zeros(N, N).masked_fill(~allowed, -torch.inf)",
        "0.0",
        "-inf",
        "output 0",
        "test",
    ),
    Convention("torch nn.MultiheadAttention, attn_mask", "~allowed", "False", "True", "weights NaN", "test"),
    Convention("torch nn.MultiheadAttention, key_padding_mask", "is_padding", "False", "True", "weights NaN", "test"),
    Convention(
        "transformers BERT, attention_mask (B, N): padding only",
        "(~is_padding).long()",
        "1",
        "0",
        "weights 1/N",
        "test",
    ),
    Convention(
        "transformers BERT (eager), attention_mask (B, 1, N, N), added",
        "torch.zeros(1, 1, N, N).masked_fill(~allowed, torch.finfo(torch.float32).min)",
        "0.0",
        "-3.4e38",
        "weights 1/N",
        "test",
    ),
    Convention(
        "The Annotated Transformer, mask", "allowed", "True", "False", "weights 1/N", "the_annotated_transformer.py"
    ),
    Convention("LLMs-from-scratch, mask", "torch.ones(N, N).triu(diagonal=1)", "0", "1", "weights NaN", "ch03.py"),
)
