"""The Attention page's picture: the sentence, one head large, all heads small, and the tabs below."""

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis import READINGS, Reading, telling_metrics
from model import AttentionTrace, HeadworkError, Mask
from ui.attention import elsewhere, find, maps, next_tokens, two_texts, writing
from ui.attention import view as explorer_view
from ui.attention.compare import compare_tab
from ui.attention.export import export_tab
from ui.attention.layer_heads import heads_tab
from ui.attention.numbers import numbers_tab
from ui.attention.pair import between_texts
from ui.attention.strip import strip
from ui.attention.two_nouns import lesson
from ui.attention.view import BY_MAP, BY_PAIR, View
from ui.frame import chinese_words, components, examples, loading, remarks
from ui.frame.captions import chart, page_title, small, text_scale
from ui.frame.faults import fragment
from ui.frame.languages import _, explain, plain
from ui.frame.loading import Again
from ui.frame.tabs import open_tab
from viz.heatmaps import head_heatmap
from viz.maps import Maps
from viz.style import Style

MAP_HEIGHT = 380  # pixels: sentence, maps and controls stand on a laptop's screen without scrolling
HIGH_MAP_HEIGHT = 420  # beside the small maps of many layers, which are higher
LARGE_MAP_HEIGHT = 500
LOW_GRID = 8  # layers whose small maps are no higher than the large map
HIGHEST_GRID = (
    16  # layers whose small maps leave the reading below them on the screen; with more it stands below the map
)
# What Streamlit has no setting for: labels of layer and head beside their buttons, or above them where these stand in
# a column beside the map.
STYLE = """<style>
.st-key-layer-head .stButtonGroup { display: flex; flex-flow: row wrap; align-items: center; gap: 0 0.6rem; }
.st-key-layer-head .stButtonGroup label { margin: 0; min-height: 0; }
.st-key-layer-head .stButtonGroup button { min-width: 34px; padding-inline: 0.4rem; }
@media (max-width: 640px) {
  .st-key-explore > :has(.st-key-strip-strip) { order: -2; }
  .st-key-explore > :has(.st-key-layer-head) { order: -1; }
  .st-key-explore .stColumn:has(> * > .st-key-beside-map) { order: -1; }
  .st-key-layer-head { gap: 0.4rem; }
  .st-key-two-texts { flex-wrap: wrap; }
  .st-key-layer-head .stButtonGroup { flex-wrap: nowrap; align-items: flex-start; }
  .st-key-layer-head .stButtonGroup label { flex: none; min-height: 34px; }
  .st-key-head_map .stPlotlyChart { height: 340px !important; }
  .st-key-next-row { flex-wrap: wrap; }
  .st-key-next-row > :has(.st-key-next-tokens) { flex: 1 0 100%; }
}
@media (min-width: 800px) {
  .st-key-beside-map .st-key-layer-head .stButtonGroup { flex-flow: column; align-items: flex-start; }
  .st-key-beside-map .st-key-layer-head .stButtonGroup button { flex: 0 0 34px; }
}
</style>"""
# These heights are for a laptop's window, 720 pixels high. A higher window has a higher map, where its column is
# as wide: a map is square.
HEIGHTS = "".join(
    f".st-key-large-map-{height} .stPlotlyChart {{ height: max({height}px, min({height - 720}px + 100vh, {widest})) "
    "!important; }\n"
    for height, widest in {MAP_HEIGHT: "50vw - 60px", HIGH_MAP_HEIGHT: "38vw - 60px", LARGE_MAP_HEIGHT: "50vw"}.items()
)
TABS = {
    "heads": "More maps",
    "numbers": "Numbers",
    "compare": "Compare A | B",
    "take": "Export",
}


def title() -> None:
    """The page's question, and behind two buttons how its pictures look and are read."""
    st.html(f"<style>{HEIGHTS}</style>" + STYLE)
    with page_title(_("What does each head look at?")):
        explorer_view.look()
        with st.popover(_("How to read this"), icon=":material/help:"):
            remarks.how_to_read()
            next_tokens.how_to_read()
            two_texts.how_to_read()


def asked(sentence: str, model_id: str, mask: Mask) -> Callable[[], AttentionTrace]:
    """What the picture is of, and what to beware of with it. An encoder–decoder has a target beside the sentence.

    Raises:
        HeadworkError: as `loading.trace`, `loading.two_texts`.
    """
    if loading.is_encoder_decoder(model_id):
        return two_texts.ask(sentence, model_id, mask)
    two_texts.forget_link()
    trace = loading.trace(sentence, model_id, mask)
    remarks.cut(trace)
    remarks.cautions(trace)
    return Again(trace, sentence)


@fragment
def explore(again: Callable[[], AttentionTrace]) -> None:
    """Everything that layer, head and reading change: a choice here reruns nothing else."""
    prompt = again()
    writing.take_over()
    text = writing.read(prompt)
    trace = text.trace
    with st.container(gap="xsmall", key="explore"):
        strip_place = st.container(gap="xsmall", key="sentence")
        map_place, side_place = st.columns([6, 5], gap="medium")
        side = side_place.container(gap="xsmall")
        overview_place, reading_place = side.container(gap="xsmall"), side.container(gap="xsmall")
        height = map_height(text_scale(), trace.n_layers)
        if trace.n_layers > LOW_GRID:  # as high as the small maps, layer and head in a column beside it
            large, beside = map_place.columns([3, 1], gap="small")
            head_place = beside.container(key="beside-map")
            if trace.n_layers > HIGHEST_GRID:
                reading_place = map_place.container(gap="xsmall")
            status_place = map_place.container()
        else:
            large, head_place, status_place = map_place, st.container(), st.container()
        large_place = large.container(key=f"large-map-{height}")
        view = explorer_view.read_controls(trace, head_place, reading_place)
    try:
        reading = maps.reading(trace, view)
    except HeadworkError as error:
        st.error(explain(error), icon="✋")
        return
    style = maps.style(reading, view)
    colour = _colour(trace, reading, view, overview_place)
    with strip_place:
        found = next_tokens.expected(trace, writing.before(text))
        if text.grew:  # the new token's row is what there is to see
            explorer_view.pin(explorer_view.places(reading.trace), len(reading.trace.labels) - 1)
        ranks = (writing.again(text) or again) if colour == BY_PAIR else None
        strip(trace, reading, view, style, again=ranks, expected=found, n_prompt=text.n_prompt)
        if found is not None:
            with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="next-row"):
                next_tokens.panel(trace, found, reading.trace.units, text_scale=view.text_scale)
                writing.offer(text)
            next_tokens.beware(trace)
            writing.controls(text)
    with large_place:
        _map(reading, view, style, height=height)
    with overview_place:
        _overview(trace, reading, view, style, colour)
        find.offer(trace, view)
    told = [elsewhere.told(trace, reading, view), _lost_pin(trace, reading), *_whose_words(trace, reading, view)]
    reading_place.markdown(f":small[{plain(' '.join(told))}]")
    with reading_place:
        elsewhere.offer(trace, view)
    with status_place:
        remarks.status(trace, view.name)
    kind = READINGS[view.reading]
    st.markdown(f"**{plain(_(kind.title))}.** {plain(_(kind.shows))} {plain(_(kind.leaves_out))}")
    if two_texts.family(trace) is None:
        lesson(trace, view)
    if trace.tokenized.is_pair:
        between_texts(trace, reading, view, style)
    _tabs(trace, reading, view, style)
    writing.go_on(text)


def _map(reading: Reading, view: View, style: Style, *, height: int) -> None:
    of = reading.trace
    shown = Maps.of(of, view.layer, view.head)
    figure = head_heatmap(
        shown, style, title=_("Head {name}").format(name=view.name), height=height, t=maps.words(view)
    )
    chart(figure, "head_map", grown=True, alt=_alt(view), height="stretch")


def _colour(trace: AttentionTrace, reading: Reading, view: View, place: DeltaGenerator) -> str:
    measured = reading.trace if view.reading == "without_first" else maps.units(trace, view.level)
    with place:
        return explorer_view.colour_by(telling_metrics(measured))


def _overview(trace: AttentionTrace, reading: Reading, view: View, style: Style, colour: str) -> None:
    of = reading.trace
    pair = find.pair((of.labels, of.keys)) if colour == BY_PAIR else None
    metric = None
    if pair is not None:
        metric = find.metric(of, pair, style)
    elif colour not in (BY_MAP, BY_PAIR):
        metric = maps.metric(trace, view, colour)
    components.overview(
        of.attention,
        of.allowed,
        selected=(view.layer, view.head),
        key="overview",
        source=maps.source(trace, view),
        metric=metric,
        style=style,
        has_scale=False,  # the large map has it
        n_key_heads=0 if two_texts.family(trace) else loading.load_model(trace.model_id).config.num_key_heads,
        t=maps.words(view),
        on_pick=explorer_view.go_to,
    )
    if colour == BY_PAIR:
        small(find.ranking(of, pair))


def map_height(scale: float, n_layers: int) -> int:
    """Of the large map in a laptop's window, in pixels, for text so many times as large."""
    if scale > 1:
        return LARGE_MAP_HEIGHT
    return MAP_HEIGHT if n_layers <= LOW_GRID else HIGH_MAP_HEIGHT


def _alt(view: View) -> str:
    return _("Attention map of head {name}: each row is a query, each column a key.").format(name=view.name)


def _lost_pin(trace: AttentionTrace, reading: Reading) -> str:
    labels = explorer_view.places(reading.trace)
    word = explorer_view.lost_pin(labels, explorer_view.pinned(labels, examples.look(trace.text)))
    return _("“{token}”, pinned before, is not a token here.").format(token=word) if word else ""


def _whose_words(trace: AttentionTrace, reading: Reading, view: View) -> list[str]:
    """Who parted the words that are shown, and which of them one piece holds."""
    segmenter = reading.trace.units.segmenter
    together = chinese_words.standing_together(trace.tokenized) if view.level == "words" and segmenter else ""
    return [chinese_words.who_parted(segmenter), together]


def _tabs(trace: AttentionTrace, reading: Reading, view: View, style: Style) -> None:
    """Only the open tab is computed."""
    opened, place = open_tab(TABS, state="view", link="view")
    with place:
        try:
            if opened == "heads":
                heads_tab(trace, reading, view, style)
            elif opened == "numbers":
                numbers_tab(trace, view)
            elif opened == "compare":
                compare_tab(trace, reading, view, style)
            else:
                export_tab(trace, reading, view, style)
        except HeadworkError as error:
            st.error(explain(error), icon="✋")
