"""What a browser keeps for a class: which phone it is, and in the teacher's tab the secret of the room."""

import re

from ui.frame.components import register

_kept = register("kept")


def phone() -> str:
    """The random name that this browser has among the phones; "" until the browser has said it."""
    return _said("phone", area="browser", made=True, like=r"[0-9a-f]{32}")


def secret() -> str:
    """The secret of the room that this tab opened, before it was loaded again; "" where there is none."""
    return _said("room", area="tab", made=False, like=r"[\w-]{43}")


def keep_secret(value: str) -> None:
    """Lets this tab keep the secret of its room; "" = none any more."""
    _kept(key="kept-secret", data={"name": "headwork-room", "area": "tab", "value": value})


def _said(name: str, *, area: str, made: bool, like: str) -> str:
    data = {"name": f"headwork-{name}", "area": area, "made": made}
    said = _kept(key=f"kept-{name}", data=data, on_kept_change=lambda: None).get("kept")
    return said if isinstance(said, str) and re.fullmatch(like, said) else ""
