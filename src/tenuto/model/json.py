"""The one type of value that crosses Tenuto's edges: JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    JSON: TypeAlias = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
else:
    # msgspec cannot resolve a recursive alias; "anything" is checked where it enters.
    JSON: TypeAlias = Any

Object: TypeAlias = dict[str, JSON]
