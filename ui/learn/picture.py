"""The picture of the page of learning: two networks side by side at any checkpoint, in one browser component."""

from typing import Any

import streamlit as st

from model.training.frames import steps_to_look_at
from ui.frame import components
from ui.frame.captions import text_scale
from ui.frame.languages import _
from ui.learn.kinds import allowed_of, lesson_of, looks_of
from ui.learn.runs import Shown
from ui.learn.words import network_names
from viz.learning import PART, Network, learning_part, learning_view

MOST_PARTS = 128  # messages that are kept for everybody, up to 0.2 MB each


_learning = components.register("learning")


def picture(shown: Shown) -> None:
    """Draws the run; while it is live, what was there stays and what is new is added."""
    networks = networks_of(shown)
    with st.container(gap=None, key="learn-picture"):
        parts = []
        for number, network in enumerate(networks):
            allowed = allowed_of(shown.trainings[number])
            made = [_part(shown, number, part, network, allowed) for part in range(network.n_parts)]
            for part, message in enumerate(made):
                _learning(key=f"learn-part-{number}-{part}", data=message)
            parts.append([message["id"] for message in made])
        view = learning_view(
            networks,
            lesson_of(shown.trainings[-1]),
            parts=parts,
            name=shown.name,
            live=shown.live,
            text_scale=text_scale(),
            t=_,
        )
        _learning(key="learn", data=view)


def networks_of(shown: Shown) -> list[Network]:
    """The networks as they are now: a training that goes on meanwhile changes nothing in them."""
    names = network_names([training.settings for training in shown.trainings])
    networks = []
    for training, name in zip(shown.trainings, names, strict=True):
        frames = looks_of(training, list(training.frames))  # a point is added before its frame
        curve: list[Any] = list(training.curve)[: len(frames)]
        steps = training.settings.steps
        networks.append(Network(name, frames, curve, steps, len(steps_to_look_at(steps))))
    return networks


def _part(shown: Shown, number: int, part: int, network: Network, allowed: Any) -> dict[str, Any]:
    """A message of checkpoints: kept, unless it will soon hold more."""
    if shown.live and part == network.n_parts - 1:
        return learning_part(network, part, allowed)
    n_here = len(network.frames[part * PART : (part + 1) * PART])
    made: dict[str, Any] = _finished_part((shown.name, number, part, n_here), network, allowed)
    return made


@st.cache_resource(max_entries=MOST_PARTS, show_spinner=False)
def _finished_part(name: tuple[Any, ...], _network: Network, _allowed: Any) -> dict[str, Any]:
    return learning_part(_network, name[2], _allowed)
