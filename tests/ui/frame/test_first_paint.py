"""The rule that hides the page until it stands travels with the theme's fonts."""

from urllib.parse import unquote

from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session

from ui.frame import first_paint, shell  # noqa: F401  # the shell lets it travel


def test_one_stylesheet_goes_with_the_theme_and_none_with_its_sections():
    theme, dark = CustomThemeConfig(), CustomThemeConfig()
    app_session._populate_theme_msg(theme)
    app_session._populate_theme_msg(dark, "theme.dark")
    (sheet,) = theme.font_sources
    kind, _comma, rules = sheet.source_url.partition(",")
    assert (kind, unquote(rules)) == ("data:text/css", first_paint.HIDDEN)
    assert not dark.font_sources
