"""What the page of learning says about a run, and about how far its claim goes."""

from collections.abc import Sequence

import streamlit as st

from model.tasks import PEEK, Task
from model.training import Settings
from model.training.kinds import AnySettings
from model.training.peek import PeekSettings
from model.training.translate import TranslateSettings
from ui.frame.languages import _, _n
from ui.learn.runs import Shown, beside

HOW_TO_READ = (
    "- Each **map** is one head on one and the same sentence: a row is a token that looks (query), a column a token "
    "that is looked at (key). Brighter = more weight.\n"
    "- The **slider** goes back through the training. Play it, drag it, use the arrow keys, or drag in the curves.\n"
    "- The **table** says how much of its weight each head gives to the key that a relation asks for: the mean over "
    "128 sentences that are never trained on. Point at a row, and its keys are outlined in the maps.\n"
    "- **Right key** below the table: how often a head's largest weight is on that key, in %.\n"
    "- A head has **taken** a relation when it gives its key at least half of its weight.\n"
    "- The **curves** are right answers on the same sentences."
)
TRANSLATE_READ = (
    "- Each **map** is one head of cross-attention on one sentence that was never trained on: a row is a target word "
    "when it is written (query), a column a source word (key). Brighter = more weight.\n"
    "- **Outlined** is the true alignment, known because the languages were made that way. Solid: the row's largest "
    "weight is there. Dashed: it is elsewhere.\n"
    "- The **table** says how often, in %, a head's largest weight is on the aligned word, for each class of target "
    "word, over 128 sentences that are never trained on.\n"
    "- **Alignment error rate** (Och & Ney 2003): each head proposes the source word with most weight for each "
    "target word; with one true link each it is the share of wrong ones.\n"
    "- The **curves** are whole sentences that the network writes by itself without a mistake."
)
PEEK_READ = (
    "- The same language model is trained twice on the same texts: with the **causal** mask, and with one that shows "
    "words to come.\n"
    "- Each row of a **map** must foretell the word one to its right. The mask hides it, or it stands on the line "
    "above the diagonal, which is outlined.\n"
    "- The **floor** is the entropy of the next word given all before it: ln 2 nats, known because the texts were made "
    "that way. No foretelling gets below it.\n"
    "- The tab below lets both **write alone**: then there is no word to the right to read off."
)
DEPTH_READ = (
    "- **Loss**: nats a word on fresh texts after training; the same number of steps for every network.\n"
    "- **Gradient norm**: Euclidean, of all weights of a block, at the first step. AdamW rescales each weight's "
    "gradient, so a small one alone doesn't stop learning.\n"
    "- **pre-LN** normalises before each sublayer, **post-LN** after it (Xiong et al. 2020); residual connections add "
    "a sublayer's input to its output (He et al. 2016)."
)
HOW_FAR = (
    "**What holds here, and under which conditions**\n"
    "- *At the same budget.* Every number of heads has the same parameters, sentences and steps. With 26 letters five "
    "times the steps don't help the single head: 34 % after 800 and after 4,000. With 10 letters and only two "
    "neighbours they do: 64 % after 600, over 99 % after 4,000, with half of its weight on each side all the time.\n"
    "- *Attention only, one layer.* An FFN tells unequal weights apart: with one, a single head gets 64 %. A second "
    "layer looks a second time: 88 %.\n"
    "- *Which head takes which relation is chance.* Another seed, another division. Two heads on four relations get "
    "from 66 to 88 % in 5 seeds: look at several.\n"
    "- *Spare heads copy, in part.* With 8 heads on the four relations, one of them off leaves 91 % of a relation's "
    "right answers on average. But without the one head that matters most to it 41 % are left, from 4 to 69 %.\n"
    "- Measured on 5 seeds, each number a mean, “from … to” the lowest and the highest: "
    "`python -m benchmarks.single_head`.\n\n"
    "**What is also true of real models**\n"
    "- Heads of one layer look at different things, and some at a fixed offset (Clark et al. 2019, section 3).\n"
    "- Many heads can be switched off with little harm (Michel et al. 2019; Voita et al. 2019).\n"
    "- Induction comes with a jump of the curve, from two heads in two layers (Olsson et al. 2022).\n\n"
    "**What is this task's own**\n"
    "- One clean head for each relation: in real models relations spread over heads, and most heads have no single "
    "role. The page Heads at work measures that.\n"
    "- That looking proves use: here the answer can lie nowhere else."
)


def about(settings: AnySettings) -> str:
    """A run in one line, as its controls say it."""
    compared = [*beside(settings), settings]
    heads = " / ".join(dict.fromkeys(str(each.heads) for each in compared))
    layers = " / ".join(dict.fromkeys(str(each.layers) for each in compared))
    if isinstance(settings, TranslateSettings):
        said = _(
            "{task} · heads {heads} · encoder {layers} layers, decoder 1 · {steps} steps · rate {rate} · seed {seed}"
        )
    else:
        said = _(
            "{task} · heads {heads} · layers {layers} · {block} · mask {mask} · {steps} steps · rate {rate} · seed "
            "{seed}"
        )
    return said.format(
        task=_(settings.rule.title), heads=heads, layers=layers, seed=settings.seed, **_conditions(settings)
    )


def _conditions(settings: AnySettings) -> dict[str, object]:
    """What all seeds of a run share, as words."""
    found: dict[str, object] = {"steps": settings.steps, "rate": f"{settings.learning_rate:g}"}
    if isinstance(settings, TranslateSettings):
        return found
    compared = (*beside(settings), settings)
    masks = (mask_name(each.mask) for each in compared if not isinstance(each, TranslateSettings))
    block = _("with FFN") if settings.ffn else _("attention only")
    return found | {"block": block, "mask": " / ".join(dict.fromkeys(masks))}


def mask_name(mask: str) -> str:
    """A mask as the controls call it."""
    return _("prefix of {n}").format(n=mask[7:]) if mask.startswith("prefix:") else _(mask)


def below(shown: Shown) -> list[str]:
    """Lines under the picture: which run it is; what the mask hides from it; what the task shows and doesn't."""
    run = _("{origin}: {run}.").format(origin=_origin(shown), run=about(shown.settings))
    return [run, *hidden(shown.settings), _(shown.settings.rule.note)]


def _origin(shown: Shown) -> str:
    if not shown.is_trained and not shown.live:
        return _("Not trained yet, the weights are random")
    if not all(training.done for training in shown.trainings):
        return _("Not finished yet")
    if shown.record is not None:
        return _("Came with the app, trained on {date}").format(date=shown.record.date)
    return _("Trained here in {time} of CPU time").format(time=seconds(sum(run.seconds for run in shown.trainings)))


def hidden(settings: AnySettings) -> list[str]:
    """What the mask keeps a network from learning."""
    if not isinstance(settings, Settings):
        return []
    task = settings.rule
    shares = task.hidden_shares(settings.allowed, settings.layers)
    said = []
    wholly = [name for name, share in zip(relation_names(task), shares, strict=True) if share == 1]
    if wholly:
        sentence = _("The mask hides the keys of {relations}: that can only be guessed, 1 in {n} times right.")
        said.append(sentence.format(relations=_(", ").join(wholly), n=round(1 / task.chance)))
    for name, share in zip(relation_names(task), shares, strict=True):
        if 0 < share < 1:
            said.append(_("The mask hides {share:.0%} of the keys of {relation}.").format(share=share, relation=name))
    return said


def spoken(words: Sequence[str]) -> tuple[str, ...]:
    """Words of Peek in the language of this session."""
    if st.session_state.get("lang") != "zh":
        return tuple(words)
    return tuple(PEEK.vocabulary_zh[PEEK.vocabulary.index(word)] for word in words)


def relation_names(task: Task) -> list[str]:
    """The short names of a task's relations, in the language of this session."""
    return [_(relation.id).replace("-", "−") for relation in task.relations]


def network_names(settings: Sequence[AnySettings]) -> list[str]:
    """What tells the networks apart: their heads, their layers where the heads are the same, or their masks."""
    if isinstance(settings[0], PeekSettings):
        return [mask_name(each.mask) for each in settings if isinstance(each, PeekSettings)]
    if len({each.heads for each in settings}) < len(settings):
        return [_n("{n} layer", "{n} layers", each.layers).format(n=each.layers) for each in settings]
    return [_n("{n} head", "{n} heads", each.heads).format(n=each.heads) for each in settings]


def place_in_line(ahead: int) -> str:
    """Where a training stands that waits for others to end."""
    if not ahead:
        return _("In line: yours is next.")
    said = _n("In line: {n} training before yours.", "In line: {n} trainings before yours.", ahead)
    return said.format(n=ahead)


def seconds(number: float) -> str:
    """A duration for a person: whole seconds, minutes from 90 s on."""
    if number < 90:
        return _("{n} s").format(n=max(1, round(number)))
    return _("{n} min").format(n=round(number / 60))


def about_seeds(settings: AnySettings) -> str:
    """What all runs of several seeds share, in one line."""
    said = _("{task} · layers {layers} · {block} · mask {mask} · {steps} steps · rate {rate}")
    if isinstance(settings, TranslateSettings):
        said = _("{task} · encoder {layers} layers, decoder 1 · {steps} steps · rate {rate}")
    return said.format(task=_(settings.rule.title), layers=settings.layers, **_conditions(settings))
