"""The tab "Export": tables, trained weights, and the trained network as a model of this session on other pages."""

from collections.abc import Callable

import streamlit as st

from analysis.evidence.trainings import curves_table, heads_table, source
from analysis.maps.export import csv_bytes
from model import HeadworkError
from model.masks import parse_mask
from model.training import saved
from model.training.kinds import AnyRun, AnySettings
from model.training.translate import TranslateSettings
from model.version import app_version
from model.weights import trained
from ui.frame import controls
from ui.frame.captions import small
from ui.frame.languages import _, explain, plain
from ui.learn.runs import Shown
from ui.learn.words import network_names

LARGEST_MB = saved.MOST_BYTES // 10**6  # so much does the server take: .streamlit/config.toml, maxUploadSize
MOST_NAMED = 16  # models of a session in the sidebar's menu; the oldest goes first
FAILED = "learn_not_opened"  # session state, from the press of a button to the run that follows it
# Of a network trained in this session it is known; what a file says of itself, anybody can write.
TRAINED_HERE, FROM_FILE = "trained here", "from a file"
PAGES = {"attention": "Attention", "masks": "Masks", "inside": "Inside a block"}


def export_tab(shown: Shown) -> None:
    """Files of the run, the run on other pages, and a file that comes back."""
    left, right = st.columns(2, gap="large")
    with left:
        if not shown.is_trained:
            st.info(_("Train first: then the run can be exported."))
        elif shown.live:
            st.info(_("Pause or wait for the end: then the run can be exported."))
        else:
            _files(shown)
    with right:
        if shown.is_trained and not shown.live:
            _elsewhere(shown)
        _saved()


def _files(shown: Shown) -> None:
    st.markdown(f"**{_('This run as files')}**")
    runs = shown.trainings
    about = source(runs[-1]) | {"program": f"headwork {app_version()}"}
    with st.container(horizontal=True):
        _download(_("Curves (CSV)"), lambda: csv_bytes(curves_table(runs), about), "curves.csv", "text/csv")
        _download(_("Heads (CSV)"), lambda: csv_bytes(heads_table(runs), about), "heads.csv", "text/csv")
    with st.container(horizontal=True):
        for number, name in enumerate(network_names([run.settings for run in runs])):
            label = _("Weights, {network} (safetensors)").format(network=name)
            file_name = f"{_file_name(runs[number])}.safetensors"
            _download(label, _weights(shown, number), file_name, "application/octet-stream")
    st.caption(_("Every file says task, settings and seed. Saved weights open here again, in any Headwork."))
    if shown.record is not None:
        small(_("The same training from a terminal:"))
        st.code(shown.record.command, language=None, wrap_lines=True)


def _elsewhere(shown: Shown) -> None:
    st.markdown(f"**{_('Look at it on another page')}**")
    names = network_names([run.settings for run in shown.trainings])
    chosen = 0
    if len(names) > 1:
        chosen = st.segmented_control(
            _("Network"),
            list(range(len(names))),
            default=len(names) - 1,
            required=True,
            format_func=lambda number: names[number] if number < len(names) else "",
            key="learn_export_network",
            label_visibility="collapsed",
        )
    number = min(int(chosen or 0), len(names) - 1)
    _open_buttons("run", _weights(shown, number), TRAINED_HERE, shown.trainings[number].settings)


def _saved() -> None:
    st.markdown(f"**{_('Open saved weights')}**")
    file = st.file_uploader(
        _("Weights saved on this page, up to {size} MB").format(size=LARGEST_MB),
        type=["safetensors"],
        key="learn_upload",
        max_upload_size=LARGEST_MB,
    )
    if file is None:
        return
    content = file.getvalue()
    try:
        trained.from_bytes(content)
        found = saved.about(content)
    except HeadworkError as error:
        st.error(f"{plain(file.name)}: {explain(error)}", icon="✋")
        return
    st.markdown(
        plain(
            _("{name}. The file says: {share:.0%} right after {step} steps.").format(
                name=_(_label(found, FROM_FILE)), share=found.accuracy, step=found.step
            )
        )
    )
    _open_buttons("file", lambda: content, FROM_FILE, found.settings)


def _open_buttons(of: str, make: Callable[[], bytes], origin: str, settings: AnySettings) -> None:
    with st.container(horizontal=True):
        for page, title in PAGES.items():
            if page != "attention" and isinstance(settings, TranslateSettings):
                continue  # the other pages take models of one part
            if st.button(_(title), key=f"learn_open_{of}_{page}", on_click=_take, args=(make, origin)):
                if FAILED not in st.session_state:
                    st.switch_page(f"pages/{page}.py")
                st.error(explain(st.session_state.pop(FAILED)), icon="✋")
    st.caption(_("It becomes the model in the sidebar, with a sentence of its task and the mask of its training."))


def _take(make: Callable[[], bytes], origin: str) -> None:
    """Remembers the network and lets the sidebar name it: TRAINED_HERE or FROM_FILE."""
    try:
        content = make()
        model_id = trained.put(content)
    except HeadworkError as error:  # a training that went wrong has weights that are not numbers
        st.session_state[FAILED] = error
        return
    found = saved.about(content)
    named = st.session_state.get(controls.TRAINED, {}) | {model_id: _label(found, origin)}
    st.session_state[controls.TRAINED] = dict(list(named.items())[-MOST_NAMED:])
    controls.take(found.sample, model_id, parse_mask(found.mask))


def _label(found: saved.Saved, origin: str) -> str:
    """What the sidebar's menu calls it, in English: `ui.frame.languages.translate` knows the form."""
    heads, layers = (
        f"{n} {name}" + ("s" if n > 1 else "")
        for n, name in ((found.settings.heads, "head"), (found.settings.layers, "layer"))
    )
    return f"{found.settings.rule.title}, {heads}, {layers}, seed {found.settings.seed} ({origin})"


def _weights(shown: Shown, number: int) -> Callable[[], bytes]:
    """Makes a network's file when it is asked for; asked twice, the same one, since its bytes are its name."""
    training = shown.trainings[number]
    return lambda: _file((shown.name, number, training.step_number), training)


@st.cache_data(max_entries=32, show_spinner=False)
def _file(name: tuple[str, int, int], _training: AnyRun) -> bytes:
    return saved.to_bytes(_training)


def _file_name(training: AnyRun) -> str:
    settings = training.settings
    return f"{settings.task}-{settings.heads}-heads-{settings.layers}-layers-seed-{settings.seed}"


def _download(label: str, make: Callable[[], bytes], file_name: str, mime: str) -> None:
    key = f"learn_export_{file_name.replace('.', '_')}"
    st.download_button(label, make, file_name=f"headwork-{file_name}", mime=mime, key=key, on_click="ignore")
