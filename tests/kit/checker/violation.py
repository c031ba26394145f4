"""What the checker says when a promise was broken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise, with the rows that show it."""

    invariant: str
    instance: str
    seq: int
    """The row at which it shows; 0 when it is about the run as a whole or about its end."""
    message: str
    excerpt: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{self.invariant} {self.instance or 'run'}@{self.seq}: {self.message}"
        return "\n".join([head, *(f"    {line}" for line in self.excerpt)])
