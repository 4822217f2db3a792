"""What "Inside a block" says about each step. Formulas are LaTeX and the same in every language."""

STAGE_NAMES = {
    "input": "1 x",
    "project": "2 Q, K, V",
    "split": "3 split",
    "scores": "4 QKᵀ",
    "scale": "5 ÷ √d_k",
    "mask": "6 + mask",
    "softmax": "7 softmax",
    "mix": "8 · V",
    "concat": "9 concat",
    "output": "10 W_o",
}
STAGES = {
    "input": (
        "The input x",
        "One row per token, d_model numbers in a row. Attention knows nothing else of the sentence.",
    ),
    "project": (
        "Queries, keys and values",
        "Three products make the queries, keys and values of all heads at once. The strips above the columns say "
        "which head they will belong to. There is no loop over heads.",
    ),
    "split": (
        "Split into heads",
        "Head i takes columns (i − 1)·d_k + 1 to i·d_k. No number changes; they are only regrouped.",
    ),
    "scores": (
        "How well each query fits each key",
        "Each cell is the dot product of one query (row) with one key (column), d_k products added up. Every head "
        "has a matrix of its own.",
    ),
    "scale": (
        "Divide by √d_k",
        "A sum of d_k products spreads about √d_k times as wide as one product. Without the division, a large "
        "d_k drives softmax towards all weight on one key, where gradients are tiny.",
    ),
    "mask": (
        "Add the mask",
        "Where the mask forbids a key, −∞ is added: its weight becomes exactly 0. Elsewhere 0 is added. Choose a mask "
        "in the sidebar.",
    ),
    "softmax": (
        "Softmax: the attention map",
        "Each row becomes weights from 0 to 1 that sum to 1. Row: the query that looks. Column: the key it looks at.",
    ),
    "mix": (
        "The weighted sum of the values",
        "Each query's row of weights mixes the rows of V. Here the numbers of one token enter another.",
    ),
    "concat": (
        "Concatenate the heads",
        "The heads stand side by side again: the split, undone.",
    ),
    "output": (
        "The output projection",
        "W_o reads the numbers of all heads, so every output number can depend on every head.",
    ),
}
NO_MASK = "The mask in the sidebar forbids nothing here, so M is 0 everywhere and no number changes."
RESHAPE_VIEWS = {"values": "the numbers", "places": "where they go", "wrong": "the wrong way"}

BOXES = {
    "input": (r"x \in \mathbb{R}^{N \times d_{model}}", "What enters the block: one row for each token."),
    "attention_norm": (
        r"\mathrm{LN}(x) = \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta",
        "Mean and standard deviation are taken over the features of one token: not over tokens, not over the batch.",
    ),
    "attention": (
        r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\,W^O",
        "Attention mixes between positions. Flip the sign of one token's input, and every token that may see it moves.",
    ),
    "attention_sum": (
        r"x + \mathrm{MultiHead}(\cdot)",
        "The residual connection carries x past the sublayer and adds what the sublayer found.",
    ),
    "ffn": (
        r"\mathrm{FFN}(x) = \sigma(xW_1 + b_1)\,W_2 + b_2",
        "The same small network at every position. Flip the sign of one token's input, and only its own output moves.",
    ),
    "ffn_sum": (
        r"x + \mathrm{FFN}(\cdot)",
        "The residual connection carries x past the FFN and adds what the FFN found.",
    ),
}
BOXES["ffn_norm"] = BOXES["attention_norm"]
SWIGLU = r"\mathrm{FFN}(x) = (\mathrm{SiLU}(xW_{gate}) \odot xW_1)\,W_2"
CURVES = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "swiglu": "SiLU"}
BOX_SOURCES = {
    "attention_norm": "layer_norm",
    "ffn_norm": "layer_norm",
    "attention": "attention",
    "attention_sum": "attention_sum",
    "ffn": "ffn",
    "ffn_sum": "ffn_sum",
}

EVEN = 0.95  # of the entropy of equal weights: from here on rows are called nearly even
BLURRED = 0.1  # of the same: so much more entropy in the mean than in the heads is called blurring


def mean_of_heads(heads: float, mean: float, most: float) -> str:
    """What the mean of a token's rows does to them, as their entropies say.

    Args:
        heads: entropy of the heads' rows, on average.
        mean: entropy of the mean of these rows; never less.
        most: entropy of equal weights, in the same unit.
    """
    if most == 0:
        return "This token sees at most one key, so there is nothing to compare."
    if heads >= EVEN * most:
        return "All these rows are nearly even, so the mean of the heads looks like each of them."
    if mean - heads >= BLURRED * most:
        return "The heads' rows are sharper than their mean: averaging blurs what each head picks out."
    return "The heads pick out much the same keys, so their mean is about as sharp as they are."
