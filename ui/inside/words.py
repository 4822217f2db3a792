"""What "Inside a block" says about each step. Formulas are LaTeX and the same in every language."""

from analysis.blocks.block_steps import BoxKey, branches
from analysis.blocks.pair import AttentionKey
from analysis.blocks.record import Record
from analysis.blocks.rotary_pair import rotary_width
from analysis.blocks.steps import StageKey
from ui.frame.languages import _

STAGE_NAMES: dict[StageKey, str] = {
    "input": "x",
    "project": "Q, K, V",
    "split": "split",
    "qk_norm": "norm",
    "rotate": "rotate",
    "scores": "QKᵀ",
    "scale": "÷ √d_k",
    "bias": "− distance",
    "mask": "+ mask",
    "softmax": "softmax",
    "mix": "· V",
    "concat": "concat",
    "output": "W_o",
    "next": "next",
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
    "qk_norm": (
        "Normalise each query and key",
        "Each head's query and key is divided by the root mean square of its d_k numbers and multiplied by γ, so that "
        "no length, only directions and γ decide the products.",
    ),
    "rotate": (
        "Turn queries and keys by their positions",
        "Two columns of a head make a point in a plane. At position m it is turned by m·θ, so the product of a query "
        "at m and a key at n depends on m − n alone (Su et al. 2021). The values are not turned.",
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
    "bias": (
        "Subtract the distance",
        "Each head subtracts its slope times the distance between query and key (ALiBi, Press et al. 2022): far keys "
        "fade, and nothing is learned. It comes before the mask.",
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
    "next": (
        "The next token",
        "After the last layer the hidden state of a position is normalised and multiplied with the output matrix: a "
        "score (logit) for every token of the vocabulary. Softmax makes probabilities of them.",
    ),
}
NO_MASK = "The mask in the sidebar forbids nothing here, so M is 0 everywhere and no number changes."
PRE_NORM = "This block normalises its input before attention: these are the normalised numbers."
GROUPED = {
    "project": "Grouped queries (Ainslie et al. 2023): {h} heads of queries, but only {h_kv} heads of keys and values.",
    "split": "Every {group} query heads share a key head: heads {first}–{last} meet keys and values of key head {key}.",
    "scores": "Query heads of one colour meet the same keys: heads {first}–{last} those of key head {key}.",
}
PAIRS = "Column c is paired with column c + {half}: all {d_k} columns of a head are turned."
PART = "Column c is paired with column c + {half}, for the first {width} of {d_k} columns; the others stay as they are."


def explained(key: StageKey, record: Record) -> list[str]:
    """The sentences about a step that hold for this model."""
    said = [_(STAGES[key][1])]
    if key == "input" and record.block.norm == "pre":
        said.append(_(PRE_NORM))
    if key == "mask" and bool(record.allowed.all()):
        said.append(_(NO_MASK))
    if key in GROUPED and record.group > 1:
        head = record.head // record.group
        first, last = head * record.group + 1, (head + 1) * record.group
        said.append(
            _(GROUPED[key]).format(
                h=record.n_heads, h_kv=record.n_key_heads, group=record.group, first=first, last=last, key=head + 1
            )
        )
    if key == "rotate":
        width = rotary_width(record)
        said.append(_(PAIRS if width == record.d_k else PART).format(half=width // 2, width=width, d_k=record.d_k))
    return said


def shared_keys(head: int, n_heads: int, n_key_heads: int) -> list[str]:
    """Which query heads meet the same keys as this one; nothing where each has its own."""
    group = n_heads // n_key_heads
    if group == 1:
        return []
    key = head // group
    said = _("Its keys and values are those of key head {key}, shared by heads {first}–{last}.")
    return [said.format(key=key + 1, first=key * group + 1, last=(key + 1) * group)]


RESHAPE_VIEWS = {"values": "the numbers", "places": "where they go", "wrong": "the wrong way"}

BOXES: dict[BoxKey, tuple[str, str]] = {
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
RMS = (
    r"\mathrm{RMSNorm}(x) = \frac{x}{\sqrt{\frac{1}{d_{model}} \sum_i x_i^2 + \varepsilon}} \odot \gamma",
    "Each token is divided by the root mean square of its features: no mean is taken off, and there is no β.",
)
PARALLEL = (
    r"x + \mathrm{MultiHead}(\mathrm{LN}_1(x)) + \mathrm{FFN}(\mathrm{LN}_2(x))",
    "Attention and FFN read the same x beside each other, and one residual connection adds both to it.",
)
SWIGLU = r"\mathrm{FFN}(x) = (\mathrm{SiLU}(xW_{gate}) \odot xW_1)\,W_2"
CURVES = {"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "swiglu": "SiLU"}
BOX_SOURCES: dict[BoxKey, str] = {
    "attention": "attention",
    "attention_sum": "attention_sum",
    "ffn": "ffn",
    "ffn_sum": "ffn_sum",
}


def box(key: BoxKey, record: Record) -> tuple[str, str, tuple[str, ...]]:
    """Formula, sentence and excerpts (analysis.blocks.source) of a box of the diagram."""
    if key in ("attention_norm", "ffn_norm"):
        is_rms = record.steps.attention_norm.mean is None
        return *(RMS if is_rms else BOXES[key]), ("rms_norm" if is_rms else "layer_norm",)
    if key == "ffn_sum" and branches(record):
        return *PARALLEL, ("attention_sum", "ffn_sum")
    formula, sentence = BOXES[key]
    if key == "ffn" and record.block.ffn.activation == "swiglu":
        formula = SWIGLU
    return formula, sentence, (BOX_SOURCES[key],) if key in BOX_SOURCES else ()


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


ARCHITECTURES = {
    "encoder_only": (
        "Encoder only",
        "Reads a whole text both ways and gives each token a vector: to classify, to tag words, to search. BERT "
        "(Devlin et al. 2019).",
    ),
    "decoder_only": (
        "Decoder only",
        "Reads from left to right and writes the next token, again and again: text, dialogue, code. GPT (Radford et "
        "al. 2018).",
    ),
    "encoder_decoder": (
        "Encoder and decoder",
        "Reads one text whole and writes another: translation, summaries. Vaswani et al. 2017, section 3.1; BART, T5.",
    ),
}
_BOTH_WAYS = "Every token sees the whole source."
_PAST = "Every token sees itself and those before it."
PARTS: dict[AttentionKey, tuple[str, str, str]] = {
    "encoder_only": (
        "Self-attention",
        _BOTH_WAYS,
        "Queries, keys and values all come from the source. It can't be trained to write the next token: that would "
        "stand in plain sight.",
    ),
    "decoder_only": (
        "Masked self-attention",
        _PAST,
        "Queries, keys and values come from one text. The mask hides what is still to be written, so every position "
        "can be trained at once.",
    ),
    "encoder": (
        "Self-attention",
        _BOTH_WAYS,
        "The source is known as a whole before the first word is written, so nothing needs to be hidden.",
    ),
    "decoder": (
        "Masked self-attention",
        "Every target token sees itself and those before it.",
        "Here the decoder reads what it has written so far. It doesn't see the source yet.",
    ),
    "cross": (
        "Cross-attention",
        "Every target token sees the whole source.",
        "Queries come from the target, keys and values from what the encoder made of the source: each row mixes source "
        "tokens. Nothing else carries the source to the decoder.",
    ),
}
CROSS_NAMES: dict[StageKey, str] = {"input": "x and c"}
CROSS = {
    "input": (
        "Two inputs",
        "x is the target after masked self-attention, a row for each of N_q tokens. c, in the code context, is what "
        "the encoder made of the source, a row for each of N_k.",
    ),
    "project": (
        "Queries from x, keys and values from c",
        "The only place where cross-attention differs from self-attention: K and V read c, the source.",
    ),
    "split": ("Split into heads", STAGES["split"][1]),
    "scores": (
        "How well each target token fits each source token",
        "Each cell is the dot product of one query of the target with one key of the source: N_q rows, N_k columns.",
    ),
    "scale": STAGES["scale"],
    "softmax": (
        "Softmax: the map of cross-attention",
        "Each row sums to 1 over the source. No causal mask: the whole source may be seen at every row.",
    ),
    "mix": (
        "The weighted sum of the source's values",
        "Each row of the target becomes a mix of rows of the source. From here on there are N_q rows.",
    ),
    "concat": STAGES["concat"],
    "output": STAGES["output"],
}
