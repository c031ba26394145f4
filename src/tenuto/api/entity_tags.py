"""Entity tags: `If-None-Match` of reads, and `If-Match` of changes."""

from __future__ import annotations

from collections.abc import Mapping

_MOST_DIGITS = 18
"""No version has more; a number of thousands of digits cannot even be read."""


def is_known(headers: Mapping[str, str], tag: str | None) -> bool:
    """Whether the client has this version already: `If-None-Match` names its tag."""
    asked = headers.get("if-none-match")
    if asked is None or tag is None:
        return False
    named = [each.strip().removeprefix("W/") for each in asked.split(",")]
    return "*" in named or tag in named


def read_if_match(if_match: str) -> int | str:
    """The value of `If-Match`: a version, another ETag, or `*`."""
    text = if_match.strip().removeprefix("W/").strip('"')
    is_number = text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else text
