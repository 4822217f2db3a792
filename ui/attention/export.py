"""Files and a link to export: each file says model, weights, mask, text and app version."""

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlencode

import streamlit as st

from analysis import READINGS, Reading, csv_bytes, npz_bytes, provenance, tidy
from analysis.maps.export import MOST_ROWS, level_of
from model import AttentionTrace
from ui.attention import maps, two_texts, writing
from ui.attention import view as explorer_view
from ui.attention.view import View
from ui.frame import examples, links
from ui.frame.languages import _, plain
from viz.export import fonts
from viz.export.html import page_html
from viz.export.images import png_bytes, svg_text
from viz.export.layout import MapLayout, map_layout
from viz.maps import Maps
from viz.style import Style
from viz.theme import Translate


def export_tab(trace: AttentionTrace, reading: Reading, view: View, style: Style) -> None:
    """The link, and a button for each kind of file. Files are made when they are asked for."""
    st.markdown(f"**{_('The link to this view')}**")
    st.code(_link(), language=None, wrap_lines=True)
    if len(trace.text) > links.LONGEST_TEXT:
        st.caption(_("The text is too long for a link, which leaves it out: send it separately."))
    st.markdown(f"**{_('Head {name} as shown').format(name=view.name)}**")
    of, name = reading.trace, f"headwork-{view.name}"
    source = _source(trace, reading, view)
    t = maps.words(view)  # files are made in another thread, where the session's language isn't known

    def layout() -> MapLayout:
        return _layout(reading, view, style, source, t)

    with st.container(horizontal=True, key="take-head"):
        _button("SVG", lambda: svg_text(layout()).encode(), f"{name}.svg", "image/svg+xml")
        _button("PNG", lambda: png_bytes(layout()), f"{name}.png", "image/png")
        _button("CSV", lambda: csv_bytes(tidy(of, [(view.layer, view.head)]), source), f"{name}.csv", "text/csv")
    st.markdown(f"**{_('All heads')}**")
    n_rows = of.attention.size
    pinned = explorer_view.pinned(explorer_view.places(of), examples.look(trace.text))
    with st.container(horizontal=True, key="take-all"):
        _button(
            _("Page that works offline (HTML)"),
            lambda: page_html(of, source, layer=view.layer, head=view.head, pinned=pinned, style=style, t=t).encode(),
            "headwork.html",
            "text/html",
        )
        _button(
            _("All maps (NPZ)"),
            lambda: _npz(trace, view, source),
            "headwork.npz",
            "application/octet-stream",
            help=_("Weights between tokens, as the model computed them, with tokens and mask."),
        )
        too_many = _("{n:,} rows are more than a table holds ({most:,}). Use the NPZ file.")
        _button(
            _("All heads (CSV)"),
            lambda: csv_bytes(tidy(of), source),
            "headwork-all.csv",
            "text/csv",
            help=too_many.format(n=n_rows, most=MOST_ROWS) if n_rows > MOST_ROWS else None,
            disabled=n_rows > MOST_ROWS,
        )
    st.caption(plain(_("Every file says: {what}.").format(what=" · ".join(f"{k} {v[:60]}" for k, v in source.items()))))


def _button(
    label: str, make: Callable[[], bytes], file_name: str, mime: str, *, help: str | None = None, disabled: bool = False
) -> None:
    st.download_button(
        label,
        make,
        file_name=file_name,
        mime=mime,
        key=f"take_{file_name.rpartition('.')[0].replace('headwork', 'all')}_{mime}",
        on_click="ignore",
        help=help,
        disabled=disabled,
    )


def _npz(trace: AttentionTrace, view: View, source: dict[str, str]) -> bytes:
    """The raw weights between tokens whatever is shown, and what makes them the reading that is."""
    raw = {"reading": READINGS["raw"].title, "level": "pieces", "shown": f"{source['reading']}; {source['level']}"}
    removed = None
    if view.reading in ("without_first", "without_special"):
        removed = maps.reading(trace, replace(view, level="pieces")).removed
    return npz_bytes(trace, source | raw, maps.norms(trace) if view.reading == "norm" else None, removed)


def _layout(reading: Reading, view: View, style: Style, source: dict[str, str], t: Translate) -> MapLayout:
    of = reading.trace
    return map_layout(
        Maps.of(of, view.layer, view.head),
        style,
        title=t("Head {name}").format(name=view.name),
        source=source,
        measure=fonts.width,
        t=t,
    )


def _source(trace: AttentionTrace, reading: Reading, view: View) -> dict[str, str]:
    """What the files say about themselves, in English whatever the language: programs read it."""
    is_rescaled = view.rescale or view.reading == "without_first"
    how = READINGS[view.reading].title + (", rows rescaled to 1" if is_rescaled else "")
    level = level_of(reading.trace.units)
    return provenance(
        trace, head=view.name, reading=how, level=level, **writing.provenance(trace), **two_texts.provenance(trace)
    )


def _link() -> str:
    """The address of this view, as it stands in the address bar."""
    address = (st.context.url or "").partition("?")[0].rstrip("/") + "/"
    said = urlencode({name: st.query_params[name] for name in st.query_params})
    return f"{address}?{said}" if said else address
