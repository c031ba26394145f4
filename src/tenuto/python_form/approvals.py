"""`approval`: waits for a person, and continues with the decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct

from tenuto.model.graph import TIMEOUT
from tenuto.model.json import JSON
from tenuto.python_form import formula
from tenuto.python_form.formula import Formula
from tenuto.python_form.future import FutureValue, formula_of, trace_of
from tenuto.python_form.lengths import working_length
from tenuto.python_form.recorder import Recording, current
from tenuto.python_form.step import APPROVED, GO, REJECTED, Block, Exit, Step
from tenuto.tasks import type_schemas
from tenuto.tasks.retry import Length

F = TypeVar("F")
F_co = TypeVar("F_co", covariant=True)

_ABOUT = "the decision of a person"

Deciders = str | Sequence[str]
"""Names of users or roles; a future value may stand for a name, or for a list of them."""
Handler = Callable[..., object]


class Escalate(Struct, frozen=True, kw_only=True, eq=False):
    """The persons who may also decide, `after` a while without a decision."""

    after: Length
    users: Deciders = ()
    roles: Deciders = ()


class Decision(Generic[F_co]):
    """The decision of a person."""

    approved: bool
    """Whether it was approved: `with when(review.approved):`."""
    rejected: bool
    """Whether it was rejected."""
    timed_out: bool
    """Whether there was no decision before the deadline."""
    decision: str
    """`approved` or `rejected`."""
    by: str
    """The person who decided."""
    at: str
    """The moment of the decision."""
    form: F_co
    """The form that the person filled in."""


@overload
def approval(
    *,
    users: Deciders = (),
    roles: Deciders = (),
    form: type[F],
    deadline: Length | None = None,
    reminders: Length | Sequence[Length] = (),
    escalate: Escalate | None = None,
    calendar: str | None = None,
    on_rejected: Handler | None = None,
    on_timeout: Handler | None = None,
    title: str | None = None,
) -> Decision[F]: ...


@overload
def approval(
    *,
    users: Deciders = (),
    roles: Deciders = (),
    form: Mapping[str, JSON] | None = None,
    deadline: Length | None = None,
    reminders: Length | Sequence[Length] = (),
    escalate: Escalate | None = None,
    calendar: str | None = None,
    on_rejected: Handler | None = None,
    on_timeout: Handler | None = None,
    title: str | None = None,
) -> Decision[Any]: ...


def approval(  # noqa: PLR0913 - one for each thing that can be said
    *,
    users: Deciders = (),
    roles: Deciders = (),
    form: type[Any] | Mapping[str, JSON] | None = None,
    deadline: Length | None = None,
    reminders: Length | Sequence[Length] = (),
    escalate: Escalate | None = None,
    calendar: str | None = None,
    on_rejected: Handler | None = None,
    on_timeout: Handler | None = None,
    title: str | None = None,
) -> Any:
    """Wait for a person to decide. What follows runs if it is approved; otherwise it is skipped.

    With a test of the decision, `with when(review.approved):`, `with otherwise():`, the workflow
    continues whether it is approved or rejected; with one of `review.timed_out`, after the deadline
    too. `on_rejected` and `on_timeout` run instead of what follows: a task, or a function that
    describes steps; that of a rejection gets the decision. A deadline that nothing handles fails
    the workflow. With `calendar`, its durations count the working time of that calendar. `form` is
    a type, or a JSON Schema. The value has the members `decision`, `by`,
    `at` and `form`.
    """
    trace = current("approval")
    config: dict[str, object] = {"assignees": _people(trace, users, roles)}
    if form is not None:
        config["formSchema"] = _schema(trace, form)
    if deadline is not None:
        config["deadline"] = working_length(trace, "deadline", deadline, calendar)
    elif on_timeout is not None:
        trace.refuse(
            "TEN-1110",
            "`on_timeout` is given without `deadline`, so it would never run",
            'Say after how long: `deadline="P5D"`.',
        )
    if reminders:
        each_of = [reminders] if isinstance(reminders, str | timedelta) else reminders
        config["reminders"] = [
            working_length(trace, "reminders", each, calendar) for each in each_of
        ]
    if escalate is not None:
        config["escalate"] = {
            "after": working_length(trace, "after", escalate.after, calendar),
            "assignees": _people(trace, escalate.users, escalate.roles),
        }
    if calendar is not None:
        config["calendar"] = calendar
    asked = trace.record(
        "approval", "approval", config, handle=APPROVED, is_barrier=True, has_output=True
    )
    asked.title = title
    if on_rejected is not None:
        decided = trace.value_of(asked, _ABOUT)
        with trace.inside(Block(trace.block, asked, REJECTED)):
            trace.describe(on_rejected, decided, "decision")
    if on_timeout is not None:
        with trace.inside(Block(trace.block, asked, TIMEOUT)):
            trace.describe(on_timeout)
    branches: list[object] = [{"id": GO, "when": "true"}]
    join = trace.record("condition", "decided", {"branches": branches}, handle=GO, join="any")
    join.sources = [Exit(asked, APPROVED)]
    join.ways = {}
    if on_rejected is None:
        join.ways[REJECTED] = Exit(asked, REJECTED)
    if on_timeout is None and deadline is not None:
        join.ways[TIMEOUT] = Exit(asked, TIMEOUT)
    join.is_barrier = True
    join.named_after = (asked, "_decided")
    trace.block.begin_segment(join)
    return FutureDecision(trace, asked, join)


class FutureDecision(FutureValue):
    """A decision that is still to be made; a test of it makes the workflow continue either way."""

    __slots__ = ("_tenuto_join",)

    def __init__(self, trace: Recording, asked: Step, join: Step) -> None:
        super().__init__(trace, Formula(("ctx", asked), (join,)), _ABOUT, asked)
        object.__setattr__(self, "_tenuto_join", join)

    @property
    def approved(self) -> FutureValue:
        return self.decision == APPROVED

    @property
    def rejected(self) -> FutureValue:
        _refuse_handled(self, REJECTED, "`on_rejected` runs instead of this", "Remove one of them.")
        return self.decision == REJECTED

    @property
    def timed_out(self) -> FutureValue:
        _refuse_handled(
            self,
            TIMEOUT,
            "this is never true: there is no `deadline`, or `on_timeout` runs instead",
            'Give it `deadline="P5D"` and no `on_timeout`.',
        )
        _join_of(self).take(REJECTED, TIMEOUT)
        return FutureValue(trace_of(self), formula_of(self), _ABOUT) == None  # noqa: E711

    @property
    def decision(self) -> FutureValue:
        _join_of(self).take(REJECTED)
        # Of an approval that timed out there is no decision.
        return FutureValue(trace_of(self), formula.followed(formula_of(self), "?.decision"), _ABOUT)

    def __getitem__(self, key: object) -> FutureValue:
        return self.decision if key == "decision" else super().__getitem__(key)


def _join_of(value: FutureDecision) -> Step:
    found: Step = object.__getattribute__(value, "_tenuto_join")
    return found


def _refuse_handled(value: FutureDecision, handle: str, message: str, advice: str) -> None:
    """Refuse the test of an outcome with which the workflow never continues."""
    if handle not in (_join_of(value).ways or {}):
        trace_of(value).refuse("TEN-1110", message, advice)


def _people(trace: Recording, users: object, roles: object) -> dict[str, object]:
    people: dict[str, object] = {}
    for name, given in (("users", users), ("roles", roles)):
        if isinstance(given, FutureValue | str):
            people[name] = [given]
        elif given:
            people[name] = trace.traceable(given, f"`{name}`")
    return people


def _schema(trace: Recording, form: type[Any] | Mapping[str, JSON]) -> object:
    if isinstance(form, Mapping):
        return dict(form)
    found = type_schemas.schemas([form])
    if found is None:
        trace.refuse(
            "TEN-1112",
            f"`form` is {form!r}, of which no JSON Schema can be made",
            "Give it a dataclass, a TypedDict, a model, or a JSON Schema.",
        )
        return {}
    [schema], shared = found
    return schema | {"$defs": shared} if shared else schema
