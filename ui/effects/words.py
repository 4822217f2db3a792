"""What the page Does it matter? calls things, how it is read, and how far it goes."""

from analysis.effects.runs import Off
from ui.frame.languages import _

SETS = {
    "indirect_object": "Indirect object: John gave a drink to Mary",
    "agreement": "Agreement: the keys to the cabinet are",
    "induction": "Induction: random words that repeat",
    "capitals": "Facts: capital cities",
    "gender": "Pronouns: he or she, after a name",
}
OFF: dict[Off, str] = {"zero": "zero", "mean": "mean", "position": "mean by position"}
OFF_ABOUT = {
    "zero": "Zero: the head's output becomes 0. A head that always writes the same then looks important, since later "
    "layers count on it.",
    "mean": "Mean: the head's output becomes its mean over all prompts: lost is what differs from prompt to prompt.",
    "position": "Mean by position: as mean, at each position apart. What a head writes because of the position stays.",
}
CHANGES = {
    "logits": "the logit difference changes by {change}",
    "token": "the token's vector turns by {change}",
    "sentence": "the sentence's vector turns by {change}",
}
HOW_TO_READ = (
    "- **Effect**: a head is switched off, and everything above it runs again. Shown is the change of the **logit "
    "difference**, right answer minus wrong answer; mean over the prompts. Below 0 (purple, ▤): the head helped. "
    "Above 0 (orange): without it the answer is better.\n"
    "- **Attention**: the weight from the last token, where the answer is predicted, to the word named above the map.\n"
    "- **◆** is the head that matters most, **○** the one that looks most. They bear these signs in every picture.\n"
    "- **Rank correlation** (Spearman): 1 = heads that look more are missed more, 0 = no connection.\n"
    "- Square brackets hold 95 % intervals (bootstrap over prompts). One prompt has none.\n"
    "- The strongest of many heads is partly luck. So heads are also chosen on one half of the prompts and measured on "
    "the other half.\n"
    "- Pictures are means over all prompts. The prompt that is shown first is the one on which ◆ matters most.\n"
    "- Heads are named layer-head, counted from 1. Click a cell or a point to choose a head."
)
LIMITS = (
    "**What is measured, and by whom it was proposed**\n"
    "- *A head off*: its slice of the input to W_o is replaced (Michel et al. 2019). W_o's bias stays.\n"
    "- *Attention from the last token*: which heads look where (Vig & Belinkov 2019).\n"
    "- *Direct effect*: what a part adds to the residual stream, read by the output matrix (Elhage et al. 2021).\n"
    "- *Several off, patching*: backup heads, and parts put in from another run (Wang et al. 2022).\n\n"
    "**What it can't show**\n"
    "- A head without an effect may still be used: others can stand in for it while it is off.\n"
    "- A head with an effect need not know the answer: it may only prepare what later heads read.\n"
    "- Effects hold for this model and these prompts. Other prompts may need other heads.\n\n"
    "**Is attention an explanation?** Jain & Wallace 2019 say no: other weights can lead to the same prediction, and "
    "weights agree poorly with other measures of importance. Wiegreffe & Pinter 2019 answer that this depends on what "
    "an explanation is to do, and that learned weights aren't arbitrary: they can't be exchanged freely without "
    "training the model anew. Here both are measured side by side, for one model and one set of prompts."
)
LIMITS_STATES = (
    "This model predicts no next token, so there is no answer to lose. Measured is how far the last layer's vector "
    "turns when a head is off: cosine distance, 0 = not at all."
)


def signed(value: float) -> str:
    """A change, with its sign and a true minus: −2.58; 0.00 has no sign."""
    said = f"{value:+.2f}"
    return "0.00" if float(said) == 0 else said.replace("-", "−")


def between(interval: tuple[float, float] | None) -> str:
    """An interval with a space before it: " [−3.01, −2.20]"; nothing where there is none."""
    if interval is None:
        return ""
    low, high = interval
    return f" [{signed(low)}, {signed(high)}]"


def probability(share: float) -> str:
    """A probability in per cent; what is less than 0.1 % says so."""
    if share < 0.001:
        return _("below 0.1 %")
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
