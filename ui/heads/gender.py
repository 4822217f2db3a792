"""What is said about heads that match pronouns with nouns of their gender: held out, controlled, and what it is not."""

from typing import Any

from analysis.evidence.records import Record, Table
from model.head_id import HeadId
from ui.frame.captions import small
from ui.frame.languages import _, _n
from ui.heads import data
from ui.heads.choices import View
from ui.heads.words import MOST_HEADS, bounds
from viz.theme import percent

MOST_FAILURES = 4
FAILS_BELOW = 0.9
OPPOSITE = 0.1
ONLY_MEANING = {  # the first of `analysis.evidence.meaning.TWINS`
    "en": "The animal did not cross the street because it was too tired / wide.",
    "zh": "那只动物没有穿过街道，它太累了 / 太宽了 (the animal did not cross the street, it was too tired / wide)",
}
TEMPLATES = {  # of `analysis.sentences.gender`
    "garden": "met in the garden",
    "letter": "handed the letter",
    "hospital": "went to the hospital",
    "beside": "sat beside",
    "ask": "wrote to ask",
    "quarrel": "quarrelled",
    "gate": "at the gate",
    "suitcase": "the suitcases",
    "because": "because",
}


def how_chosen(table: Table) -> str:
    """On what the head was chosen, and how often which."""
    found = table.held_out
    assert found is not None
    says = _(
        "Chosen on half of the pairs of nouns in half of the sentences, scored with the other nouns in the other "
        "sentences; mean of all ways to halve them. Intervals: bootstrap over pairs of nouns."
    )
    if len(found["heads"]) > 1:
        shares = list(zip(found["heads"], found["chosen_in"], strict=True))
        listed = _(", ").join(f"{name} {percent(share)}" for name, share in shares[:MOST_HEADS])
        listed += ", …" if len(shares) > MOST_HEADS else ""
        says += " " + _("How often each was chosen: {list}.").format(list=listed)
    return says


def about(view: View) -> None:
    """Other nouns, swapped nouns, where it fails, and which heads do the opposite."""
    (each, *_others) = view.record.raw["gender"]
    for said in (_held_out(each), _swapped(view, each), _fails(view, each), _opposite(view.table)):
        if said:
            small(said)


def _held_out(each: dict[str, Any]) -> str:
    found = each["held_out"]
    if found is None:
        return ""
    said = _("Other nouns in the same sentences: {other}.").format(other=_share(found["other_nouns"]))
    if found["rarer_nouns"] is not None:
        said += " " + _("Rarer nouns, never chosen on: {rarer}.").format(rarer=_share(found["rarer_nouns"]))
    said += " " + _("The mean of all heads' maps: {mean}.").format(mean=percent(each["mean_map"]))
    if n := each["left_out"]["unclear"]:
        said += " " + _n(
            "{n} sentence is left out: in it or its partners the pronoun shares its token with another word.",
            "{n} sentences are left out: in them or their partners the pronoun shares its token with another word.",
            n,
        ).format(n=n)
    return said


def _share(found: dict[str, Any]) -> str:
    """A share with its interval; without one, of how few pairs of nouns it is."""
    if found["interval"] is None:
        return _("{share} of {n}, {pairs} pairs of nouns").format(
            share=percent(found["accuracy"]), n=found["n"], pairs=found["pairs"]
        )
    return _("{share} of {n}").format(share=f"{percent(found['accuracy'])} {bounds(*found['interval'])}", n=found["n"])


def _swapped(view: View, each: dict[str, Any]) -> str:
    layer, head = view.head
    return _(
        "{head}: with the nouns swapped its arrow goes along in {noun}, with the other pronoun it changes in "
        "{pronoun}; from other words it finds the noun in {query}."
    ).format(
        head=view.name,
        noun=percent(each["follows_noun"][layer][head]),
        pronoun=percent(each["follows_pronoun"][layer][head]),
        query=percent(each["query_control"][layer][head]),
    )


def _fails(view: View, each: dict[str, Any]) -> str:
    """The pairs of nouns and the sentences where the head does worst."""
    layer, head = view.head
    pairs = [(float(pair["accuracy"][layer][head]), str(pair["pair"])) for pair in each.get("by_pair", ())]
    worst = sorted(pair for pair in pairs if pair[0] < FAILS_BELOW)[:MOST_FAILURES]
    if not worst or view.name not in (each["held_out"] or {"heads": ()})["heads"]:
        return ""
    listed = _(", ").join(f"{name} {percent(share)}" for share, name in worst)
    return _("{head} fails most for {list}.").format(head=view.name, list=listed)


def _opposite(table: Table) -> str:
    """The heads that look at the noun of the other gender: they know genders too."""
    last = [head for head in reversed(table.ranked()) if table.accuracy[head] < OPPOSITE][:MOST_FAILURES]
    if not last:
        return ""
    listed = _(", ").join(f"{HeadId(*head)} {percent(float(table.accuracy[head]))}" for head in last)
    return _("These look at the noun of the other gender: {list}.").format(list=listed)


def is_no_understanding(record: Record, head: tuple[int, int]) -> str:
    """That matching genders is no understanding, with what the head does where only the meaning decides."""
    said = _("This is gender matching, not understanding.")
    found = record.raw.get("meaning")
    if found is None:
        return said
    layer, number = head
    most = max(max(row) for row in found["right"])
    return (
        said
        + " "
        + _(
            "Where only the meaning decides (“{example}”), {head} moves its arrow in {moved} of {n} pairs; no head "
            "gets both right in more than {most}."
        ).format(
            example=_(ONLY_MEANING[data.language_of(record)]),
            head=str(HeadId(*head)),
            moved=found["moved"][layer][number],
            n=found["n"],
            most=most,
        )
    )
