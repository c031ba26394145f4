"""A document under construction, and what may appear in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.kit.workload.choices import Choices
from tests.kit.workload.drawing import Document


@dataclass(frozen=True, slots=True)
class Taste:
    """What may appear in a document."""

    smallest: int = 1
    largest: int = 40
    races: bool = True
    """Whatever depends on who is first: any, atLeast, cancelRest, cancels, terminate."""
    waits: bool = True
    approvals: bool = True
    delays: bool = True
    time_limits: bool = True
    endless_waits: bool = True
    """Waits that only an event ends."""
    loops: bool = True


@dataclass(slots=True)
class Draft:
    """A document under construction."""

    choices: Choices
    taste: Taste
    nodes: list[Document] = field(default_factory=list)
    edges: list[Document] = field(default_factory=list)
    ports: list[tuple[str, str]] = field(default_factory=list)
    """Handles on which further nodes may hang."""
    ancestors: dict[str, set[str]] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    """Node → its outputVariable."""
    around: dict[str, str | None] = field(default_factory=dict)
    """Node → the innermost loop around it."""
    loop: str | None = None
    """The loop whose body is made."""
    depth: int = 0
    sights: tuple[str, ...] = ()
    """What expressions in this body see of its iteration: numbers, or nothing."""
