"""Writing on, on the Attention page: a decoder adds token after token, and the picture above shows the grown text.

The session and the link keep how many tokens were written, the temperature and the seed; the tokens follow from them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from analysis.words.next_tokens import NextTokens
from model import AttentionTrace, HeadworkError
from model.generation import check_mask, check_settings
from model.seq2seq import EncoderDecoderModel
from ui.attention import next_tokens, writer
from ui.attention.writer import Prompt, Written
from ui.frame import links, loading
from ui.frame.captions import caution, small
from ui.frame.languages import _, _n, explain, words_of

AT_ONCE = 10  # tokens that "Run" writes
HIGHEST_TEMPERATURE = 5.0
LONGEST_TOLD = 40  # characters of an impossible link
MOST_SEED = 2**32 - 1
STATE = "written"  # session state: prompt and number of tokens written
OPEN = "write_open"  # session state: the buttons are shown
UNTIL = "write_until"  # session state: the number at which a run stops; 0 = none runs
TOLD = "write_told"  # session state: what the link asked for in vain

T = TypeVar("T")


@dataclass(frozen=True)
class Text:
    """What the page shows.

    Attributes:
        trace: of the prompt, or of the text written on.
        prompt: what is written on; None for a model that doesn't write, or where this prompt can't be.
        written: None while nothing is written.
        error: why nothing can be written here.
        grew: the last run of the page added a token.
    """

    trace: AttentionTrace
    prompt: Prompt | None = None
    written: Written | None = None
    error: HeadworkError | None = None
    grew: bool = False

    @property
    def n_prompt(self) -> int:
        """Tokens that the person typed."""
        return self.trace.n_tokens - (0 if self.written is None else self.written.n)


def read(trace: AttentionTrace) -> Text:
    """The prompt's trace, and the text written on it as far as the person or the link asked for.

    What an encoder–decoder writes is its target.
    """
    model = loading.load_any(trace.model_id)
    if isinstance(model, EncoderDecoderModel) or not model.has_output:
        _forget_link()
        return Text(trace)
    prompt = Prompt(trace.model_id, trace.text, trace.mask, *_settings())
    n = _asked(prompt)
    try:
        writer.check_room(model, trace.n_tokens)
        if n == 0:
            check_mask(trace.mask)
            _keep(prompt, 0)
            return Text(trace, prompt)
        found = writer.written(prompt, n)
    except HeadworkError as error:
        _keep(prompt, 0)
        return Text(trace, error=error)
    _keep(prompt, found.n)
    return Text(found.trace, prompt, found, grew=bool(st.session_state.pop("write_grew", False)))


def before(text: Text) -> NextTokens | None:
    """What was expected in the text before its last token was written."""
    if not text.grew or text.written is None or text.prompt is None:
        return None
    return next_tokens.expected(writer.written(text.prompt, text.written.n - 1).trace)


def again(text: Text) -> Callable[[], AttentionTrace] | None:
    """As `loading.Again`, for the text written on; None while nothing is written."""
    prompt, found = text.prompt, text.written
    if prompt is None or found is None:
        return None
    n = found.n
    return lambda: writer.written(prompt, n).trace


def offer(text: Text) -> None:
    """The button that begins to write, where none is shown yet; greyed with its reason where this text can't grow."""
    if is_open() or (text.prompt is None and text.error is None):
        return
    reason = None if text.error is None else explain(text.error)
    st.button(_("Write on"), key="write_on", on_click=_open, args=(text.prompt,), disabled=bool(reason), help=reason)


def controls(text: Text) -> None:
    """Once writing has begun: back, one token, ten, how they are chosen; and what was computed for the last one."""
    if told := st.session_state.get(TOLD):
        caution(told)
    if not is_open() or (text.prompt is None and text.error is None):
        return
    n = 0 if text.written is None else text.written.n
    may_go_on = text.error is None and (text.written is None or text.written.may_go_on)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="write-row"):
        st.button(_("Back 1"), key="write_back", on_click=_go, args=(text.prompt, n - 1), disabled=n == 0)
        st.button(_("Write 1"), key="write_step", on_click=_go, args=(text.prompt, n + 1), disabled=not may_go_on)
        if may_go_on and st.session_state.get(UNTIL, 0) > n:
            st.button(_("Stop"), key="write_stop", on_click=_stop)
        else:
            go = (text.prompt, n + 1, n + AT_ONCE)
            st.button(_("Write {n}").format(n=AT_ONCE), key="write_run", on_click=_go, args=go, disabled=not may_go_on)
        _how(text)
        if n:
            use, written = _("Use as the sentence"), (text.trace.text,)
            st.button(use, key="write_take", on_click=_take, args=written, type="tertiary")
    if text.error is not None:
        small(words_of(text.error))
    elif text.written is not None:
        small(_told(text.written))


def provenance(trace: AttentionTrace) -> dict[str, str]:
    """For files: how many tokens of the trace the model wrote, and how they were chosen; empty when it wrote none."""
    prompt, n = st.session_state.get(STATE, (None, 0))
    if not n or prompt.model_id != trace.model_id:
        return {}
    return {"written": f"{n} tokens by the model, temperature {prompt.temperature:g}, seed {prompt.seed}"}


def go_on(text: Text) -> None:
    """At the end of the page's picture: writes the next token of a run, with a rerun of the picture for each."""
    until = st.session_state.get(UNTIL, 0)
    if not until:
        return
    if text.written is None or not text.written.may_go_on or text.written.n >= until or text.prompt is None:
        st.session_state[UNTIL] = 0
        if text.written is not None:
            _rerun()  # the button says Run again
        return
    _keep(text.prompt, text.written.n + 1)
    st.session_state["write_grew"] = True
    _rerun()


def take_over() -> None:
    """Starts the whole page over once the text written became the sentence, which stands outside the picture."""
    if st.session_state.pop("write_taken", False):
        st.rerun()


def _told(written: Written) -> str:
    """What the last step computed and what was kept; why no more can be written."""
    trace = written.trace
    config = loading.load_model(trace.model_id).config
    said = [
        _n(
            "{n} token written; the last step computed row {row} alone.",
            "{n} tokens written; the last step computed row {row} alone.",
            written.n,
        ).format(n=written.n, row=trace.n_tokens),
        _(
            "Key-value cache: 2 × {layers} layers × {heads} key heads × {n} tokens × {width} numbers = {size} MB."
        ).format(
            layers=config.num_layers,
            heads=config.key_heads,
            n=trace.n_tokens,
            width=config.d_k,
            size=f"{written.cache_bytes / 1e6:.2f}",
        ),
    ]
    if written.ended:
        said.insert(1, _("The model ended the text with {token}.").format(token=trace.tokens[-1]))
    elif written.is_full:
        said.insert(1, _("Writing on stops here: the text has {n} tokens.").format(n=trace.n_tokens))
    return " ".join(said)


# -- what is asked for: session and link -----------------------------------------------------------------------------


def _settings() -> tuple[float, int]:
    """Temperature and seed, as chosen or as the link says."""
    temperature = st.session_state.setdefault("write_temperature", _from_link("temperature", _temperature, 0.0))
    seed = st.session_state.setdefault("write_seed", _from_link("write_seed", _seed, 0))
    links.write("temperature", f"{temperature:g}", "0")
    links.write("write_seed", str(seed), "0")
    return float(temperature), int(seed)


def _how(text: Text) -> None:
    """Behind a button that says it: how the next token is chosen."""
    temperature, seed = st.session_state["write_temperature"], st.session_state["write_seed"]
    said = _("temperature {t}, seed {seed}").format(t=f"{temperature:g}", seed=seed)
    with st.popover(said if temperature else _("most probable"), disabled=text.error is not None):
        st.number_input(
            _("Temperature"),
            0.0,
            HIGHEST_TEMPERATURE,
            step=0.1,
            key="write_temperature",
            persist_state="session",
            on_change=_forget_told,
            help=_(
                "0 writes the most probable token each time. Above 0 a token is drawn: the logits are divided by the "
                "temperature before the softmax, so that a high one makes unlikely tokens likelier."
            ),
        )
        st.number_input(
            _("Seed of the draws"), 0, MOST_SEED, key="write_seed", persist_state="session", on_change=_forget_told
        )


def _asked(prompt: Prompt) -> int:
    """How many tokens are to be written on this prompt. Another prompt, or another setting, begins anew."""
    if STATE not in st.session_state:
        n = _from_link("write", _number, 0, key=STATE)
        st.session_state[OPEN] = n > 0 or is_open()
        _keep(prompt, n)
    of, n = st.session_state[STATE]
    if of != prompt:
        n = st.session_state[UNTIL] = 0
    return int(n)


def _keep(prompt: Prompt, n: int) -> None:
    st.session_state[STATE] = (prompt, n)
    links.write("write", str(n), "0")


def is_open() -> bool:
    """Whether the row of buttons is shown: since the person, or the link, began to write."""
    return bool(st.session_state.get(OPEN))


def _open(prompt: Prompt) -> None:
    st.session_state[OPEN] = True
    _go(prompt, 1)


def _go(prompt: Prompt, n: int, until: int = 0) -> None:
    _forget_told()
    st.session_state["write_grew"] = n > st.session_state[STATE][1]
    st.session_state[STATE] = (prompt, n)
    st.session_state[UNTIL] = until


def _stop() -> None:
    st.session_state[UNTIL] = 0


def _take(text: str) -> None:
    st.session_state["text"] = text
    st.session_state["write_taken"] = True


def _forget_told() -> None:
    st.session_state.pop(TOLD, None)


def _forget_link() -> None:
    """Another model than a decoder has nothing to write on."""
    for name in ("write", "temperature", "write_seed"):
        st.query_params.pop(name, None)


def _rerun() -> None:
    context = get_script_run_ctx()
    is_part = context is not None and bool(context.fragment_ids_this_run)
    st.rerun(scope="fragment" if is_part else "app")


# -- spelled in links ------------------------------------------------------------------------------------------------


def _from_link(name: str, parse: Callable[[str], T], default: T, key: str | None = None) -> T:
    """As `links.read`; what is impossible is told on the page, until the person writes on."""

    def told(text: str) -> T:
        try:
            return parse(text)
        except HeadworkError as error:
            st.session_state[TOLD] = _(error.template).format(**error.values)
            raise

    return links.read(name, told, default, key=key or f"write_{name.removeprefix('write_')}")


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= HIGHEST_TEMPERATURE:  # nan isn't either
        raise HeadworkError(
            "The link asks for the temperature {value}; here it is 0 to {most}.",
            value=text[:LONGEST_TOLD],
            most=f"{HIGHEST_TEMPERATURE:g}",
        )
    return value


def _seed(text: str) -> int:
    check_settings(0.0, seed := _whole(text))
    return seed


def _number(text: str) -> int:
    if not 0 <= (n := _whole(text)) <= writer.MOST_TOKENS:
        raise HeadworkError(
            "The link asks for {value} tokens to be written; here it is 0 to {most}.",
            value=text[:LONGEST_TOLD],
            most=writer.MOST_TOKENS,
        )
    return n


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else -1
