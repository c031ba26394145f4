"""Shrinks a failing run: fewer mishaps first, then earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from tenuto.testing.mishaps import Mishap

Breaks = Callable[[Sequence[Mishap]], bool]


def shrunk(mishaps: Sequence[Mishap], breaks: Breaks) -> list[Mishap]:
    """The smallest list that still breaks, as far as single changes lead."""
    found = list(mishaps)
    while (smaller := _smaller(found, breaks)) is not None:
        found = smaller
    return found


def _smaller(mishaps: Sequence[Mishap], breaks: Breaks) -> list[Mishap] | None:
    for place in range(len(mishaps)):
        fewer = [*mishaps[:place], *mishaps[place + 1 :]]
        if breaks(fewer):
            return fewer
    for place, mishap in enumerate(mishaps):
        for at in range(1, mishap.at):
            earlier = [*mishaps[:place], replace(mishap, at=at), *mishaps[place + 1 :]]
            if breaks(earlier):
                return earlier
    return None
