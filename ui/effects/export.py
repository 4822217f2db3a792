"""Files of what is shown: the table of heads, everything as JSON, and the picture."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import streamlit as st

from analysis.effects.report import as_text
from analysis.maps.export import csv_bytes
from model.version import app_version
from ui.effects import says
from ui.effects.data import Measured
from ui.effects.picture import effect_scale, marks, pictures
from ui.frame.languages import _, translator
from viz.export import fonts
from viz.export.grids import figures_html, grid_layout
from viz.export.images import png_bytes, svg_text
from viz.export.layout import MapLayout

if TYPE_CHECKING:
    import pandas as pd


def popover(measured: Measured, head: tuple[int, int]) -> None:
    """A button behind which the files are; each is made when it is asked for."""
    about, notes = source(measured), [says.conditions(measured), f"{says.headline(measured)} {says.details(measured)}"]
    title, scale, marked = _("Effect when off"), effect_scale(measured), marks(measured, head)
    drawn, t = pictures(measured, head), translator()  # files are made in a thread that knows no session

    def layout() -> MapLayout:
        return grid_layout(
            measured.mean, scale, marked, title=title, notes=notes, source=about, measure=fonts.width, t=t
        )

    def page() -> bytes:
        return figures_html(title, notes[1], [(name, figure) for name, _key, figure in drawn], about).encode()

    with st.popover(_("Export"), icon=":material/download:"):
        _button(_("Heads as a table (CSV)"), lambda: csv_bytes(table(measured), about), "csv", "text/csv")
        _button(_("Everything (JSON)"), lambda: as_text(measured.raw).encode(), "json", "application/json")
        _button(_("Picture (PNG)"), lambda: png_bytes(layout()), "png", "image/png")
        _button(_("Picture (SVG)"), lambda: svg_text(layout()).encode(), "svg", "image/svg+xml")
        _button(_("Page that works offline (HTML)"), page, "html", "text/html")


def table(measured: Measured) -> "pd.DataFrame":
    """A head a row: effect with its interval, attention, direct effect."""
    import pandas as pd

    n_layers, n_heads = measured.mean.shape
    rows = []
    for layer in range(n_layers):
        for head in range(n_heads):
            low, high = measured.bounds((layer, head)) or (None, None)
            direct = None if measured.direct is None else measured.direct[layer, head]
            rows.append(
                {
                    **{"layer": layer + 1, "head": head + 1, "effect": measured.mean[layer, head]},
                    **{"low": low, "high": high, "attention": measured.attention[layer, head], "direct": direct},
                }
            )
    return pd.DataFrame(rows)


def source(measured: Measured) -> Mapping[str, str]:
    """What the files say about themselves, in English whatever the language: programs read it."""
    raw = measured.raw
    return {
        "app": f"Headwork {app_version()}",
        "model": str(raw["label"]),
        "model_id": str(raw["model"]),
        "weights_sha256": str(raw["sha256"] or "none: untrained"),
        "off": str(raw["off"]),
        "mask": str(raw["mask"]),
        "prompts": str(raw["n"]),
        "measure": "change of the logit difference"
        if measured.of == "logits"
        else f"cosine distance of the {measured.of}",
    }


def _button(label: str, make: Callable[[], bytes], ending: str, mime: str) -> None:
    name = f"headwork-effects.{ending}"
    st.download_button(
        label, make, file_name=name, mime=mime, key=f"effects_export_{ending}", on_click="ignore", width="stretch"
    )
