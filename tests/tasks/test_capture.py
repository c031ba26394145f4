"""What tasks print and log is noted for their attempt, and goes where it goes anyway."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import redirect_stdout
from functools import partial
from types import SimpleNamespace
from typing import Any, Self

import pytest
import pytest_asyncio

from tenuto.model.inputs import TaskFailed
from tenuto.model.task_logs import LogChunk, LogLine
from tenuto.ports import Timer
from tenuto.tasks import Registry
from tenuto.tasks.attempt import Attempt, Key
from tenuto.tasks.attempt_log import AttemptLog
from tenuto.tasks.capture import CAPTURE, CURRENT, Capture, CapturedStream
from tenuto.tasks.child import Parent
from tenuto.tasks.context import Facts
from tenuto.tasks.frames import Begun, Ready, encode, frame
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.parent_pipes import ParentPipes
from tests.tasks import process_tasks
from tests.tasks.process_tasks import written
from tests.tasks.stage import Stage, order, stage

WAYS = {"print": ("stdout", None), "stderr": ("stderr", None), "logging": (None, "warning")}


class Lines:
    """The lines that a runner handed over, by step."""

    def __init__(self) -> None:
        self.of: dict[str, list[LogLine]] = {}

    def __call__(self, key: Key, chunk: LogChunk) -> None:
        known = self.of.setdefault(key[1], [])
        assert chunk.first == len(known)
        known += chunk.lines

    def texts(self, step: str) -> list[str]:
        return [line.text for line in self.of.get(step, [])]


@pytest.fixture
def registry() -> Registry:
    made = Registry(behind=process_tasks.registry)

    @made.task
    async def in_loop(how: str) -> None:
        await asyncio.sleep(0)
        written(how)

    @made.task
    def in_thread(how: str) -> None:
        written(how)

    @made.task
    async def in_inner(how: str) -> None:
        await asyncio.gather(asyncio.to_thread(written, how), asyncio.sleep(0))

    return made


class Place:
    """A runner, and the lines that it handed over."""

    def __init__(self, on: Stage, lines: Lines) -> None:
        self.on = on
        self.lines = lines

    async def __aenter__(self) -> Self:
        # In the test itself: pytest replaces the streams between fixtures and tests.
        CAPTURE.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        CAPTURE.end()


@pytest_asyncio.fixture
async def place(registry: Registry) -> AsyncIterator[Place]:
    lines = Lines()
    async with stage(registry, lines=lines) as on:
        yield Place(on, lines)


@pytest.mark.asyncio
@pytest.mark.parametrize("where", ["in_loop", "in_thread", "in_inner", "write"])
async def test_lines_of_every_place_and_kind_are_handed_over_with_the_outcome(
    place: Place, where: str
) -> None:
    async with place:
        for number, (how, (stream, level)) in enumerate(WAYS.items(), 1):
            place.on.start(where, how, node=how)
            assert await place.on.output(number) is None
            [line] = place.lines.of[how]
            assert (line.text, line.stream, line.level) == ("a line", stream, level)
            assert line.logger == ("shop" if level else None)


@pytest.mark.asyncio
async def test_lines_of_a_process_that_died_are_kept(place: Place) -> None:
    async with place:
        place.on.start("write_and_die", "print", node="a")
        assert isinstance(await place.on.report(), TaskFailed)
    assert place.lines.texts("a") == ["a line"]


@pytest.mark.asyncio
async def test_attempts_at_the_same_time_have_their_own_lines(
    place: Place, registry: Registry
) -> None:
    both = asyncio.Barrier(2)

    @registry.task
    async def speak(name: str) -> None:
        print(f"{name} begins")
        await both.wait()
        print(f"{name} ends")

    async with place:
        for name in ("a", "b"):
            place.on.start("speak", name, node=name)
        await place.on.reports.until(2)
    for name in ("a", "b"):
        assert place.lines.texts(name) == [f"{name} begins", f"{name} ends"]


@pytest.mark.asyncio
async def test_what_a_task_left_behind_prints_is_in_no_other_attempt(
    place: Place, registry: Registry
) -> None:
    go, left = asyncio.Event(), []

    async def late() -> None:
        await go.wait()
        print("late")

    @registry.task
    async def leave() -> None:
        left.append(asyncio.create_task(late()))

    @registry.task
    async def listen() -> None:
        go.set()
        await left[0]
        print("mine")

    async with place:
        place.on.start("leave")
        await place.on.output()
        place.on.start("listen")
        await place.on.output(2)
    assert place.lines.of.keys() == {"listen"}
    assert place.lines.texts("listen") == ["mine"]


@pytest.mark.asyncio
async def test_lines_are_handed_over_while_an_attempt_runs_and_when_it_is_abandoned(
    place: Place, registry: Registry
) -> None:
    begun = asyncio.Event()

    @registry.task
    async def wait() -> None:
        print("waiting")
        begun.set()
        await asyncio.Event().wait()

    async with place:
        place.on.start("wait")
        await begun.wait()
        await asyncio.sleep(0)
        place.on.clock.advance(1)
        assert place.lines.texts("wait") == ["waiting"]
        print("not a task's")
        assert place.on.runner.abandon() == 1
    assert place.lines.texts("wait") == ["waiting"]


@pytest.mark.asyncio
async def test_lines_are_handed_over_in_the_context_of_no_attempt(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    later = place.on.clock.call_later

    def call_later(seconds: float, function: Callable[[], object]) -> Timer:
        seen.append(CURRENT.get())
        return later(seconds, function)

    async with place:
        place.on.start("in_inner", "print")
        monkeypatch.setattr(place.on.clock, "call_later", call_later)
        await place.on.output()
    assert seen
    assert set(seen) == {None}


def test_the_streams_go_on_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, capture = io.StringIO(), Capture()
    monkeypatch.setattr(sys, "stdout", shown)
    before = sys.stdout
    capture.begin()
    capture.begin()
    print("shown")
    sys.stdout.writelines(["this ", "too\n"])
    assert isinstance(sys.stdout, type(before))
    assert sys.stdout.encoding == before.encoding
    capture.end()
    assert type(sys.stdout) is CapturedStream
    capture.end()
    assert sys.stdout is before
    assert shown.getvalue() == "shown\nthis too\n"


def test_a_stream_that_another_library_put_in_place_stays() -> None:
    other = io.StringIO()
    with redirect_stdout(io.StringIO()):
        CAPTURE.begin()
        with redirect_stdout(other):
            CAPTURE.end()
            assert sys.stdout is other
        print("still written")


def test_logging_is_not_changed_by_the_capture() -> None:
    root, factory = logging.getLogger(), logging.getLogRecordFactory()
    handlers, level = list(root.handlers), root.level
    CAPTURE.begin()
    assert (root.handlers, root.level) == (handlers, level)
    CAPTURE.end()
    assert logging.getLogRecordFactory() is factory


@pytest.mark.asyncio
async def test_a_record_is_one_line_also_after_a_library_has_chained_the_factory(
    place: Place, registry: Registry
) -> None:
    @registry.task
    async def log() -> None:
        logging.getLogger("shop").error("once")

    before = logging.getLogRecordFactory()
    try:
        async with place:
            ours = logging.getLogRecordFactory()
            logging.setLogRecordFactory(partial(ours))
        async with place:
            place.on.start("log")
            await place.on.output()
    finally:
        logging.setLogRecordFactory(before)
    assert place.lines.texts("log") == ["once"]


@pytest.mark.asyncio
async def test_a_record_that_a_handler_writes_to_a_captured_stream_is_one_line(
    place: Place, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    CAPTURE.begin()
    handler = logging.StreamHandler()
    logger = logging.getLogger("shop")
    logger.addHandler(handler)
    try:

        @registry.task
        async def log() -> None:
            logger.error("once")
            logging.getLogger("tenuto.own").error("of the engine")

        place.on.start("log")
        await place.on.output()
    finally:
        logger.removeHandler(handler)
        CAPTURE.end()
    assert place.lines.texts("log") == ["once"]
    assert capsys.readouterr().err.splitlines()[0] == "once"


@pytest.mark.asyncio
async def test_a_task_without_lines_hands_over_nothing(place: Place, registry: Registry) -> None:
    @registry.task
    async def quiet() -> bool:
        return CURRENT.get() is not None

    place.on.start("quiet")
    assert await place.on.output() is True
    assert place.lines.of == {}


def test_a_finalizer_that_prints_while_the_log_of_an_attempt_is_made_blocks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attempt = Attempt(
        ("i", "a", "", 1),
        order("a"),
        Facts(),
        TaskFunction(written),
        lambda: 0.0,
        wrote=lambda _: None,
    )
    inside: list[bool] = []

    def made(*args: Any) -> AttemptLog:  # noqa: ANN401 - as given
        if not inside:
            inside.append(True)
            attempt.log.write("stdout", "of the finalizer\n")
        return AttemptLog(*args)

    def first_line() -> None:
        attempt.log.write("stdout", "of the task\n")

    monkeypatch.setattr("tenuto.tasks.attempt.AttemptLog", made)
    thread = threading.Thread(target=first_line, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert [line.text for line in attempt.log.end()] == ["of the finalizer", "of the task"]


def test_a_finalizer_that_prints_while_a_child_sends_is_sent_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[bytes] = []
    parent = Parent(ParentPipes(-1, -1))

    def write(_: int, data: memoryview) -> int:
        sent.append(bytes(data[:1]))
        if len(sent) == 1:
            parent.say(Ready())
        return 1

    monkeypatch.setattr("tenuto.tasks.parent_pipes.os", SimpleNamespace(write=write))
    thread = threading.Thread(target=parent.say, args=(Begun(),), daemon=True)
    thread.start()
    thread.join(10)
    both = [*frame(encode(Begun())), *frame(encode(Ready()))]
    assert b"".join(sent) == b"".join(both)
