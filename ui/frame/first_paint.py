"""The app is shown once it stands: what a page gets piece by piece would move what is there already.

Styles come too late for that: Streamlit sends them as elements, and fetches the script that draws such an element when
it has drawn others. One stylesheet alone is linked before anything is drawn, that of the theme's fonts, so a rule that
hides the page goes along with it. `shown.js` shows the page when it stands; four seconds later it is seen in any case.
"""

from urllib.parse import quote

from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session

HIDDEN = (
    "html:not([data-stands]) .stApp *{visibility:hidden;animation:stands 0s 4s forwards}"
    "@keyframes stands{to{visibility:visible}}"
)


def hide_until_it_stands() -> None:
    """From the next message about a session on, in this process."""
    populate = app_session._populate_theme_msg

    def populate_and_hide(message: CustomThemeConfig, section: str = "theme") -> None:
        populate(message, section)
        if section == "theme":
            message.font_sources.add(config_name="headwork", source_url=f"data:text/css,{quote(HIDDEN)}")

    app_session._populate_theme_msg = populate_and_hide  # type: ignore[assignment]
