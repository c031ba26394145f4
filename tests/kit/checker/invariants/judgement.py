"""What an invariant is given to judge: a row about to be taken in, or an instance at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from tests.kit.checker.expression import Evaluate, Unknown, truthy
from tests.kit.checker.life import Life
from tests.kit.checker.picture import Picture
from tests.kit.checker.record import Fields, Instance, Row, Run
from tests.kit.checker.violation import Violation


@dataclass(slots=True)
class Ledgers:
    """What a run kept beside the instances, by what it is asked for."""

    run: Run
    events: dict[str, Fields] | None = None
    effects: dict[str, list[Fields]] | None = None
    commits: dict[str, list[Fields]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for commit in self.run.commits or ():
            self.commits.setdefault(str(commit["instance"]), []).append(commit)
        if self.run.events is not None:
            self.events = {str(event["id"]): event for event in self.run.events}
        if self.run.effects is not None:
            self.effects = {}
            for effect in self.run.effects:
                self.effects.setdefault(str(effect["instance"]), []).append(effect)

    def commit_of(self, instance: str, seq: int) -> int | None:
        """The commit that holds a row, where that is known."""
        for commit in self.commits.get(instance, ()):
            if commit["first"] <= seq <= commit["last"]:
                return int(commit["gseq"])
        return None


@dataclass(slots=True)
class Moment:
    """A row, the picture before it, and how to judge expressions."""

    picture: Picture
    row: Row
    life: Life | None
    ledgers: Ledgers
    evaluate: Evaluate

    def truth(self, expression: str, scope: Fields) -> bool | None:
        """Whether an expression holds; None when that cannot be told."""
        return truth(self.evaluate, expression, scope)


@dataclass(slots=True)
class Rest:
    """An instance after its last row, and what the store keeps of it."""

    picture: Picture
    instance: Instance
    rows: list[Row]
    ledgers: Ledgers
    evaluate: Evaluate

    @property
    def run(self) -> Run:
        return self.ledgers.run

    @property
    def moves(self) -> bool:
        """Nothing holds it back: neither an end that was decided, nor a pause, nor a queue."""
        picture = self.picture
        return not picture.ending and picture.status not in ("PAUSED", "CREATED")


class Telling(NamedTuple):
    """An event that follows from a row."""

    id: str
    pattern: str
    at: int
    instance: str
    status: str


@dataclass(slots=True)
class Summary:
    """What the run as a whole is judged by, kept of each instance."""

    id: str
    input: object
    definition: object
    key: object
    status: str
    counts: dict[str, int]
    last_seq: int
    parent: Fields | None = None
    event: str | None = None
    """The event that started it."""
    origin: str | None = None
    """The instance that led to it by events."""
    began_at: int = 0
    started_by: tuple[str, ...] = ()
    """The patterns of those that may."""
    births: list[Row] = field(default_factory=list)
    deaths: dict[str, Row] = field(default_factory=dict)
    given_up: dict[str, int] = field(default_factory=dict)
    """Child → the moment since which its step does not wait for it any more."""
    asked: frozenset[str] = frozenset()
    """From where it was asked to end."""
    asked_at: tuple[int, ...] = ()
    """And when."""
    rerun_of: str | None = None
    reused: dict[str, Row] = field(default_factory=dict)
    completed: dict[str, Row] = field(default_factory=dict)
    """Node → the row that completed it, of those outside of loops."""
    ordered: frozenset[str] = frozenset()
    """Nodes of which an attempt was ordered."""
    ended_at: int | None = None
    deadline: int | None = None
    output: object = None
    decided: frozenset[tuple[str, ...]] = frozenset()
    """Node, iteration, decision and who decided."""
    outputs: dict[str, object] = field(default_factory=dict)
    """Child → what its parent recorded as its output."""
    tells: tuple[Telling, ...] = ()
    """What those who listen are owed of it, in this order."""


@dataclass(slots=True)
class Whole:
    """All instances of a run, and its ledgers."""

    ledgers: Ledgers
    summaries: list[Summary] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def truth(evaluate: Evaluate, expression: str, scope: Fields) -> bool | None:
    try:
        return truthy(evaluate(expression, scope))
    except Unknown:
        return None


EachRow: TypeAlias = Callable[[Moment], Iterator[str]]
AtRest: TypeAlias = Callable[[Rest], Iterator[str]]
OverRun: TypeAlias = Callable[[Whole], Iterator[Violation]]
