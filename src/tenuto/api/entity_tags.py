"""Entity tags: whether somebody has the newest already, or changes what they have seen."""

from __future__ import annotations

from collections.abc import Mapping


def is_known(headers: Mapping[str, str], tag: str | None) -> bool:
    """Whether who asks has what would be answered: `If-None-Match` names its tag."""
    asked = headers.get("if-none-match")
    if asked is None or tag is None:
        return False
    named = [each.strip().removeprefix("W/") for each in asked.split(",")]
    return "*" in named or tag in named
