"""An encoder–decoder on the Attention page: the sentence is its source, beside it stands the target and whose maps.

The encoder's source looks at itself, the decoder's target at itself and, in cross-attention, at the source.
"""

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.maps.readings import norms_of_parts
from model import AttentionTrace, HeadworkError, Mask
from model.seq2seq import MOST_WRITTEN, EncoderDecoderModel
from model.trace import MapsOf, Traces
from ui.attention.view import segments
from ui.frame import controls, links, loading, remarks
from ui.frame.captions import caution
from ui.frame.languages import _
from ui.frame.unread import unread

TITLES: dict[str, str] = {"cross": "Cross-attention", "decoder": "Decoder", "encoder": "Encoder"}
SAYS = {  # in files, in English whatever the language
    "cross": "cross-attention: the target looks at the source",
    "decoder": "decoder: the target looks at itself",
    "encoder": "encoder: the source looks at itself",
}

_questions: WeakKeyDictionary[AttentionTrace, "Question"] = WeakKeyDictionary()


@dataclass(frozen=True)
class Question:
    """Which maps of which texts. Called, it answers: a session keeps names, no arrays.

    Attributes:
        source: what the encoder reads.
        target: what the decoder reads; None = what it writes itself.
        model_id: of the encoder–decoder.
        mask: as `loading.two_texts` takes it.
        maps: which of the three families.
    """

    source: str
    target: str | None
    model_id: str
    mask: Mask
    maps: MapsOf

    def traces(self) -> Traces:
        """All three families of maps. Raises as `loading.two_texts`."""
        return loading.two_texts(self.source, self.target, self.model_id, self.mask)

    def __call__(self) -> AttentionTrace:
        """The maps asked for."""
        trace = self.traces().of(self.maps)
        _questions[trace] = self
        return trace


def ask(source: str, model_id: str, mask: Mask) -> Question:
    """Draws the switch between the families and the target's field, and says what to beware of.

    Raises:
        HeadworkError: as `loading.two_texts`; the controls stand already, so that it can be put right.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="two-texts"):
        maps: MapsOf = segments(_("Maps of"), "maps", TITLES, "cross", bare=True)  # type: ignore[assignment]  # a key
        place = st.container(horizontal=True, vertical_alignment="center", gap="small")
        if "target" not in st.session_state:
            st.session_state["target"] = links.read("target", str, "")
        typed = str(st.session_state["target"])
        links.write("target", typed, "")
        question = Question(source, typed if typed.strip() else None, model_id, mask, maps)
        try:
            traces = question.traces()
        except HeadworkError:
            _field(place, question, "")
            raise
        _field(place, question, traces.target)
    _beware(traces, question)
    return question


def forget_link() -> None:
    """Another model has no target: the session keeps it, the link doesn't."""
    for name in ("target", "maps"):
        st.query_params.pop(name, None)


def question_of(trace: AttentionTrace) -> Question | None:
    """What a trace answered; None for that of a model with one part."""
    return _questions.get(trace)


def family(trace: AttentionTrace) -> MapsOf | None:
    """Which of an encoder–decoder's maps these are; None for those of a model with one part."""
    question = question_of(trace)
    return None if question is None else question.maps


def line_names(trace: AttentionTrace) -> tuple[str, str]:
    """What the two lines of the strip are called in cross-attention: queries, keys."""
    question = question_of(trace)
    is_written = question is not None and question.target is None
    who = _("target, by the model: looks (query)") if is_written else _("target: looks (query)")
    return who, _("source: looked at (key)")


def provenance(trace: AttentionTrace) -> dict[str, str]:
    """For files: which maps these are, and where the rest comes from; empty for a model with one part."""
    question = question_of(trace)
    if question is None:
        return {}
    said = {"maps": SAYS[question.maps]}
    if question.maps != "encoder":
        said["target"] = "written by the model" if question.target is None else "typed"
    if question.maps == "cross":
        said["decoder_mask"] = str(replace(question.mask, padded_length=None))
    if question.maps == "decoder":
        said["source"] = question.source
    return said


def _field(place: DeltaGenerator, question: Question, read: str) -> None:
    """The target: what is typed, or greyed what the model wrote."""
    is_written = question.target is None
    with place:
        st.markdown(_("Target, by the model") if is_written else _("Target"), width="content")
        st.text_input(
            _("Target"),
            key="target",
            max_chars=controls.MOST_CHARACTERS,
            placeholder=(is_written and read) or _("Written by the model unless you type one"),
            label_visibility="collapsed",
            persist_state="session",
        )
        if not is_written:
            st.button(_("Let the model write"), key="target_write", on_click=_let_it_write)


def how_to_read() -> None:
    """What an encoder–decoder adds to the picture."""
    st.markdown(
        _(
            "- An **encoder–decoder** reads the sentence as its source and has three kinds of maps. Encoder: the "
            "source looks at itself. Decoder: the target looks at itself, under the mask. Cross-attention: the target "
            "(rows, the lower line) looks at the source (columns, the upper line). Padding fills up the source."
        )
    )


def _let_it_write() -> None:
    st.session_state["target"] = ""


def _beware(traces: Traces, question: Question) -> None:
    """What was cut of either text, and what to know about this model, mask and these texts."""
    if len(question.target or "") > links.LONGEST_TEXT:
        st.caption(_("The target is too long for a link, which leaves it out: send it separately."))
    remarks.cut(traces.encoder, _("The source"))
    remarks.cut(traces.decoder, _("The target"))
    remarks.cautions(traces.decoder, offers=False)
    unread(traces.encoder, offers=False)
    if traces.is_written and traces.decoder.n_tokens > MOST_WRITTEN:  # the start token and all that it may write
        caution(_("The model wrote {n} tokens without an end: there it was stopped.").format(n=MOST_WRITTEN))


def value_norms(question: Question) -> npt.NDArray[np.float32]:
    """(L, h, N_k), the lengths of the values of the keys. Runs the model once more."""
    model = loading.load_any(question.model_id)
    assert isinstance(model, EncoderDecoderModel)
    mask, source_mask = loading.masks_of(question.mask)
    found = norms_of_parts(model, question.source, question.target, mask, source_mask=source_mask)
    return found[question.maps]
