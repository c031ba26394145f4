"""Test runs of definitions that are not saved: with mocks, and erased when they have ended."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tenuto.cli import exits
from tenuto.cli.local_run import has_ended, watch_here
from tenuto.cli.sources import read_source
from tenuto.cli.views.errors import show_error
from tenuto.cli.views.marks import STATUS_MARKS
from tenuto.cli.views.terminal import logs_on_stderr, say, say_command, show, show_json
from tenuto.definition.report import did_you_mean
from tenuto.model.errors import InvalidInput, NotFound, Problem, TenutoError, WorkflowFailed
from tenuto.model.failure import Failure
from tenuto.model.graph import DataQuery, Definition, Http, JavaScript, SubWorkflow, Task
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.model.test_run import NOT_RUN, Mock

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.core import InstanceState
    from tenuto.core.state import NodeState
    from tenuto.engine.turns.held import Held
    from tenuto.workspace import protocol
    from tenuto.workspace.values import TestRun

_CODE: Final = "TEN-2000"
_MOCKED: Final = (Task, SubWorkflow, Http, JavaScript, DataQuery)
"""The steps that a mock replaces."""


class TestRunOptions(Struct, frozen=True, kw_only=True):
    """What to run, and what is mocked."""

    __test__ = False  # its name looks to pytest like that of a test
    file: Path
    input: JSON = None
    tasks: Sequence[str] = ()
    mocks: Mapping[str, Mock] = {}
    events: Sequence[Object] = ()
    """Sent to the test run alone, when it has started: waits that open later look back at them."""
    skip_delays: bool = False
    allow_effects: bool = False
    keep: bool = False
    up_to: str | None = None
    """The step with whose end the test run ends."""
    is_only: bool = False
    """Whether no other step than that one is run."""
    timeout: float | None = None
    is_json: bool = False
    reason: str | None = None


class _MockError(Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    message: str = "mocked"
    details: JSON = None
    retryable: bool = False


class _Mock(Struct, frozen=True, forbid_unknown_fields=True):
    output: JSON | UnsetType = UNSET
    error: _MockError | None = None


def read_mocks(document: JSON, outputs: Sequence[str], failures: Sequence[str]) -> dict[str, Mock]:
    """The values of `--mocks`, `--mock STEP=JSON` and `--fail STEP=CODE`; InvalidInput."""
    mocks: dict[str, Mock] = {}
    try:
        given = msgspec.convert(document or {}, dict[str, _Mock])
    except msgspec.ValidationError as error:
        advice = 'Write {"step": {"output": …}} or {"step": {"error": {"code": …}}}.'
        raise _refused("--mocks", str(error), advice) from None
    for step, each in given.items():
        said = each.error
        failure = None
        if said is not None:
            failure = Failure(
                code=said.code,
                message=said.message,
                details=said.details,
                retryable=said.retryable,
            )
        mocks[step] = Mock(output=each.output, error=failure)
    for text in outputs:
        step, value = _named(text, "--mock", 'charge=\'{"id": "p-1"}\'')
        mocks[step] = Mock(output=json_or_text(value))
    for text in failures:
        step, said_so = _named(text, "--fail", "charge=CARD_DECLINED")
        code, _, message = said_so.partition(":")
        failure = Failure(code=code.strip(), message=message.strip() or "mocked", retryable=False)
        mocks[step] = Mock(error=failure)
    return mocks


def read_events(given: Sequence[str]) -> list[Object]:
    """The values of `--event PATTERN=JSON`; InvalidInput."""
    found: list[Object] = []
    for text in given:
        pattern, separator, value = text.partition("=")
        payload = json_or_text(value) if separator else None
        found.append({"pattern": pattern, "payload": payload})
    return found


def json_or_text(text: str) -> JSON:
    """JSON, else the text itself."""
    try:
        value: JSON = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value


async def run_test_here(url: str, options: TestRunOptions) -> int:
    """Run it with an engine in this process; the exit code."""
    from tenuto.cli.backends.engine import engine
    from tenuto.cli.backends.place import tenant_of
    from tenuto.cli.backends.reader import make_room, store_flag
    from tenuto.cli.backends.recorded import recorded_here
    from tenuto.cli.task_modules import load_tasks

    source = read_source(options.file)
    options = _scoped(options, source.checked())
    if options.allow_effects:
        load_tasks(options.tasks, options.file)
    make_room(url)

    with redirect_stdout(sys.stderr), logs_on_stderr():
        async with engine(url) as app:
            space = app.workspace(tenant_of(url), "app")
            runs = space.test_runs
            started = await recorded_here(
                app,
                space.tenant,
                "start_test_run",
                "",
                lambda: _started(runs, source.as_object, options),
                reason=options.reason,
            )
            try:
                reference, until = space.at(started.instance_id), _until(options.up_to)
                ended = await watch_here(app, url, reference, options.timeout, until)
            finally:
                if not options.keep:
                    # No other process goes on with it.
                    await runs.stop(started.instance_id)
    return _conclude(ended, started, options, store_flag(url), is_kept=options.keep)


async def run_test_elsewhere(backend: Backend, options: TestRunOptions) -> int:
    """Run it at a server, and follow it; the exit code."""
    from tenuto.cli.follower import followed

    source = read_source(options.file)
    options = _scoped(options, source.checked())
    runs = backend.space.test_runs
    started = await _started(runs, source.as_object, options)
    until = _until(options.up_to)
    ended = await followed(backend, started.instance_id, options.timeout, until)
    is_kept = options.keep or isinstance(ended, int)
    if not is_kept:
        with suppress(NotFound):
            await runs.stop(started.instance_id)
    return _conclude(ended, started, options, backend.flag, is_kept=is_kept)


def _scoped(options: TestRunOptions, definition: Definition) -> TestRunOptions:
    """The options, with a mock for each step that is not run; InvalidInput for an unknown step."""
    steps = [node.id for node in definition.graph.nodes]
    if options.up_to is not None and options.up_to not in steps:
        option = "--only" if options.is_only else "--up-to"
        advice = did_you_mean(options.up_to, steps, f"There are {', '.join(steps)}.")
        raise _refused(option, f"{options.up_to!r} is not a step", advice)
    if not options.is_only:
        return options
    others = {
        node.id: NOT_RUN
        for node in definition.graph.nodes
        if isinstance(node.config, _MOCKED) and node.id != options.up_to
    }
    return replace(options, mocks={**others, **options.mocks}, allow_effects=True)


def _until(step: str | None) -> Callable[[InstanceState], bool]:
    """Whether an instance has ended, or one of its steps has."""
    if step is None:
        return has_ended
    return lambda state: state.has_ended or _last(state, step) is not None


def _last(state: InstanceState, step: str) -> NodeState | None:
    """The newest activation of a step that has ended."""
    ended = [node for key, node in state.nodes.items() if key.node == step and not node.is_open]
    return max(ended, key=lambda node: node.opened, default=None)


async def _started(runs: protocol.TestRuns, document: Object, options: TestRunOptions) -> TestRun:
    started = await runs.start(
        document,
        options.input,
        mocks=options.mocks,
        skip_delays=options.skip_delays,
        allow_effects=options.allow_effects,
    )
    if started.not_run and not options.is_json:
        say(f"not run, and without a mock: {', '.join(started.not_run)} (each gives {{}})")
    for event in options.events:
        [result] = await runs.publish(started.instance_id, event)
        if isinstance(result, TenutoError):
            raise result
    return started


def _conclude(
    ended: Held | int, started: TestRun, options: TestRunOptions, flag: str, *, is_kept: bool
) -> int:
    """Print how a test run has ended; the exit code."""
    from tenuto.core.ending import output_of
    from tenuto.workspace.instance_views import instance_view

    id = started.instance_id
    if isinstance(ended, int):
        if ended == exits.TIMED_OUT:
            say(f"not ended within {options.timeout:g} s; stopped watching", style="yellow")
        else:
            say("stopped watching", style="yellow")
        if is_kept:
            _say_how_to_go_on(id, flag)
        return ended
    state = ended.state
    if options.up_to is not None and not state.has_ended:
        return _conclude_step(ended, started, options, options.up_to)
    if options.is_json:
        show_json({**instance_view(ended), "notRun": [*started.not_run]})
    else:
        mark, _ = STATUS_MARKS[state.status]
        say(f"{mark} {state.status.value}, as a test run")
        if state.status is Status.COMPLETED:
            show_json(output_of(ended.plan, state))
    if state.status is Status.FAILED and state.last_error is not None:
        show_error(WorkflowFailed(state.last_error))
    if is_kept:
        _say_how_to_go_on(id, flag)
    return exits.DONE if state.status is Status.COMPLETED else exits.FAILED


def _conclude_step(ended: Held, started: TestRun, options: TestRunOptions, step: str) -> int:
    """Print what a step gave, with which a test run was ended; the exit code."""
    from tenuto.workspace.instance_views import instance_view

    node = _last(ended.state, step)
    assert node is not None
    if options.is_json:
        show_json({**instance_view(ended), "notRun": [*started.not_run]})
    else:
        say(f"{node.status.value} {step}; the test run ends here")
        show_json(node.output)
    return exits.DONE if node.error is None else exits.FAILED


def _say_how_to_go_on(id: str, flag: str) -> None:
    say("  It is kept for an hour. To look at it, to send it an event, and to erase it:")
    say_command(f"tenuto show {id}{flag}")
    say_command(f"tenuto test-runs send {id} PATTERN JSON{flag}")
    say_command(f"tenuto test-runs stop {id}{flag}")


def show_sent(id: str, pattern: str, *, is_json: bool, results: Sequence[object]) -> int:
    """Print what became of an event for a test run; the exit code."""
    from tenuto.cli.views.events import counted, published_json
    from tenuto.workspace.values import Published

    for each in results:
        if isinstance(each, TenutoError):
            raise each
        assert isinstance(each, Published)
        if is_json:
            show_json(published_json(each))
        else:
            show(
                f"✓ {pattern} sent to the test run {id}: {counted(each) or 'no wait takes it now'}"
            )
    return exits.DONE


def _named(text: str, option: str, example: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise _refused(option, f"{text!r} is not STEP=VALUE", f"Write {example}")
    return name, value


def _refused(option: str, message: str, advice: str) -> InvalidInput:
    problem = Problem(code=_CODE, path=option, message=message, advice=advice)
    return InvalidInput("the mocks cannot be read", [problem])
