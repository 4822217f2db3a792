"""Numbers as lessons say them: weights with two decimals, shares in %, thousands apart, and a true minus sign."""

from __future__ import annotations


def weight(value: float) -> str:
    """0.92."""
    return f"{value + 0.0:.2f}".replace("-", "−")


def percent(share: float) -> str:
    """0.814 → 81 %; 100 % only where nothing is missing, as everywhere in the app."""
    return "99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def ends(low: float, high: float) -> dict[str, str]:
    """An interval of shares, to be put into brackets: 74 and 88."""
    return {"low": percent(low).removesuffix(" %"), "high": percent(high).removesuffix(" %")}


def points(difference: float) -> str:
    """0.279 → +28; 0 has no sign."""
    rounded = round(100 * difference)
    return f"{rounded:+d}".replace("-", "−") if rounded else "0"


def signed(value: float) -> str:
    """0.128 → +0.13; −1.88."""
    return f"{value + 0.0:+.2f}".replace("-", "−")


def probability(p: float) -> str:
    """0.773 → 77 %, 0.012 → 1.2 %, 0.0001 → < 0.1 %."""
    if p >= 0.1:
        return percent(p)
    return f"{100 * p:.1f} %" if p >= 0.001 else "< 0.1 %"


def count(number: int) -> str:
    """1048576 → 1,048,576."""
    return f"{number:,}"
