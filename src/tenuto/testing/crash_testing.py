"""Searches for faults that break an invariant of a workflow, and reports the shortest way to it.

First nothing goes wrong, to learn how many durable writes, results and events there are. Then each
mishap alone, at each place; then each crash with another one while it is recovered from; then some
together, drawn with the seed. The first that breaks the invariant is made as small as it gets.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.json import Given
from tenuto.model.status import Status
from tenuto.testing.driving import Scripted
from tenuto.testing.engine import Engine, Workflow
from tenuto.testing.failure_file import FOLDER, kept
from tenuto.testing.instance import Instance, status_of
from tenuto.testing.mishap_driver import MishapDriver, resting
from tenuto.testing.mishaps import CRASHES, Kind, Mishap, all_single, kind_of, parse, spelled
from tenuto.testing.misuse import (
    refuse_async,
    refuse_endless,
    refuse_missed,
    refuse_other_end,
    refuse_untaken,
)
from tenuto.testing.shrinking import shrunk

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""

Invariant = Callable[[Instance], object]

_NAPS = 3_600.0
"""Seconds after which timers look again at a clock that is set meanwhile."""
_AT_ONCE = (2, 2, 2, 3)
"""How many mishaps a drawn run has."""
_WHILE_RECOVERING = (1, 2)
"""So many writes after a crash there is another one."""
_MORE_WRITES = 4
"""So many writes are added by the process that takes over, and may be crashed again."""
_TRIES = 5
"""How often something new is drawn for, before it is taken that there is nothing left."""

_WITHOUT_FAULT = "and nothing went wrong: it is so without any fault"
_LEFT_OVER = (
    "and nothing went wrong, though at first it held without any fault: something is left over\n"
    "from an earlier run. Forget it before each: crash_test(…, prepare=lambda engine: …)"
)
_NOT_AGAIN = (
    "but when that was replayed, it held: it depends on something else as well, such as what an\n"
    "earlier run left over. Forget that before each: crash_test(…, prepare=lambda engine: …)"
)


class Tested(Struct, frozen=True, kw_only=True):
    """The runs that a crash test has tried."""

    runs: int
    writes: int
    """Durable writes of the run in which nothing goes wrong."""
    struck: dict[Kind, int]
    """How often each kind of mishap came to pass."""


class InvariantBroken(AssertionError):
    """A workflow breaks its invariant; the message is the story."""

    def __init__(self, story: str, mishaps: Sequence[Mishap], run: Instance) -> None:
        super().__init__(story)
        self.mishaps = tuple(mishaps)
        self.run = run


class _Run(Struct, frozen=True):
    run: Instance
    struck: list[Mishap]
    broken: str | None
    cause: Exception | None


class _Search:
    def __init__(
        self,
        *,
        engine: Engine,
        workflow: Workflow,
        invariant: Invariant | None,
        input: Given,
        events: Sequence[Scripted],
        prepare: Callable[[Engine], object] | None,
    ) -> None:
        self._engine = engine
        self._workflow = workflow
        self._invariant = invariant
        self._input = input
        self._events = events
        self._prepare = prepare
        self.runs = 0
        self.struck: Counter[Kind] = Counter()

    def run(self, mishaps: Sequence[Mishap]) -> _Run:
        """One world, from the start to the end of the workflow."""
        self.runs += 1
        engine = self._engine.twin()
        engine.world.settings = replace(engine.world.settings, longest_nap=_NAPS)
        if self._prepare is not None:
            refuse_async("prepare", self._prepare(engine))
        driver = MishapDriver(engine, self._events, mishaps)
        run = driver.play(self._workflow, self._input)
        self.struck.update(mishap.kind for mishap in driver.struck)
        broken, cause = self._verdict(run)
        engine.lives.end()
        return _Run(run, driver.struck, broken, cause)

    def _verdict(self, run: Instance) -> tuple[str | None, Exception | None]:
        for each in resting(run.engine):
            whose = "" if each.id == run.id else f"of {each.workflow}, which it started: "
            return f"{whose}{each.why_it_rests}", None
        if self._invariant is None:
            return None, None
        try:
            answer = self._invariant(run)
        except Exception as error:  # noqa: BLE001 - whatever it raises, it does not hold
            return _reason(error), error
        refuse_async("an invariant", answer)
        return ("the invariant gave False", None) if answer is False else (None, None)


def crash_test(  # noqa: PLR0913 - each has a name of its own
    workflow: Workflow,
    invariant: Invariant | None = None,
    *,
    input: Given = None,
    events: Sequence[Scripted] = (),
    engine: Engine | None = None,
    prepare: Callable[[Engine], object] | None = None,
    kinds: Iterable[Kind | str] = tuple(Kind),
    runs: int = 100,
    seed: int = 0,
    repeat: str | None = None,
    expect: Status | str = Status.COMPLETED,
) -> Tested:
    """Search for faults that break the invariants of an ended workflow.

    `invariant(run)` raises or gives False when it does not hold; that every instance ends is asked
    in any case. `events` are published when they are waited for, `engine` brings its stubs, and
    `prepare(engine)` is called before each run, to stub and to forget what the last one did.
    `runs` is how many runs have several mishaps; `repeat` runs one story again. `expect` is how the
    workflow ends without any fault. InvariantBroken tells the shortest story that was found.
    """
    search = _Search(
        engine=engine or Engine(),
        workflow=workflow,
        invariant=invariant,
        input=input,
        events=events,
        prepare=prepare,
    )
    chosen = [kind_of(each) for each in kinds]
    expected = status_of(Status, str(expect), "an instance")
    if repeat is not None:
        return _repeated(search, parse(repeat), seed)
    calm = search.run([])
    refuse_endless(calm.run, calm.broken)
    refuse_untaken(calm.run, events, expected)
    if calm.broken is not None:
        _raise_broken(calm, [], _WITHOUT_FAULT)
    refuse_other_end(calm.run, expected)
    writes = calm.run.engine.writes
    size = {"results": len(calm.run.engine.calls()), "events": len(events)}
    single = all_single(chosen, writes=writes, **size)
    several = all_single(chosen, writes=writes + _MORE_WRITES, **size)
    for mishaps in _plans(single, several, runs, seed):
        found = search.run(mishaps)
        if found.broken is not None:
            _raise_smallest(search, found, seed)
    return Tested(runs=search.runs, writes=writes, struck=dict(search.struck))


def _repeated(search: _Search, mishaps: Sequence[Mishap], seed: int) -> Tested:
    found = search.run(mishaps)
    if found.broken is not None:
        _raise_broken(found, mishaps, _again(mishaps, seed) if mishaps else _WITHOUT_FAULT)
    refuse_missed([each for each in mishaps if each not in found.struck], found.run.engine)
    return Tested(runs=1, writes=found.run.engine.writes, struck=dict(search.struck))


def _raise_smallest(search: _Search, found: _Run, seed: int) -> NoReturn:
    """Report the shortest way to the broken invariant, or why there is none."""
    smallest = shrunk(found.struck, lambda each: search.run(each).broken is not None)
    again = search.run(smallest)
    if again.broken is None:
        again_by = [_again(found.struck, seed)] if found.struck else []
        _raise_broken(found, found.struck, "\n".join([*again_by, _NOT_AGAIN]))
    _raise_broken(again, smallest, _again(smallest, seed) if smallest else _LEFT_OVER)


def _plans(
    single: Sequence[Mishap], several: Sequence[Mishap], runs: int, seed: int
) -> Iterable[list[Mishap]]:
    """Each alone, crashes that come again meanwhile, then drawn ones together, none twice."""
    for mishap in single:
        yield [mishap]
    for mishap in single:
        if mishap.kind in CRASHES:
            for later in _WHILE_RECOVERING:
                yield [mishap, replace(mishap, at=mishap.at + later)]
    random = Random(seed)
    seen: set[tuple[int, ...]] = set()
    for _ in range(_TRIES * runs):
        count = min(random.choice(_AT_ONCE), len(several))
        drawn = tuple(sorted(random.sample(range(len(several)), count)))
        if count > 1 and drawn not in seen and len(seen) < runs:
            seen.add(drawn)
            yield [several[place] for place in drawn]


def _reason(error: Exception) -> str:
    """The message of a broken invariant, else the line of its assertion."""
    said = str(error)
    if not said:
        said = traceback.extract_tb(error.__traceback__)[-1].line or ""
    return said if isinstance(error, AssertionError) else f"{type(error).__name__}: {said}"


def _raise_broken(found: _Run, mishaps: Sequence[Mishap], ending: str) -> NoReturn:
    story = _story(found, mishaps, ending)
    run = found.run
    where = kept(run.engine, f"crash_test-{run.workflow}", Path(FOLDER), story)
    raise InvariantBroken(where, mishaps, run) from found.cause


def _story(found: _Run, mishaps: Sequence[Mishap], ending: str) -> str:
    notes = found.run.engine.world.unrest.notes
    lines = [f"the invariant of {found.run.workflow} is broken: {found.broken}"]
    lines += ["Faults that break it:"] if mishaps else []
    lines += [
        f"  {number}. {mishap.described(notes.get(mishap.at, ''))}"
        for number, mishap in enumerate(mishaps, start=1)
    ]
    return "\n".join([*lines, ending])


def _again(mishaps: Sequence[Mishap], seed: int) -> str:
    return f'to repeat: crash_test(…, repeat="{spelled(mishaps)}", seed={seed})'
