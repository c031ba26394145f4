"""Sizes and counts in settings, and the refusal of those that cannot be."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

MOST = 10**15
"""The largest of them: it is below what JSON and every store can keep exactly."""
Size: TypeAlias = Annotated[int, Meta(ge=1, le=MOST)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=MOST)]


def refuse_sizes(given: Struct, *, least: int) -> None:
    """ValueError with all fields that are not from `least` to `MOST`."""
    names = given.__struct_fields__
    wrong = [name for name in names if not least <= getattr(given, name) <= MOST]
    if wrong:
        raise ValueError("; ".join(f"{name} is from {least} to {MOST:,}" for name in wrong))
