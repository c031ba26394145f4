"""One call of a workflow function: its steps, and their problems."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import Struct

from tenuto.definition.compiler import MOST_NODES
from tenuto.model.errors import InvalidDefinition, Problem, TenutoError
from tenuto.python_form import formula, places
from tenuto.python_form.advice import advice_on
from tenuto.python_form.control_flow import try_around
from tenuto.python_form.formula import Formula, OfIteration
from tenuto.python_form.future import (
    FutureValue,
    Misuse,
    about,
    formula_of,
    step_of,
    trace_of,
)
from tenuto.python_form.item_types import UNKNOWN
from tenuto.python_form.json_values import (
    Expression,
    NotTraceable,
    futures_in,
    instead_of,
    plain_json,
)
from tenuto.python_form.operators import Operation, difference, instead
from tenuto.python_form.places import Place
from tenuto.python_form.rewrites import expected_text
from tenuto.python_form.step import Block, Join, Step
from tenuto.python_form.usage import usage
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.recorder import RECORDER
from tenuto.tasks.step_call import OUT_OF_PLACE, Order

if TYPE_CHECKING:
    from tenuto.python_form.compensations import Undone
    from tenuto.python_form.workflow import WorkflowFunction

_MOST_AT_ONE_PLACE = 5
"""A fault repeated more often than this is in a loop that would not end by itself."""


class Given(Struct, frozen=True, eq=False):
    """The input of a step."""

    value: object


TakesCall = Callable[[tuple[Order, Given | None]], None]
"""Receives a call of a task: the options of its step, and its arguments."""


class Told(NamedTuple):
    """A problem, and what to write instead."""

    message: str
    advice: str


class EnoughFaults(BaseException):
    """Ends a function that repeats the same fault again and again."""


class Trace:
    """A workflow while its function is being called."""

    def __init__(self, name: str, code: CodeType, place: Place) -> None:
        self.name = name
        self.code = code
        self.place = place
        self.frame: FrameType | None = None
        """The call itself, kept for its variables: they are the names of the steps."""
        self.returned_at: Place | None = None
        """Where it returned."""
        self.top = Block()
        self.block = self.top
        self.steps: list[Step] = []
        self.undone: list[Undone] = []
        self.takes_calls: TakesCall | None = None
        """Receives the calls of tasks while they are not steps."""
        self.children: list[WorkflowFunction[..., Any]] = []
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.unused: dict[object, tuple[Told, Place]] = {}
        """Constructs that must be used, and the problem to report if they are not."""
        self.tasks: dict[str, TaskFunction[..., Any]] = {}
        self._faults: dict[Place, int] = {}
        self._tries: set[int] = set()

    # Recording

    def record(
        self,
        kind: str,
        base: str,
        config: dict[str, object],
        *,
        handle: str = "default",
        join: Join = "required",
        is_barrier: bool = False,
        has_output: bool = False,
        block: Block | None = None,
    ) -> Step:
        """Record a step in the block that is open now."""
        where = self.block if block is None else block
        place = self.here()
        config = cast("dict[str, object]", self.seen_from(where, config))
        if self.takes_calls is not None:
            self.refuse(
                OUT_OF_PLACE,
                f"`{base}` is not a step here: a compensation is the call of one task",
                "Call one task in it, which does everything.",
                place,
            )
        if where.ended_by is not None:
            self.refuse(
                OUT_OF_PLACE,
                f"nothing can follow `terminate` in {where.ended_by.place}",
                "Remove one of the two, or put `terminate` into a `with when(…):` block.",
                place,
            )
        if len(self.steps) >= MOST_NODES:
            self.refuse(
                "TEN-1004",
                f"this describes more than {MOST_NODES} steps: a loop of Python is gone through "
                "while the function describes",
                "Write `with repeat_while(…):` or `with for_each(items):`, or call a task for each "
                "item: `task.map(items)`.",
                place,
            )
            raise EnoughFaults
        self._refuse_try(base)
        step = Step(
            kind,
            base,
            where,
            place,
            config=config,
            handle=handle,
            join=join,
            is_barrier=is_barrier,
            has_output=has_output,
        )
        step.waits_for += self.waits_for(config)
        self.steps.append(step)
        where.add(step)
        if join == "required":
            # A join of any may be put around a decision while its sides are still described.
            where.decision = None
        return step

    def _refuse_try(self, base: str) -> None:
        """Refuse `try` around steps: they do not fail while they are described."""
        for frame in self._frames():
            file, line = places.place_of(frame)
            guarded_by = try_around(file, line)
            if guarded_by is not None and guarded_by not in self._tries:
                self._tries.add(guarded_by)
                self.refuse(
                    "TEN-1120",
                    f"the failure of a step such as `{base}` is not caught here: it runs when the "
                    "workflow does",
                    f"Say what happens then: `{base}.on_error(handler)(…)`.",
                    Place(file, guarded_by),
                )

    def barrier(self, kind: str, base: str, config: dict[str, object]) -> Step:
        """Record a step that comes after every earlier one of its block."""
        step = self.record(kind, base, config, is_barrier=True)
        self.block.begin_segment(step)
        return step

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Record the following steps in `block`."""
        before, self.block = self.block, block
        try:
            yield
        finally:
            self.block = before

    @contextmanager
    def only_calls(self, take: TakesCall) -> Iterator[None]:
        """Pass calls of tasks to `take` instead of recording steps."""
        before, self.takes_calls = self.takes_calls, take
        try:
            yield
        finally:
            self.takes_calls = before

    def nowhere(self, about: str) -> FutureValue:
        """A placeholder for a value that cannot be used."""
        return FutureValue(self, formula.plain("null"), about)

    def value_of(self, step: Step, about: str, kind: object = UNKNOWN) -> FutureValue:
        """The output of a step, of a type that is known or not."""
        return FutureValue(self, formula.output_of(step), about, step, kind)

    def waits_for(self, value: object) -> list[Step]:
        """The steps whose values are in `value`; those of another workflow are refused."""
        found: list[Step] = []
        for each in futures_in(value):
            if isinstance(each, Expression):
                found += each.formula.waits_for
            elif self.is_own(each):
                found += formula_of(each).waits_for
        return found

    # Values of iterations

    def seen_from(self, block: Block, value: object) -> object:
        """`value` as a step of `block` sees it.

        A loop hides the item of the loop around it: a step of the outer body keeps that in a
        variable.
        """
        match value:
            case FutureValue():
                what = self._seen(block, formula_of(value))
                is_seen = what is formula_of(value)
                return value if is_seen else FutureValue(self, what, about(value), step_of(value))
            case Expression():
                return Expression(self._seen(block, value.formula), is_text=value.is_text)
            case dict():
                return {name: self.seen_from(block, each) for name, each in value.items()}
            case list() | tuple():
                return [self.seen_from(block, each) for each in value]
            case _:
                return value

    def _seen(self, block: Block, what: Formula) -> Formula:
        return formula.replaced(what, lambda part: self._kept(block, part))

    def _kept(self, block: Block, part: OfIteration) -> Formula | None:
        """The variable that a value of an iteration is read from; None where it is seen itself."""
        around = list(block.around)
        if part.body not in around:
            self.refuse(
                "TEN-1116",
                f"the {part.name} of a loop exists only inside",
                "Use the results of the loop, which are a list.",
            )
            return formula.plain("null")
        if not any(part.name in each.names for each in around[: around.index(part.body)]):
            return None
        kept = part.body.kept.get(part.name)
        if kept is None:
            assert part.body.head is not None
            decision = part.body.decision
            kept = self.record("set", part.name, {}, block=part.body)
            kept.keeps = FutureValue(self, Formula((part,)), f"the {part.name} of a loop")
            kept.named_after = (part.body.head, f"_{part.name}")
            part.body.kept[part.name], part.body.decision = kept, decision
        return formula.output_of(kept)

    def is_own(self, value: FutureValue) -> bool:
        other = trace_of(value)
        if other is self:
            return True
        self.refuse(
            "TEN-1108",
            f"this uses a value of workflow `{other.name}`, which is described already",
            "Pass it as input, or make the other workflow a step: `child(other, …)`.",
        )
        return False

    # Problems

    def refuse(self, code: str, message: str, advice: str, place: Place | None = None) -> None:
        """Record a problem, and continue: there may be more.

        Only the first of a line is reported; further ones there are likely to follow from it.
        """
        where = self.here() if place is None else place
        count = self._faults.get(where, 0) + 1
        self._faults[where] = count
        if count == 1:
            message = where.quoted_behind(message)
            self.problems.append(
                Problem(code=code, path=str(where), message=message, advice=advice)
            )
        if count > _MOST_AT_ONE_PLACE:
            raise EnoughFaults

    def warn(self, code: str, message: str, advice: str) -> None:
        """Record what is likely to be wrong, and is no error."""
        where = self.here()
        found = Problem(
            code=code,
            path=str(where),
            message=where.quoted_behind(message),
            advice=advice,
            severity="warning",
        )
        if found not in self.warnings:
            self.warnings.append(found)

    def misused(self, what: str, misuse: Misuse) -> None:
        """A future value was used as if it existed now."""
        frame = next(places.callers())
        used = advice_on(misuse, usage(frame, misuse), {**frame.f_globals, **frame.f_locals})
        source = places.place_of(frame).source
        outer = self._workflow_frame()
        recorder: object = RECORDER.get()
        if recorder is not self:
            raise TenutoError(
                f"{used.needs} needs a value now, but this is {what}, "
                f"which exists only when workflow `{self.name}` runs",
                code=used.code,
                advice=f"{places.place_of(frame)}: `{source}`. {used.instead}",
            )
        if outer is not None and not places.is_inside(frame.f_code, self.code):
            place, name = places.place_of(outer), frame.f_code.co_name
            self.refuse(
                "TEN-1117",
                f"`{name}` is called now, but it needs {what}, which exists only when the "
                f"workflow runs (in {places.place_of(frame)}: `{source}`)",
                f"Put @task above `{name}`, so that it runs when the value is there.",
                place,
            )
            return
        self.refuse(
            used.code,
            f"{used.needs} needs a value now, but this is {what}, which exists only when the "
            "workflow runs",
            used.instead,
            places.place_of(frame),
        )

    def check_operand(
        self, value: FutureValue, operator: str, other: object, *, is_reversed: bool
    ) -> None:
        """Refuse an operator that would mean something else than in Python."""
        differs = difference(operator, other)
        if differs is not None:
            own = expected_text(value, self.variables())
            self.refuse("TEN-1121", differs, instead(Operation(operator, own, other, is_reversed)))

    def traceable(self, value: object, what: str) -> object:
        """`value` as JSON with future values in it."""
        try:
            return plain_json(value)
        except NotTraceable as fault:
            self.refuse(
                "TEN-1109",
                f"{what} {fault}",
                instead_of(value) or "Pass JSON, a dataclass or a model, or the result of a task.",
            )
            return None

    def spelled(self, value: object, what: str = "a value in an expression") -> Formula:
        """A value as part of an expression."""
        if isinstance(value, FutureValue):
            return formula_of(value) if self.is_own(value) else formula.plain("null")
        return literal(self.traceable(value, what))

    def expression(self, value: object, what: str) -> Expression:
        """A test, given as text or as a future value."""
        if isinstance(value, str):
            return Expression(formula.plain(value), is_text=True)
        if not isinstance(value, FutureValue):
            self.refuse(
                "TEN-1109",
                f"`{what}` is decided when the workflow runs, but this is known now",
                "Write a plain `if`, or give it the value of a step or of the input.",
            )
            return Expression(formula.plain("false"))
        return Expression(self.spelled(value))

    def refuse_unused(self) -> None:
        """Refuse constructs that were not used by the end of the function."""
        for told, place in self.unused.values():
            self.refuse(OUT_OF_PLACE, *told, place)

    def raise_problems(self) -> None:
        if self.problems:
            count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise InvalidDefinition(f"workflow `{self.name}` has {count}", self.problems)

    # Places

    def here(self) -> Place:
        """The line of the workflow function that is running, or where it returned."""
        frame = self._workflow_frame() or self.frame
        if frame is None:
            return self.returned_at or self.place
        return places.place_of(frame)

    def _workflow_frame(self) -> FrameType | None:
        for frame in places.callers():
            if frame.f_code is self.code:
                self.frame = frame
                return frame
        return None

    def _frames(self) -> list[FrameType]:
        """The frames of the function and of its callees, from the inside; none if it returned."""
        frames: list[FrameType] = []
        for frame in places.callers():
            frames.append(frame)
            if frame.f_code is self.code:
                return frames
        return []

    def variables(self) -> Mapping[str, object]:
        """The variables of the function as they are now, or were when it returned."""
        if self.frame is None:
            self._workflow_frame()
        return {} if self.frame is None else self.frame.f_locals


def only_the_last(name: str, other: Step) -> Told:
    """The problem of a variable that two branches set."""
    return Told(
        f"`{name}` is given a value in two branches (`{other.base}` in {other.place}), and only "
        "the last is still there",
        f"Give the two different names, and use `one_of(first, {name})`.",
    )


def literal(value: object) -> Formula:
    """JSON, with future values in it, as part of an expression."""
    match value:
        case FutureValue():
            return formula_of(value)
        case None | bool() | str():
            return formula.plain(json.dumps(value))
        case int() | float():
            is_signed = value < 0 or (isinstance(value, float) and math.copysign(1, value) < 0)
            return Formula((json.dumps(value),), is_atom=not is_signed)
        case dict():
            pairs: list[str | Formula] = []
            for key, each in value.items():
                pairs += [", " if pairs else "", f"{json.dumps(key)}: ", literal(each)]
            return formula.joined("({", *pairs, "})", is_atom=True)
        case list():
            items: list[str | Formula] = []
            for each in value:
                items += [", " if items else "", literal(each)]
            return formula.joined("[", *items, "]", is_atom=True)
        case _:
            raise AssertionError(value)
