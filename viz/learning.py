"""Heads that learn, as the browser component takes them: every map at every checkpoint, and the curves beside it.

Messages as for the other components: checkpoints, in parts of which only the last one changes while a network learns,
and the small view of them. The browser goes back and forth through the checkpoints by itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from viz.encoding import colours, curve, digest, encode, message
from viz.theme import ACCENT, Translate, untranslated

OWN = 0.5  # a head that gives a relation's key at least half of its weight is said to have taken the relation
PART = 16  # checkpoints in a message
DIGITS = 4  # of shares and accuracies that travel, and by which Python and the browser decide; two are shown

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]


class Checkpoint(Protocol):
    """Every head at one step: a Frame, or a Look made of a frame of another kind."""

    @property
    def step(self) -> int:
        """When it was looked at."""

    @property
    def maps(self) -> Floats:
        """(L, h, N_q, N_k), of the example."""

    @property
    def share(self) -> Floats:
        """(L, h, R), weight on each relation's key."""

    @property
    def hit(self) -> Floats:
        """(L, h, R), how often that is the largest weight."""


class Measured(Protocol):
    """A point of a curve."""

    @property
    def loss(self) -> float:
        """In nats."""

    @property
    def accuracy(self) -> float:
        """Of all answers."""


@dataclass(frozen=True, eq=False)
class Look:
    """A checkpoint of a training that isn't about relations, told as if it were: as Frame."""

    step: int
    maps: Floats
    share: Floats
    hit: Floats


@dataclass(frozen=True)
class Network:
    """One of the networks that are shown beside each other.

    Attributes:
        name: as the person calls it: "4 heads".
        frames: its checkpoints, the first one first; at least one.
        curve: a point for each of them.
        steps: of the whole training.
        planned: checkpoints of the whole training, so that there is room for those to come; 0 = no more come.
    """

    name: str
    frames: Sequence[Checkpoint]
    curve: Sequence[Measured]
    steps: int
    planned: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """(L, h)."""
        n_layers, n_heads = self.frames[0].share.shape[:2]
        return n_layers, n_heads

    @property
    def n_parts(self) -> int:
        """How many messages its checkpoints take."""
        return -(-len(self.frames) // PART)


@dataclass(frozen=True)
class Lesson:
    """What all networks share: the sentence whose maps are shown, and what is to be found in it.

    Attributes:
        labels: the N words, or those of the columns.
        relations: short names of the R relations.
        keys: (N, R), the key that the relation leads a query to; below 0 = nowhere.
        n_answers: how many answers stand behind each accuracy.
        chance: the share right by chance, the baseline; None = there is none to speak of.
        rows: the words of the rows where they are of another text; then every map has its words beside it.
        gold: for each row the column where it should look, outlined in every map; below 0 = nowhere.
        floor: the least loss that can be reached, in nats.
        opens_on: what the curves show at first.
        shows: what the table can show.
        says: sentences of the component in place of its own.
    """

    labels: Sequence[str]
    relations: Sequence[str]
    keys: npt.NDArray[np.integer]
    n_answers: int
    chance: float | None
    rows: Sequence[str] = ()
    gold: Sequence[int] = ()
    floor: float | None = None
    opens_on: Literal["accuracy", "loss"] = "accuracy"
    shows: Sequence[Literal["weight", "hit"]] = ("weight", "hit")
    says: Mapping[str, str] = field(default_factory=dict)


def learning_part(network: Network, part: int, allowed: Bools) -> dict[str, Any]:
    """Every head's map at `PART` of the checkpoints, a byte a cell, with the numbers that go with them.

    Args:
        network: whose checkpoints.
        part: from 0; the last one may hold fewer.
        allowed: (N, N); True = the query may attend to the key.
    """
    these = slice(part * PART, (part + 1) * PART)
    frames, points = network.frames[these], network.curve[these]
    maps = np.stack([frame.maps for frame in frames])  # (F, L, h, N, N)
    return message(
        encode(maps, allowed, bits=8),
        maximum=1.0,
        steps=[int(frame.step) for frame in frames],
        share=[_numbers(frame.share) for frame in frames],
        hit=[_numbers(frame.hit) for frame in frames],
        loss=_numbers(np.array([point.loss for point in points])),
        accuracy=_numbers(np.array([point.accuracy for point in points])),
    )


def learning_view(
    networks: Sequence[Network],
    lesson: Lesson,
    *,
    parts: Sequence[Sequence[str]],
    name: str,
    live: bool,
    text_scale: float = 1.0,
    t: Translate = untranslated,
) -> dict[str, Any]:
    """The sentence, what is in it, and the words on screen.

    Args:
        networks: one or two; the last is the one whose heads are named.
        lesson: what they share.
        parts: for each network the ids of its parts (`learning_part(…)["id"]`).
        name: of the run; another name starts at its end again.
        live: more is to come, so that the newest checkpoint is shown until somebody goes back.
        text_scale: 1 = normal text, 1.4 = for the back row.
        t: translates the component's own words.
    """
    return {
        "part": "view",
        "name": digest(name),
        "live": live,
        "networks": [
            {
                "parts": list(ids),
                "name": network.name,
                "steps": network.steps,
                "n_frames": max(network.planned, len(network.frames)),
                "shape": list(network.shape),
            }
            for network, ids in zip(networks, parts, strict=True)
        ],
        "labels": list(lesson.labels),
        "rows": list(lesson.rows),
        "gold": list(lesson.gold),
        "floor": lesson.floor,
        "opens_on": lesson.opens_on,
        "shows": list(lesson.shows),
        "relations": list(lesson.relations),
        "keys": np.asarray(lesson.keys).tolist(),
        "own": OWN,
        "n_answers": lesson.n_answers,
        "chance": lesson.chance,
        "accent": ACCENT,
        "colours": colours(),
        "curve": curve("linear"),
        "text_scale": text_scale,
        "text": _words(t) | dict(lesson.says),
    }


def owners(share: Floats) -> list[list[tuple[int, int]]]:
    """For each relation the heads (layer, head) that give its key at least half of their weight, the first one most.

    Args:
        share: (L, h, R).
    """
    found = []
    share = np.asarray(_numbers(share))
    for relation in range(share.shape[-1]):
        heads = [(int(a), int(b)) for a, b in np.argwhere(share[..., relation] >= OWN)]
        found.append(sorted(heads, key=lambda head: -float(share[(*head, relation)])))
    return found


def _numbers(values: Floats) -> Any:
    """Rounded, in nested lists of the same shape."""
    return np.asarray(values, dtype=np.float64).round(DIGITS).tolist()


def _words(t: Translate) -> dict[str, str]:
    return {
        "title": t("Heads while they learn"),
        "step": t("step {step} of {steps}"),
        "right": t("{network}: {share} right"),
        "of": t("of {n} answers; the baseline gets {chance}"),
        "baseline": t("baseline {chance}"),
        "took": t("{relation} → {head} ({weight})"),
        "also": t(", also {heads}"),
        "between": t("; "),
        "end": t(". "),
        "each": t("Each relation has a head of its own."),
        "none": t("No head gives any relation half of its weight yet."),
        "none_at_end": t("No head gives any relation half of its weight."),
        "some": t("No head yet for {relations}."),
        "some_at_end": t("No head for {relations}."),
        "several": t("{head} serves several."),
        "play": t("Play"),
        "pause": t("Pause"),
        "floor": t("floor {floor}"),
        "scrub": t("Go back through the training"),
        "accuracy": t("accuracy"),
        "loss": t("loss"),
        "quantity": t("What the curves show"),
        "x_axis": t("training steps (wider at the start)"),
        "weight": t("weight"),
        "hit": t("right key"),
        "table": t("What the table shows"),
        "about_weight": t("Weight on the relation's key, mean over many sentences"),
        "about_hit": t("How often, in %, the largest weight is on the relation's key"),
        "head": t("head {name}"),
        "layer": t("layer {n}"),
        "corner": t("layer"),
        "cell": t("query (row) {query} looks at key (column) {key}: {weight}"),
        "cell_masked": t("query (row) {query} may not look at key (column) {key}"),
        "point": t("Maps of one sentence. Point at a map for its weights, at a number for where its key lies."),
        "gold": t("Outlined: the key of {relation} for each query, in every map."),
        "all_gold": t("Outlined: where each row should look. Solid: it does. Dashed: its largest weight is elsewhere."),
        "map": t("{head} at step {step}"),
    }
