"""The process that runs tasks with isolation="process": `python -m tenuto.tasks.child IN OUT`.

Messages go through two pipes of their own, so that nothing a task prints can get between them. The
main thread runs tasks; another reads, so that a task can be asked to stop, and ends the process as
soon as the parent has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Coroutine
from typing import Any, NoReturn

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tenuto.model.json import Object
from tenuto.ports import SystemClock
from tenuto.tasks.address import find
from tenuto.tasks.attempt_log import AttemptLog, Line
from tenuto.tasks.capture import CAPTURE, CURRENT
from tenuto.tasks.context import Cancelled, Context
from tenuto.tasks.failures import details_of, failure_of
from tenuto.tasks.frames import (
    Answer,
    AskOutputs,
    AskUndo,
    Beat,
    Begun,
    Done,
    Failed,
    FromChild,
    Ready,
    Run,
    Stop,
    Wrote,
    encode,
    from_parent,
)
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.output import Result, delay_ms, to_json
from tenuto.tasks.parent_pipes import ParentPipes
from tenuto.tasks.project_folders import import_from
from tenuto.tasks.redactor import Redactor
from tenuto.tasks.undo import Undo


class Parent:
    """The parent, as the link of whatever task is running."""

    def __init__(self, pipes: ParentPipes) -> None:
        self._pipes = pipes
        self._asking = threading.Lock()
        self._answers: queue.SimpleQueue[Raw] = queue.SimpleQueue()
        self.orders: queue.SimpleQueue[Run] = queue.SimpleQueue()
        self.is_told_to_stop = False
        self.is_busy = False
        self.running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def say(self, message: FromChild) -> None:
        self._pipes.send(encode(message))

    def beat(self, details: object) -> None:
        self.say(Beat(Raw(encode(details_of(details)))))

    def previous_outputs(self) -> Object:
        outputs: Object = msgspec.json.decode(self._ask(AskOutputs()))
        return outputs

    def undo(self) -> Undo | None:
        return msgspec.json.decode(self._ask(AskUndo()), type=Undo | None)

    def _ask(self, question: AskOutputs | AskUndo) -> Raw:
        # Answers carry no id: the threads of a task ask one after the other.
        with self._asking:
            self.say(question)
            return self._answers.get()

    def hear(self, message: bytes) -> None:
        match from_parent(message):
            case Run() as order:
                # A stop message belongs to the order before it.
                self.is_told_to_stop = False
                self.orders.put(order)
            case Stop():
                self._stop()
            case Answer(value):
                self._answers.put(value)

    def end(self) -> NoReturn:
        """The parent has ended: end at once, with all processes that a running task has started."""
        if self.is_busy and os.getpgrp() == os.getpid():
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os._exit(0)

    def _stop(self) -> None:
        self.is_told_to_stop = True
        running = self.running
        if running is not None:
            loop, task = running
            # The task may have ended just now, and its loop with it.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)


def main() -> NoReturn:
    pipes = ParentPipes.of_program()
    parent = Parent(pipes)
    pipes.listen(parent.hear, parent.end)
    parent.say(Ready())
    while True:
        order = parent.orders.get()
        parent.is_busy = True
        parent.say(Begun())
        # Changes of context variables end with the task.
        writer = Writer(parent) if order.keeps_lines else None
        outcome = contextvars.copy_context().run(_perform, parent, order, writer)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        if writer is not None:
            writer.send(writer.log.end())
        parent.is_busy = False
        parent.say(outcome)


class Writer:
    """Sends the lines of a task at once: the process may be killed at any moment."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._ticks = SystemClock().ticks
        self.log = AttemptLog(self._ticks, lambda: self.send(self.log.take()))

    def send(self, lines: list[Line]) -> None:
        if lines:
            now = self._ticks()
            self._parent.say(Wrote([replace(each, ticks=each.ticks - now) for each in lines]))


_redactor = Redactor(SystemClock().ticks)
"""Keeps secrets out of what tasks print to the streams of the service."""


def _perform(parent: Parent, order: Run, writer: Writer | None) -> Done | Failed:
    for each in order.secret_values:
        _redactor.remember("", "", each)
    if writer is not None:
        CAPTURE.begin()
        CURRENT.set(writer)
        _log_from(order.log_level)
    try:
        import_from(order.path)
        value = _call(parent, find(order.address), order)
        handle, delay = "default", 0
        if type(value) is Result:
            handle, delay, value = str(value.handle), delay_ms(value.delay), value.output
        output = to_json(value, order.output_limit)
        return Done(Raw(encode(output)), handle, delay)
    except BaseException as error:  # noqa: BLE001 - SystemExit of a task is the task's failure
        is_stop = isinstance(error, asyncio.CancelledError | Cancelled)
        return Failed(failure_of(error), was_told=is_stop and parent.is_told_to_stop)
    finally:
        if writer is not None:
            CAPTURE.end()


def _log_from(level: int) -> None:
    """Make log records from the level of the parent on, unless the task's module chose another."""
    root = logging.getLogger()
    if root.level == logging.WARNING:
        root.setLevel(level)


def _call(parent: Parent, task: TaskFunction[..., Any], order: Run) -> object:
    binding = task.binding
    context = None
    if binding.takes_context:
        context = Context(
            instance_id=order.instance_id,
            step_id=order.step_id,
            attempt=order.attempt,
            idempotency_key=order.idempotency_key,
            correlation_id=order.correlation_id,
            deadline=order.deadline,
            traceparent=order.traceparent,
            link=parent,
        )
    value = binding.call(context, msgspec.json.decode(order.input))
    if inspect.iscoroutine(value):
        return asyncio.run(_await(parent, value))
    return value


async def _await(parent: Parent, coroutine: Coroutine[Any, Any, object]) -> object:
    task = asyncio.current_task()
    assert task is not None  # asyncio.run made one
    parent.running = (asyncio.get_running_loop(), task)
    try:
        if parent.is_told_to_stop:
            task.cancel()
        return await coroutine
    finally:
        parent.running = None


if __name__ == "__main__":
    main()
