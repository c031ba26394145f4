"""One call of a workflow function: what it said, and what is wrong with that."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from tenuto.definition.compiler import MOST_NODES
from tenuto.model.errors import InvalidDefinition, Problem, TenutoError
from tenuto.model.graph import ERROR
from tenuto.python_form import formula, places
from tenuto.python_form.advice import advice_on
from tenuto.python_form.bindable import unbindable
from tenuto.python_form.control_flow import try_around
from tenuto.python_form.formula import Formula
from tenuto.python_form.future import FutureValue, about, formula_of, trace_of
from tenuto.python_form.misuse import Misuse
from tenuto.python_form.places import Place
from tenuto.python_form.step import Block, Join, Step
from tenuto.python_form.usage import usage
from tenuto.python_form.written import Expression, NotTraceable, futures_in, instead_of, plain_json
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.recorder import RECORDER
from tenuto.tasks.step_call import OUT_OF_PLACE, Mapped, Order, StepCall

if TYPE_CHECKING:
    from tenuto.python_form.workflow import WorkflowFunction

_MOST_AT_ONE_PLACE = 5
"""A fault repeated more often than this is in a loop that would not end by itself."""


class Told(NamedTuple):
    """What is wrong, and what to write instead."""

    message: str
    advice: str


class EnoughFaults(BaseException):
    """Ends a function that does the same wrong thing again and again."""


class Trace:
    """A workflow while its function is being called."""

    def __init__(self, name: str, code: CodeType, place: Place) -> None:
        self.name = name
        self.code = code
        self.place = place
        self.frame: FrameType | None = None
        """The call itself, kept for its variables: they are the names of the steps."""
        self.returned_at: Place | None = None
        """Where it ended, if it said nothing while it was called."""
        self.top = Block()
        self.block = self.top
        self.steps: list[Step] = []
        self.undone: list[tuple[Step, TaskFunction[..., Any]]] = []
        self.children: list[WorkflowFunction[..., Any]] = []
        self.problems: list[Problem] = []
        self.unused: dict[object, tuple[Told, Place]] = {}
        """What means nothing by itself, and what to tell if the function ends before its use."""
        self._tasks: dict[str, TaskFunction[..., Any]] = {}
        self._faults: dict[Place, int] = {}
        self._tries: set[int] = set()

    # What it is told

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
        """Write down a step in the block that is open now."""
        where = self.block if block is None else block
        place = self.here()
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
                "Write `with repeat_while(…):`, or call a task for each item: `task.map(items)`.",
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
        """Steps do not fail while they are described, so nothing of Python can catch that."""
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
        """Write down a step that comes after every earlier one of its block."""
        step = self.record(kind, base, config, is_barrier=True)
        self.block.begin_segment(step)
        return step

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Write down what follows in `block`."""
        before, self.block = self.block, block
        try:
            yield
        finally:
            self.block = before

    def value_of(self, step: Step, about: str) -> FutureValue:
        return FutureValue(self, formula.output_of(step), about, step)

    def waits_for(self, value: object) -> list[Step]:
        """The steps whose values stand in `value`; those of another workflow are refused."""
        found: list[Step] = []
        for each in futures_in(value):
            if self.is_own(each):
                found += formula_of(each).waits_for
        return found

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

    # Calls of tasks: the recorder that `tenuto.tasks` knows

    def call(
        self, order: Order, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> FutureValue:
        """A task is called: a step."""
        task = self._known(order.task)
        return self._task(order, self._given(task, args, kwargs))

    def map(self, order: Order, items: object, mapped: Mapped) -> FutureValue:
        """A task is called for each item: a loop with a step in it."""
        task = self._known(order.task)
        settings: dict[str, object] = {
            "source": self.traceable(items, f"the items of `{task.name}.map`"),
            "mode": "parallel",
        }
        if mapped.at_most is not None:
            settings["concurrency"] = mapped.at_most
        if mapped.on_error != "fail":
            settings["onItemError"] = mapped.on_error
        if not isinstance(items, FutureValue | list | tuple | str):
            self._refuse_items(task, items)
        loop = self.record("loop", task.name, settings, handle="done", has_output=True)
        self._prepare(loop, order)
        body = Block(self.block, loop, "loop", is_loop=True)
        item = FutureValue(self, formula.plain("ctx.item"), "the item of a loop")
        with self.inside(body):
            self._task(Order(task), self._for_each(task, item, mapped.fixed))
        return self.value_of(loop, f"the results of `{task.name}` for each item")

    def said(self, step: StepCall[..., Any]) -> None:
        """A step is prepared: it has still to be called."""
        name = step._order().task.name  # noqa: SLF001 - the recorder is who an order is for
        told = Told(
            f"`{name}` is not called here: what is said about it is no step yet",
            f"Call it: `{name}.after(…)(…)`.",
        )
        self.unused[step] = told, self.here()

    def used(self, step: StepCall[..., Any]) -> None:
        """A prepared step is called, or more is said about it."""
        self.unused.pop(step, None)

    def handle_error(self, step: Step, handler: Callable[..., object]) -> None:
        """What happens when `step` fails for good."""
        error = FutureValue(
            self,
            formula.member(formula.output_of(step), "error"),
            f"the error of step `{step.base}`",
        )
        with self.inside(Block(self.block, step, ERROR)):
            self.describe(handler, error)

    def describe(self, handler: Callable[..., object], error: FutureValue | None = None) -> object:
        """Call a handler so that it describes its steps; a task is one step by itself.

        A task gets the error if there is one, else what a step without input gets.
        """
        if not isinstance(handler, TaskFunction | StepCall):
            return handler() if error is None else handler(error)
        order = handler._order()  # noqa: SLF001 - the recorder is who an order is for
        task = self._known(order.task)
        parameters = task.binding.data.parameters
        if len(parameters) > 1:
            given, start = (
                ("the input", "lambda") if error is None else ("the error", "lambda error")
            )
            self.refuse(
                "TEN-1110",
                f"task `{task.name}` has several parameters, and there is only {given} to give",
                f"Write a function that calls it: `{start}: {task.name}(…)`.",
            )
        return self._task(order, None if error is None or not parameters else Given(error))

    # What is wrong

    def refuse(self, code: str, message: str, advice: str, place: Place | None = None) -> None:
        """Note a problem, and go on: there may be more.

        The first of a line is told; what else goes wrong there is likely to follow from it.
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

    def misused(self, what: str, misuse: Misuse) -> None:
        """A future value was used as if it were there."""
        frame = next(places.callers())
        used = advice_on(misuse, usage(frame), {**frame.f_globals, **frame.f_locals})
        source = places.place_of(frame).source
        outer = self._workflow_frame()
        if RECORDER.get() is not self:
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

    def traceable(self, value: object, what: str) -> object:
        """`value` as it can be written down: JSON with future values in it."""
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
        """Refuse what was said and then left lying, when the function has ended."""
        for told, place in self.unused.values():
            self.refuse(OUT_OF_PLACE, *told, place)

    def raise_problems(self) -> None:
        if self.problems:
            count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
            raise InvalidDefinition(f"workflow `{self.name}` has {count}", self.problems)

    # Where it is

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
        """The frames of the function and of what it called, from the inside; none if it ended."""
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

    # How a task is called

    def _task(self, order: Order, given: Given | None) -> FutureValue:
        task = order.task
        config: dict[str, object] = {"taskId": task.name}
        if given is not None:
            config["input"] = self.traceable(given.value, f"an argument of `{task.name}`")
        step = self.record("task", task.name, config, has_output=True)
        self._prepare(step, order)
        if task.undone_by is not None:
            self.undone.append((step, self._known(task.undone_by)))
        return self.value_of(step, f"the result of task `{task.name}`")

    def _known(self, task: TaskFunction[..., Any]) -> TaskFunction[..., Any]:
        other = self._tasks.setdefault(task.name, task)
        if other is not task and other.fn is not task.fn:
            self.refuse(
                "TEN-1111",
                f"two tasks are called `{task.name}`: {other.location} and {task.location}",
                'Give one of them another name: @task(name="…").',
            )
        for parameter, kind in unbindable(task) if other is task else ():
            self.refuse(
                "TEN-1112",
                f"`{parameter}` of task `{task.name}` ({task.location}) is {kind}, which no JSON "
                "value can become",
                "Annotate it with a JSON type, a dataclass or a model, and make the object in "
                "the task.",
            )
        return task

    def _given(
        self, task: TaskFunction[..., Any], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Given | None:
        return self.arguments(
            Signed(f"task `{task.name}`", task.name, task.location, task.binding.data), args, kwargs
        )

    def arguments(
        self, called: Signed, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Given | None:
        """The input that a call spells: one parameter takes all of it, several are named in it.

        None: there is none, because nothing is taken, or what was given does not fit.
        """
        data = called.data
        try:
            bound = data.bind(*args, **kwargs)
        except TypeError as error:
            self.refuse(
                "TEN-1110",
                f"{called.what} cannot be called so: {error}",
                f"It is `{called.name}{_shown(data)}`, in {called.location}.",
            )
            return None
        arguments = dict(bound.arguments)
        for each in data.parameters.values():
            if each.kind is each.VAR_KEYWORD:
                arguments.update(arguments.pop(each.name, {}))
                return Given(arguments)
        if len(data.parameters) > 1:
            return Given(arguments)
        bound.apply_defaults()
        return next((Given(value) for value in bound.arguments.values()), None)

    def _prepare(self, step: Step, order: Order) -> None:
        step.given_name = order.name
        for value in order.after:
            self._refuse_no_result(value)
        step.waits_for += self.waits_for(order.after)
        for group in order.after_any:
            joins = self.joined_any(group, "after_any")
            if joins is not None:
                step.waits_for.append(joins)
        if order.on_error is not None:
            self.handle_error(step, order.on_error)

    def _refuse_no_result(self, value: object) -> None:
        """Refuse to begin after something that never ends, because it is no step."""
        found = list(futures_in(value))
        if found and all(formula_of(each).waits_for for each in found):
            return
        advice = "Give it the variables that hold the results of steps."
        if isinstance(value, TaskFunction | StepCall):
            name = value._order().task.name  # noqa: SLF001 - the recorder is who an order is for
            what = f"`{name}` is the task itself"
            advice = f"Keep what it gives, `result = {name}(…)`, and name that: `.after(result)`."
        elif found:
            what = f"this is {about(found[0])}, which is there from the start"
        else:
            what = f"{value!r} is none"
        self.refuse("TEN-1109", f"`.after` takes the results of steps, and {what}", advice)

    def joined_any(self, values: Sequence[object], what: str) -> Step | None:
        """A step of its own that goes on with the first of several."""
        sources: list[Step] = []
        for value in values:
            waits_for = self.waits_for(value)
            if len(waits_for) != 1 or waits_for[0] in sources:
                self.refuse(
                    "TEN-1109",
                    f"`{what}` takes values that each come from one step, and no step twice",
                    "Give it the results of steps of different branches.",
                )
                return None
            sources += waits_for
        if not sources:
            self.refuse("TEN-1109", f"`{what}` is given nothing", "Name some steps.")
            return None
        branches: list[object] = [{"id": "go", "when": "true"}]
        branches += [
            {
                "id": f"of_{number}",
                "when": Expression(
                    Formula(("steps", source, ".status === 'COMPLETED'"), is_atom=False)
                ),
            }
            for number, source in enumerate(sources, start=1)
        ]
        step = self.record(
            "condition",
            what,
            {"branches": branches, "select": "all"},
            handle="go",
            join="any",
            block=self._home_of(sources),
        )
        step.sources = sources
        step.waits_for = []
        return step

    def _home_of(self, sources: list[Step]) -> Block:
        """The block in which several steps can be joined: the innermost that is around them all."""
        for block in self.block.around:
            if all(block in source.block.around for source in sources):
                return block
        return self.top

    def _for_each(
        self, task: TaskFunction[..., Any], item: FutureValue, fixed: Mapping[str, object]
    ) -> Given | None:
        """The input of one call among many."""
        parameters = task.binding.data.parameters
        left = [name for name in parameters if name not in fixed]
        if not fixed and parameters:
            return Given(item)
        if len(left) == 1:
            return self._given(task, (), {left[0]: item, **fixed})
        self.refuse(
            "TEN-1110",
            f"in `{task.name}.map` one parameter is left for the item, and only one",
            f"It is `{task.name}{_shown(task.binding.data)}`, in {task.location}.",
        )
        return None

    def _refuse_items(self, task: TaskFunction[..., Any], items: object) -> None:
        self.refuse(
            "TEN-1109",
            f"the items of `{task.name}.map` are {type(items).__name__}, not a list",
            "Give it a list, or a future value that will be one.",
        )


class Signed(Struct, frozen=True, eq=False):
    """Something that can be called in a workflow: what it is, and how."""

    what: str
    name: str
    location: str
    data: inspect.Signature


class Given(Struct, frozen=True, eq=False):
    """The input of a step."""

    value: object


def current(what: str) -> Trace:
    """The workflow that is being described; TenutoError when there is none."""
    trace = RECORDER.get()
    if isinstance(trace, Trace):
        return trace
    raise TenutoError(
        f"`{what}` means nothing outside a workflow function",
        code=OUT_OF_PLACE,
        advice="Put @workflow above the function around it.",
    )


def only_the_last(name: str, other: Step) -> Told:
    """What is told about a variable that two branches set."""
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


def _shown(data: inspect.Signature) -> str:
    return f"({', '.join(data.parameters)})"
