"""The recorder of calls of tasks while a workflow is described."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from tenuto.definition.report import nearest
from tenuto.definition.settings import RETRY
from tenuto.model.errors import TenutoError
from tenuto.model.graph import ERROR
from tenuto.python_form import formula
from tenuto.python_form.compensations import undoing
from tenuto.python_form.formula import Formula
from tenuto.python_form.future import FutureValue, about, formula_of, kind_of, step_of
from tenuto.python_form.item_types import UNKNOWN, is_no_list, item_of, misfit
from tenuto.python_form.json_values import Expression, futures_in
from tenuto.python_form.lengths import length_with_unit, working_length
from tenuto.python_form.parameters import unbindable
from tenuto.python_form.step import Block, Exit, Step
from tenuto.python_form.trace import Given, Told, Trace
from tenuto.tasks import hints
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.recorder import RECORDER
from tenuto.tasks.retry import Retry
from tenuto.tasks.step_call import OUT_OF_PLACE, Mapped, Order, Prepared, StepCall

_FIELDS = {"heartbeat_timeout": "heartbeatTimeout"}


class Recording(Trace):
    """A trace that records calls of tasks."""

    def call(
        self, order: Order, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> FutureValue:
        """A task is called: a step."""
        task = self.known(order.task)
        given = self._given(task, args, kwargs)
        if self.takes_calls is not None:
            self.takes_calls((order, given))
            return self.nowhere(f"the result of task `{task.name}`")
        return self._task(order, given)

    def map(self, order: Order, items: object, mapped: Mapped) -> FutureValue:
        """A task is called for each item: a loop with a step in it."""
        task = self.known(order.task)
        loop, item = self.loop_over(items, mapped, task.name, f"`{task.name}.map`")
        # What begins after other steps, or handles an error, is the loop; the rest is of each step.
        self.prepare(loop, replace(order, settings={}))
        signed = _signed(task)
        with self.inside(item.body):
            given = self.given_item(signed, item, mapped.fixed)
            self._task(Order(task, undo=order.undo, settings=order.settings), given)
        kind = _list_of(task.binding.data.return_annotation)
        return self.value_of(loop, f"the results of `{task.name}` for each item", kind)

    def loop_over(self, items: object, mapped: Mapped, base: str, what: str) -> tuple[Step, Item]:
        """Record a loop over items, whose body is still to be described."""
        settings: dict[str, object] = {
            "source": self.traceable(items, f"the items of {what}"),
            "mode": "parallel",
        }
        if mapped.at_most is not None:
            settings["concurrency"] = mapped.at_most
        if mapped.on_error != "fail":
            settings["onItemError"] = mapped.on_error
        kind = kind_of(items) if isinstance(items, FutureValue) else UNKNOWN
        is_list = isinstance(items, FutureValue | list | tuple | str)
        if not is_list or is_no_list(kind):
            found = type(items) if kind is UNKNOWN else kind
            self.refuse(
                "TEN-1109",
                f"the items of {what} are {inspect.formatannotation(found)}, not a list",
                "Give it a list, or a future value that will be one.",
            )
        loop = self.record("loop", base, settings, handle="done", has_output=True)
        body = Block(self.block, loop, "loop", is_loop=True)
        literal = items if isinstance(items, list | tuple) else ()
        return loop, Item(self, body, item_of(kind), tuple(literal))

    def said(self, step: StepCall[..., Any]) -> None:
        """A step is prepared: it has still to be called."""
        name = step._order().task.name  # noqa: SLF001 - the recorder is who an order is for
        told = Told(
            f"`{name}` is not called here: options alone make no step",
            f"Call it: `{name}.after(…)(…)`.",
        )
        self.unused[step] = told, self.here()

    def used(self, step: StepCall[..., Any]) -> None:
        """A prepared step is called, or gets another option."""
        self.unused.pop(step, None)

    def handle_error(self, step: Step, handler: Callable[..., object]) -> None:
        """Record the handler of a final failure of `step`."""
        error = FutureValue(
            self,
            formula.member(formula.output_of(step), "error"),
            f"the error of step `{step.base}`",
        )
        with self.inside(Block(self.block, step, ERROR)):
            self.describe(handler, error)

    def describe(
        self, handler: Callable[..., object], value: FutureValue | None = None, name: str = "error"
    ) -> object:
        """Call a handler so that it describes its steps; a task is one step by itself.

        A task gets the value, such as the error, if there is one, else the input of a step without
        one.
        """
        if not isinstance(handler, TaskFunction | StepCall):
            return handler() if value is None else handler(value)
        order = handler._order()  # noqa: SLF001 - the recorder is who an order is for
        task = self.known(order.task)
        parameters = task.binding.data.parameters
        if len(parameters) > 1:
            given, start = (
                ("the input", "lambda") if value is None else (f"the {name}", f"lambda {name}")
            )
            self.refuse(
                "TEN-1110",
                f"task `{task.name}` has several parameters, and there is only {given} to give",
                f"Write a function that calls it: `{start}: {task.name}(…)`.",
            )
        return self._task(order, None if value is None or not parameters else Given(value))

    # How a task is called

    def _task(self, order: Order, given: Given | None) -> FutureValue:
        task = order.task
        config: dict[str, object] = {"taskId": task.name}
        if given is not None:
            config["input"] = self.traceable(given.value, f"an argument of `{task.name}`")
            self._warn_of_misfit(task, given.value)
        step = self.record("task", task.name, config, has_output=True)
        self.prepare(step, order)
        undone = undoing(self, step, order)
        if undone is not None:
            self.undone.append(undone)
        kind = task.binding.data.return_annotation
        return self.value_of(step, f"the result of task `{task.name}`", kind)

    def _warn_of_misfit(self, task: TaskFunction[..., Any], value: object) -> None:
        """Warn of a result that its only parameter never takes, judged by annotations."""
        parameters = [*task.binding.data.parameters.values()]
        if len(parameters) != 1 or not isinstance(value, FutureValue):
            return
        [taking] = parameters
        wrong = misfit(kind_of(value), taking.annotation)
        if wrong is not None:
            self.warn(
                "TEN-1110",
                f"{about(value)} does not fit `{taking.name}` of task `{task.name}`: {wrong}",
                f"It is `{task.name}{_typed(task.binding.data)}`, in {task.location}.",
            )

    def known(self, task: TaskFunction[..., Any]) -> TaskFunction[..., Any]:
        """Register a used task; refuse one that cannot run, or whose name another task has."""
        other = self.tasks.setdefault(task.name, task)
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
        return self.arguments(_signed(task), args, kwargs)

    def arguments(
        self, called: Signed, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Given | None:
        """The input of a call: one parameter takes all of it, several are members of it.

        None: the task has no parameters, or the arguments do not fit.
        """
        data = called.data
        try:
            bound = data.bind(*args, **kwargs)
        except TypeError as error:
            faults = _faults(data, args, kwargs) or [str(error)]
            self.refuse(
                "TEN-1110",
                f"{called.what} cannot be called so: {'; '.join(faults)}",
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

    def prepare(self, step: Step, order: Prepared) -> None:
        """Apply the options of a step."""
        step.given_name = order.name
        self.apply(step, order.settings)
        for value in order.after:
            self._refuse_no_result(value)
        step.waits_for += self.waits_for(order.after)
        for group in order.after_any:
            joins = self.joined_any(group.values, "after_any")
            if joins is not None:
                joins.at_least = group.at_least
                joins.cancels_rest = group.cancel_rest
                step.waits_for.append(joins)
        if order.on_error is not None:
            self.handle_error(step, order.on_error)

    def apply(self, step: Step, settings: Mapping[str, object]) -> None:
        """Apply the settings of `options`."""
        config: dict[str, object] = {}
        for name, value in settings.items():
            match name, value:
                case "fail_workflow", _:
                    config["errorHandling"] = "fail_workflow"
                case "title", str():
                    step.title = value
                case "retry", Retry():
                    config["retry"] = RETRY.write(value.policy)
                case "when", _:
                    config["when"] = self.expression(value, "options(when=…)")
                case "cancels" | "completes", _:
                    config[name] = self._named(value, name)
                case "calendar", _:
                    pass  # it stands beside the time-out
                case "timeout", _ if "calendar" in settings:
                    calendar = cast("str", settings["calendar"])
                    duration = working_length(self, name, value, calendar)
                    config[name] = {"duration": duration, "calendar": calendar}
                case "sla", Mapping():
                    config[name] = {
                        each: length_with_unit(self, each, given) for each, given in value.items()
                    }
                case (("timeout" | "heartbeat_timeout"), _):
                    config[_FIELDS.get(name, name)] = length_with_unit(self, name, value)
                case _:
                    config[name] = self.traceable(value, f"`{name}`")
        if "calendar" in settings and "timeout" not in settings:
            self.refuse(
                "TEN-1110",
                "`calendar` is given without `timeout`, so nothing would be counted in it",
                'Say for how long: `timeout="PT4H"`.',
            )
        config = cast("dict[str, object]", self.seen_from(step.block, config))
        step.config.update(config)
        step.waits_for += self.waits_for(config)

    def _named(self, value: object, option: str) -> list[object]:
        """The steps whose ids an option lists."""
        found: list[object] = []
        for each in value if isinstance(value, list | tuple) else (value,):
            step = getattr(each, "head", None)
            if isinstance(each, FutureValue):
                step = step_of(each)
            if not isinstance(step, Step):
                what = "loops" if option == "completes" else "results of steps"
                self.refuse(
                    "TEN-1109",
                    f"`{option}` takes {what}, and a {type(each).__name__} is none",
                    "Give it the variable that holds the result of a step, or a loop.",
                )
            elif option == "completes" or step not in found:
                found.append(step)
        return found

    def _refuse_no_result(self, value: object) -> None:
        """Refuse `.after` with a value that is not a step."""
        found = [each for each in futures_in(value) if isinstance(each, FutureValue)]
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
            is_plain = value is None or isinstance(value, str | int | float)
            what = f"{value!r} is none" if is_plain else f"a {type(value).__name__} is none"
        self.refuse("TEN-1109", f"`.after` takes the results of steps, and {what}", advice)

    def joined_any(self, values: Sequence[object], what: str) -> Step | None:
        """A join step that continues with the first of several steps."""
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
        step.sources = [Exit(source, source.handle) for source in sources]
        step.waits_for = []
        return step

    def _home_of(self, sources: list[Step]) -> Block:
        """The innermost block around several steps, in which they can be joined."""
        for block in self.block.around:
            if all(block in source.block.around for source in sources):
                return block
        return self.top

    def given_item(self, called: Signed, item: Item, fixed: Mapping[str, object]) -> Given | None:
        """The input of one call among many."""
        parameters = called.data.parameters
        left = [name for name in parameters if name not in fixed]
        if len(left) == 1:
            self._refuse_misfit(called, item, parameters[left[0]])
        if not fixed and parameters:
            return Given(item.value)
        if len(left) == 1:
            return self.arguments(called, (), {left[0]: item.value, **fixed})
        self.refuse(
            "TEN-1110",
            f"in `{called.name}.map` one parameter is left for the item, and only one",
            f"It is `{called.name}{_shown(called.data)}`, in {called.location}.",
        )
        return None

    def _refuse_misfit(self, called: Signed, item: Item, taking: inspect.Parameter) -> None:
        """Refuse items that never fit the parameter that takes them."""
        kinds = [item.kind, *(type(each) for each in item.known if _is_plain(each))]
        wrong = next((why for each in kinds if (why := misfit(each, taking.annotation))), None)
        if wrong is not None:
            self.refuse(
                "TEN-1110",
                f"an item does not fit `{taking.name}` of {called.what}: {wrong}",
                f"It is `{called.name}{_typed(called.data)}`, in {called.location}.",
            )


class Item:
    """The item of a loop: its type, its value in the body, and the items that are known now."""

    def __init__(self, trace: Trace, body: Block, kind: object, known: tuple[object, ...]) -> None:
        self.body = body
        self.kind = kind
        self.known = known
        what = formula.of_iteration("item", body)
        self.value = FutureValue(trace, what, "the item of a loop", None, kind)


class Signed(Struct, frozen=True, eq=False):
    """A callable of a workflow: its kind, name, place and parameters."""

    what: str
    name: str
    location: str
    data: inspect.Signature


def current(what: str) -> Recording:
    """The workflow that is being described; TenutoError when there is none."""
    trace = RECORDER.get()
    if isinstance(trace, Recording):
        return trace
    raise TenutoError(
        f"`{what}` means nothing outside a workflow function",
        code=OUT_OF_PLACE,
        advice="Put @workflow above the function around it.",
    )


def _signed(task: TaskFunction[..., Any]) -> Signed:
    return Signed(f"task `{task.name}`", task.name, task.location, task.binding.data)


def _list_of(kind: Any) -> object:  # noqa: ANN401 - annotations are anything
    return UNKNOWN if kind is UNKNOWN or kind is hints.UNRESOLVED else list[kind]


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _typed(data: inspect.Signature) -> str:
    """The parameters with the names of their types."""
    return f"({', '.join(_with_type(each) for each in data.parameters.values())})"


def _with_type(parameter: inspect.Parameter) -> str:
    kind = parameter.annotation
    if kind is UNKNOWN or kind is hints.UNRESOLVED:
        return parameter.name
    return f"{parameter.name}: {inspect.formatannotation(kind)}"


def _shown(data: inspect.Signature) -> str:
    return f"({', '.join(data.parameters)})"


def _faults(
    data: inspect.Signature, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[str]:
    """Every unknown and every missing argument of a call; empty: another fault comes first."""
    if any(each.kind is each.VAR_KEYWORD for each in data.parameters.values()):
        return []
    unknown = [name for name in kwargs if name not in data.parameters]
    known = {name: value for name, value in kwargs.items() if name not in unknown}
    try:
        given = data.bind_partial(*args, **known).arguments
    except TypeError:
        return []
    missing = [
        each.name
        for each in data.parameters.values()
        if each.default is each.empty and each.name not in given
    ]
    faults = [f"missing a required argument: {name!r}" for name in missing]
    for name in unknown:
        meant = nearest(name, [each for each in data.parameters if each not in given])
        hint = "" if meant is None else f" (did you mean {meant!r}?)"
        faults.append(f"got an unexpected keyword argument {name!r}{hint}")
    return faults
