"""`@workflow`: a function that is called once, and describes a workflow by what it calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, Generic, NoReturn, ParamSpec, Protocol, TypeVar, overload

from msgspec import Struct
from msgspec.structs import replace

from tenuto.definition import Checked, check
from tenuto.definition.settings import RETRY
from tenuto.model.errors import InvalidDefinition, Problem, TenutoError
from tenuto.model.json import JSON, Object
from tenuto.model.slots import OnFull
from tenuto.python_form.description import Described, NotYet, describe
from tenuto.python_form.events import EventRule
from tenuto.python_form.lengths import length
from tenuto.python_form.places import Place
from tenuto.python_form.problems import is_collected, is_collecting, located
from tenuto.python_form.recorder import Recording
from tenuto.python_form.schedules import schedule_id, time_problems
from tenuto.python_form.signature import Called, called_with, refuse_function
from tenuto.tasks.function import names_around
from tenuto.tasks.input_schemas import workflow_input
from tenuto.tasks.recorder import RECORDER
from tenuto.tasks.retry import BAD_OPTION, Length, Retry
from tenuto.tasks.step_call import OUT_OF_PLACE

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Events = EventRule | Iterable[EventRule]


class Heading(Struct, frozen=True, kw_only=True, eq=False):
    """The settings of a workflow beside its steps."""

    id: str | None = None
    name: str | None = None
    description: str | None = None
    on: Events = ()
    cancel_on: Events = ()
    input_schema: Mapping[str, JSON] | None = None
    retry: Retry | None = None
    timeout: Length | None = None
    options: Mapping[str, JSON] | None = None
    singleton: bool | str = False
    on_full: OnFull | None = None
    cron: str | None = None
    timezone: str | None = None
    calendar: str | None = None


class WorkflowFunction(Generic[P, R_co]):
    """A workflow that a function describes; started like one from JSON."""

    def __init__(self, fn: Callable[..., Any], heading: Heading, around: Mapping[str, Any]) -> None:
        fault = _fault_of(fn)
        functools.update_wrapper(self, fn, updated=())
        self.fn = fn
        self.__name__: str = getattr(fn, "__name__", type(fn).__name__)
        self.id = heading.id if heading.id is not None else self.__name__
        code = inspect.unwrap(fn).__code__
        self.place = Place(code.co_filename, code.co_firstlineno)
        self._heading = heading
        self._called: Called | None = None
        self._around = around
        self._described: Described | None = None
        self._refused = fault
        """Why the function cannot describe any workflow."""
        self.fault: InvalidDefinition | None = fault
        """Why it could not be described when it was made."""
        # A function that uses names defined below it in the module is described when it is used.
        try:
            self._described = self._describe(may_wait=True)
        except NotYet:
            pass
        except InvalidDefinition as error:
            self.fault = error
        if not is_collected(self) and self.fault is not None:
            raise self.fault

    def __repr__(self) -> str:
        return f"<workflow {self.id!r} at {self.place}>"

    def __call__(self, *_: object, **__: object) -> NoReturn:
        trace = RECORDER.get()
        if isinstance(trace, Recording):
            trace.refuse(
                OUT_OF_PLACE,
                f"workflow `{self.id}` is no task: it is not called",
                f"Make it a step: `child({self.__name__}, …)`.",
            )
            trace.raise_problems()
        raise TenutoError(
            f"workflow `{self.id}` is started, not called",
            code=OUT_OF_PLACE,
            advice=f"Write `await app.start({self.__name__}, …)`; as a step of another workflow, "
            f"`child({self.__name__}, …)`.",
        )

    def undo(self, *_: object, **__: object) -> NoReturn:
        """Refused: only tasks have compensations; a workflow is undone by those of its steps."""
        raise TenutoError(
            f"workflow `{self.id}` is not a task: it is undone by the compensations of its steps",
            code=BAD_OPTION,
            advice="Put `.undo` behind a task: `@charge.undo`.",
        )

    @property
    def data(self) -> inspect.Signature:
        """Its parameters, without the context."""
        return self._signature.data

    @property
    def described(self) -> Described:
        """The description that the function gave when it was called."""
        if self._described is None or self._described.is_outdated:
            self._described = self._describe(may_wait=False)
        return self._described

    def errors(self, *, is_whole: bool) -> list[Problem]:
        """All its errors; those of the file below it are left out unless that `is_whole`."""
        if not is_whole and self._described is None:
            return [] if self.fault is None else [*self.fault.problems]
        try:
            found = self.check().problems
        except InvalidDefinition as error:
            return [*error.problems]
        return [each for each in found if each.severity == "error"]

    def _describe(self, *, may_wait: bool) -> Described:
        if self._refused is not None:
            raise self._refused
        return describe(self.id, self.fn, self._signature, self.place, may_wait=may_wait)

    @property
    def children(self) -> tuple[WorkflowFunction[..., Any], ...]:
        """The workflows that it starts as steps."""
        return self.described.children

    def definition(self) -> Object:
        """A copy of the document, the same as in JSON."""
        heading = self._heading
        written: Object = {"id": self.id}
        if heading.name is not None:
            written["title"] = heading.name
        description = heading.description or inspect.getdoc(self.fn)
        if description:
            written["description"] = description
        schema = heading.input_schema
        if schema is None:
            # Read again: a class that an annotation names may be defined below the function.
            schema = workflow_input(
                called_with(self.fn, self._around).data,
                takes_payloads=any(rule.mapping is None for rule in _rules(heading.on)),
            )
        if schema is not None:
            written["inputSchema"] = dict(schema)
        written.update(deepcopy(self.described.graph))
        if cancelling := [rule.cancelling() for rule in _rules(heading.cancel_on)]:
            written["cancellationTriggers"] = [*cancelling]
        if starting := [rule.starting() for rule in _rules(heading.on)]:
            written["triggers"] = [*starting]
        if options := self._options():
            written["workflowOptions"] = options
        return written

    def schedule(self) -> Object | None:
        """The document of the schedule that starts it, if it has the argument `cron`."""
        heading = self._heading
        if heading.cron is None:
            return None
        written: Object = {
            "id": schedule_id(self.id),
            "cron": heading.cron,
            "target": {"workflowId": self.id},
            "metadata": {"definition": self.id},
        }
        written |= {} if heading.timezone is None else {"timezone": heading.timezone}
        return written if heading.calendar is None else {**written, "calendar": heading.calendar}

    def check(self) -> Checked:
        """The problems that the compiler finds, each with its line."""
        found = check(self.definition())
        more = self._argument_problems()
        problems = (*self.located((*found.problems, *more)), *self.described.warnings)
        return replace(found, problems=problems, definition=None if more else found.definition)

    def refuse_bad_arguments(self) -> None:
        """InvalidDefinition where the arguments of the decorator cannot be used, whatever is saved.

        The document shows nothing of such an argument.
        """
        if problems := self.located(self._argument_problems()):
            message = f"workflow `{self.id}` has arguments that cannot be used"
            raise InvalidDefinition(message, problems)

    def _argument_problems(self) -> tuple[Problem, ...]:
        return (*self._schedule_problems(), *self._singleton_problems())

    def _schedule_problems(self) -> tuple[Problem, ...]:
        """What is wrong with its times, whatever calendars there are."""
        heading = self._heading
        if heading.cron is not None:
            return time_problems(heading.cron, heading.timezone)
        given = [name for name in ("timezone", "calendar") if getattr(heading, name) is not None]
        return tuple(
            Problem(
                code=BAD_OPTION,
                path=f"$.{name}",
                message=f"`{name}` is that of a schedule, and there is no `cron`",
                advice="Add `cron`, or leave it out.",
            )
            for name in given
        )

    def _singleton_problems(self) -> tuple[Problem, ...]:
        """What is wrong with its arguments `singleton` and `on_full`."""
        heading = self._heading
        singleton: object = heading.singleton
        if not isinstance(singleton, (bool, str)):
            message = f"`singleton` is {singleton!r}"
            return (_bad_argument("singleton", message, "Write True, or a template as text."),)
        if heading.singleton is not False and "concurrency" in (heading.options or {}):
            message = "`singleton` is a limit of one, and `options` has `concurrency`"
            return (_bad_argument("singleton", message, "Leave one of them out."),)
        if heading.singleton is False and heading.on_full is not None:
            message = "`on_full` is that of a singleton, and it is none"
            return (_bad_argument("on_full", message, "Add `singleton=True`, or leave it out."),)
        return ()

    def located(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Problems of its document, each with its line."""
        return located(problems, self.described, self.place)

    def checked(self) -> Object:
        """The document of a workflow without errors; InvalidDefinition if it has some."""
        found = self.check()
        if found.definition is None:
            errors = [each for each in found.problems if each.severity == "error"]
            raise InvalidDefinition(f"workflow `{self.id}` has {len(errors)} problems", errors)
        return self.definition()

    @property
    def _signature(self) -> Called:
        if self._called is None:
            self._called = called_with(self.fn, self._around)
        return self._called

    def _options(self) -> Object:
        options: Object = {}
        if self._heading.retry is not None:
            options["retry"] = RETRY.write(self._heading.retry.policy)
        if self._heading.timeout is not None:
            options["timeout"] = str(length(self._heading.timeout))
        if (singleton := self._heading.singleton) is not False:
            key: Object = {"key": singleton} if isinstance(singleton, str) else {}
            full = self._heading.on_full or "reject"
            options["concurrency"] = {"limit": 1, **key, "holdWhileWaiting": True, "onFull": full}
        return options | dict(self._heading.options or {})


class Declare(Protocol):
    """Makes a function a workflow."""

    def __call__(self, fn: Callable[P, R], /) -> WorkflowFunction[P, R]: ...


@overload
def workflow(fn: Callable[P, R], /) -> WorkflowFunction[P, R]: ...


@overload
def workflow(
    id: str | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    on: Events = (),
    cancel_on: Events = (),
    input_schema: Mapping[str, JSON] | None = None,
    retry: Retry | None = None,
    timeout: Length | None = None,
    options: Mapping[str, JSON] | None = None,
    singleton: bool | str = False,
    on_full: OnFull | None = None,
    cron: str | None = None,
    timezone: str | None = None,
    calendar: str | None = None,
) -> Declare: ...


def workflow(  # noqa: PLR0913 - one for each thing that can be said
    id: str | Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    on: Events = (),
    cancel_on: Events = (),
    input_schema: Mapping[str, JSON] | None = None,
    retry: Retry | None = None,
    timeout: Length | None = None,
    options: Mapping[str, JSON] | None = None,
    singleton: bool | str = False,
    on_full: OnFull | None = None,
    cron: str | None = None,
    timezone: str | None = None,
    calendar: str | None = None,
) -> Any:
    """Make a function the description of a workflow: `@workflow`, or `@workflow("order", …)`.

    `on` are events that start it, `cancel_on` those that cancel it; `options` are the other fields
    of a definition, as in JSON. A `singleton` has one instance at a time that has not ended; with a
    template, such as `"{{ctx.input.customerId}}"`, one for each value. `on_full` is what becomes of
    another start: `reject` (the default), `queue`, `replace-oldest` or `keep-newest`. Both stand
    for `options={"concurrency": {"limit": 1, …}}`. With `cron` it is started at these times of a
    `timezone`, UTC by default, in working time of a business `calendar`: a schedule, which is saved
    with it, and removed when it is saved without `cron`.
    """
    around = names_around(1)
    heading = Heading(
        id=None if callable(id) else id,
        name=name,
        description=description,
        on=on,
        cancel_on=cancel_on,
        input_schema=input_schema,
        retry=retry,
        timeout=timeout,
        options=options,
        singleton=singleton,
        on_full=on_full,
        cron=cron,
        timezone=timezone,
        calendar=calendar,
    )
    if callable(id):
        return WorkflowFunction(id, heading, around)
    return lambda fn: WorkflowFunction(fn, heading, around)


def _fault_of(fn: Callable[..., Any]) -> InvalidDefinition | None:
    """Why a function cannot describe a workflow; raised unless workflows are collected."""
    try:
        refuse_function(fn)
    except InvalidDefinition as error:
        if not is_collecting() or not inspect.isfunction(inspect.unwrap(fn)):
            raise
        return error
    return None


def _bad_argument(name: str, message: str, advice: str) -> Problem:
    return Problem(code=BAD_OPTION, path=f"$.{name}", message=message, advice=advice)


def _rules(events: Events) -> Iterable[EventRule]:
    return (events,) if isinstance(events, EventRule) else events
