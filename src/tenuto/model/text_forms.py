"""Forms of text, such as moments: the patterns in schemas that are made of types."""

from __future__ import annotations

from msgspec import Struct


class TextForm(Struct, frozen=True, kw_only=True):
    """A form of text."""

    pattern: str
    name: str
    example: str


_DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_HOUR = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?"

MOMENT = TextForm(pattern=f"^{_DAY}[Tt ]{_HOUR}$", name="a moment", example="2026-11-17T12:00:00Z")
DATE = TextForm(pattern=f"^{_DAY}$", name="a date", example="2026-11-17")
TIME = TextForm(pattern=f"^{_HOUR}$", name="a time of day", example="12:00:00Z")
LENGTH = TextForm(pattern="^[+-]?[Pp]", name="a length of time", example="PT1H")
UUID = TextForm(
    pattern="^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$",
    name="a UUID",
    example="01a1e961-4b6f-77ac-bada-f894ec744c0f",
)

BY_PATTERN = {each.pattern: each for each in (MOMENT, DATE, TIME, LENGTH, UUID)}
