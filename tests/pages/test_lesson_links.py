"""“Open it in the app” opens the page at what the step spoke of."""

from urllib.parse import parse_qsl

import pytest

from analysis.lessons import setup_of
from analysis.lessons.shelf import shipped
from ui.lessons import asked

KEPT = ("relation", "corpus", "direction", "set", "at")


def links(language):
    """(page, what its address says) of the steps that lead to the pages of evidence."""
    for lesson in shipped().lessons:
        for step in lesson.steps:
            if step.view and step.view["page"] in ("heads", "effects"):
                page, _, query = asked.view_link(step.view, setup_of(step.setup, language)).partition("?")
                yield lesson.id, step.id, page, dict(parse_qsl(query))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_links_to_the_pages_of_evidence_choose_what_they_name(app, monkeypatch, language):
    monkeypatch.setattr(asked, "language_now", lambda: language)
    found = list(links(language))
    assert len(found) > 8
    for lesson, step, page, wanted in found:
        shown = type(app)().open_page(page, **wanted).test.session_state
        kept = {name: shown[f"{page}_{name}"] for name in KEPT if name in wanted}
        assert kept == {name: wanted[name] for name in kept}, (lesson, step)
