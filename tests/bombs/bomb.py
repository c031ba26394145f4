"""One entry of the corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

Made = TypeVar("Made")


class Bomb(NamedTuple, Generic[Made]):
    """A name, and what makes the document: large ones exist only while they are used."""

    name: str
    make: Callable[[], Made]
