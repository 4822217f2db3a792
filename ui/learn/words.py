"""What the page of learning says about a run, and about how far its claim goes."""

from collections.abc import Sequence

from model.tasks import Task
from model.training import Settings
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


def about(settings: Settings) -> str:
    """A run in one line, as its controls say it."""
    task = settings.rule
    compared = [*beside(settings), settings]
    heads = " / ".join(dict.fromkeys(str(each.heads) for each in compared))
    layers = " / ".join(dict.fromkeys(str(each.layers) for each in compared))
    return _(
        "{task} · heads {heads} · layers {layers} · {block} · mask {mask} · {steps} steps · rate {rate} · seed {seed}"
    ).format(
        task=_(task.title),
        heads=heads,
        layers=layers,
        block=_("with FFN") if settings.ffn else _("attention only"),
        mask=_(settings.mask),
        steps=settings.steps,
        rate=f"{settings.learning_rate:g}",
        seed=settings.seed,
    )


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


def hidden(settings: Settings) -> list[str]:
    """What the mask keeps a network from learning."""
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


def relation_names(task: Task) -> list[str]:
    """The short names of a task's relations, in the language of this session."""
    return [_(relation.id).replace("-", "−") for relation in task.relations]


def network_names(settings: Sequence[Settings]) -> list[str]:
    """What tells the networks apart: their heads, or their layers where the heads are the same."""
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


def about_seeds(settings: Settings) -> str:
    """What all runs of several seeds share, in one line."""
    return _("{task} · layers {layers} · {block} · mask {mask} · {steps} steps · rate {rate}").format(
        task=_(settings.rule.title),
        layers=settings.layers,
        block=_("with FFN") if settings.ffn else _("attention only"),
        mask=_(settings.mask),
        steps=settings.steps,
        rate=f"{settings.learning_rate:g}",
    )
