"""Sentences about effects, each made of the numbers beside it."""

from model.head_id import HeadId
from ui.effects.data import Head, Measured
from ui.effects.words import CHANGES, OFF, between, signed
from ui.frame.languages import _, _n
from viz.effects import LOOKS, MATTERS, SIGNS
from viz.theme import percent


def moves(measured: Measured, head: Head) -> str:
    """What happens without a head, as the end of a sentence."""
    return _(CHANGES[measured.of]).format(change=change(measured, head))


def change(measured: Measured, head: Head, *, interval: bool = False) -> str:
    """A head's mean effect: −2.58, or 0.013 where it is a distance; on request with its interval."""
    return value(measured, float(measured.mean[head]), measured.bounds(head) if interval else None)


def value(measured: Measured, number: float, bounds: tuple[float, float] | None = None) -> str:
    """An effect as it is written."""
    if measured.is_signed:
        return signed(number) + between(bounds)
    said = "<0.001" if 0 < number < 0.0005 else f"{number:.3f}"
    return said + ("" if bounds is None else f" [{bounds[0]:.3f}, {bounds[1]:.3f}]")


def weight(measured: Measured, head: Head) -> str:
    """What the head gives to the word that is looked at."""
    return f"{float(measured.attention[head]):.2f}"


def conditions(measured: Measured, *, short: bool = False) -> str:
    """On what it was measured, and what a head that is off becomes."""
    n = _("cosine distance")
    if measured.of == "logits":
        n = _n("{n} prompt", "mean of {n} prompts", measured.n).format(n=measured.n)
    return (
        n if short else f"{_(measured.raw['label'])} · {n} · {_('off = {off}').format(off=_(OFF[measured.raw['off']]))}"
    )


def headline(measured: Measured) -> str:
    """What the two pictures say, in one short sentence."""
    looks = measured.most_looking
    if looks is None:
        return _("{head} matters most.").format(head=HeadId(*measured.matters))
    if looks == measured.matters:
        return _("The head that looks most is also the one that matters most.")
    return _("The head that looks most isn't the one that matters most.")


def details(measured: Measured) -> str:
    """The numbers of that sentence."""
    matters, looks = measured.matters, measured.most_looking
    named = {"matters": f"{SIGNS[MATTERS]} {HeadId(*matters)}", "moves": moves(measured, matters)}
    if looks is None:
        return _("Without {matters} {moves}.").format(**named)
    seen = {"word": _(measured.word), "weight": weight(measured, matters)}
    if looks == matters:
        return _("{matters} looks at {word} with {weight}; without it {moves}.").format(**named, **seen)
    said = _(
        "{looks} looks most at {word} ({most}); without it {its}. {matters} looks at it with {weight}; without it: "
        "{change}."
    )
    name = f"{SIGNS[LOOKS]} {HeadId(*looks)}"
    numbers = {"most": weight(measured, looks), "its": moves(measured, looks), "change": change(measured, matters)}
    return said.format(looks=name, **numbers, **named, **seen)


def correlation(measured: Measured) -> str:
    """The rank correlation with its interval, or why there is none."""
    found = measured.correlation
    if found is None:
        return _("no rank correlation: all heads look alike")
    return _("rank correlation {value}").format(value=signed(found.value)) + between(found.interval)


def held_out(measured: Measured) -> str:
    """The strongest head of each half of the prompts, measured on the other half; nothing where there are no halves."""
    first = [each for each in measured.held_out if each.rank == 1]
    if not first:
        return ""
    listed = _(", ").join(f"{each.head} {signed(each.effect)}{between(each.interval)}" for each in first)
    return _("Strongest head chosen on one half of the prompts, measured on the other, both ways: {list}.").format(
        list=listed
    )


def right_answers(measured: Measured) -> str:
    """How the model does on these prompts with everything on."""
    base = measured.raw["base"]
    return _("{model}, {n} prompts: right for {share}, logit difference {value} on average.").format(
        model=_(str(measured.raw["label"])),
        n=measured.n,
        share=percent(float(base["accuracy"])),
        value=signed(float(base["logit_difference"])),
    )
