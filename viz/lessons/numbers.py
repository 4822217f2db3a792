"""Pictures of lessons that are bars and points: of tokens, of the parts of a block, of layers, of a whole model."""

import numpy as np
import plotly.graph_objects as go

from analysis.blocks.ledger import Ledger
from analysis.lessons.answer import Answer
from analysis.lessons.answers.block import Boxes, OfTokens
from viz.block import bars, lines
from viz.cost import ledger_figure, table_3_figure
from viz.lessons.pictures import picture
from viz.theme import Translate

HEIGHT = 300


@picture("of_tokens")
def of_tokens(answer: Answer, t: Translate) -> go.Figure:
    """A number of each token as bars, or several as points; the token asked about is marked."""
    shown: OfTokens = answer.shown
    if len(shown.series) > 1:
        return lines(shown.series, answer.labels, selected=shown.selected, height=HEIGHT)
    name, values = shown.series[0]
    return bars(values, answer.labels, title=name, selected=shown.selected, height=HEIGHT)


@picture("over_layers")
def over_layers(answer: Answer, t: Translate) -> go.Figure:
    """A length after each layer."""
    layers = [str(layer) for layer in range(1, len(answer.shown) + 1)]
    return bars(answer.shown, layers, title="‖x‖", x_title=t("layer"), selected=len(layers) - 1, height=HEIGHT)


@picture("boxes")
def boxes(answer: Answer, t: Translate) -> go.Figure:
    """How long the vectors are after each part of a block, from left to right as it runs them."""
    shown: Boxes = answer.shown
    names = {
        "input": "x",
        "attention": t("attention"),
        "attention_sum": "+",
        "attention_norm": "LayerNorm",
        "ffn": "FFN",
        "ffn_sum": "+",
        "ffn_norm": "LayerNorm",
    }
    labels, title = [names[key] for key in shown.keys], t("mean length after each part")
    return bars(np.array(shown.lengths), labels, title=title, height=HEIGHT)


@picture("table_3")
def table_3(answer: Answer, t: Translate) -> go.Figure:
    """The paper's BLEU by number of heads."""
    return table_3_figure(height=HEIGHT, t=t)


@picture("ledger")
def parts(answer: Answer, t: Translate) -> go.Figure:
    """How a model's parameters divide."""
    shown: Ledger = answer.shown
    names = {
        "tokens": t("token embeddings"),
        "positions": t("position embeddings"),
        "types": t("token type embeddings"),
        "embedding_norm": t("LayerNorm of the embeddings"),
        "attention": t("multi-head attention"),
        "qk_norm": t("norms of q and k"),
        "ffn": "FFN",
        "norms": t("LayerNorms of a block"),
        "final_norm": t("last LayerNorm"),
        "output": t("output matrix"),
        "pooler": t("pooler"),
    }
    return ledger_figure(shown, names, height=60 + 30 * len(shown.lines), t=t)
