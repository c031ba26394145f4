"""One call of a user's code in an engine of its own; in a process of the sandbox.

An engine is made for each call and is never used for a second one: nothing that code does to its
globals is there for the next. The next engine is made ahead, while the process waits.

No function of Python is given to the code. Requests are texts that the code leaves behind and the
process collects when the engine has nothing to do.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

# Not its wrapper, `quickjs`, which starts a thread: a process with two cannot leave its namespaces.
from _quickjs import Context, JSException  # type: ignore[import-not-found]

from tenuto.model.failure import (
    JAVASCRIPT_ERROR,
    JAVASCRIPT_NEVER_ENDS,
    JAVASCRIPT_SYNTAX,
    MEMORY_EXCEEDED,
    NOT_JSON,
    TIMEOUT,
    TOO_LARGE,
)
from tenuto.sandbox.messages import Check, Checked, Ended, Place, Run, Thrown


def _one_line(name: str) -> str:
    """In one line: a place in the first line is ours, and the code begins in the second."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return " ".join(each.strip() for each in lines)


_PRELUDE = _one_line("prelude.js")
_FETCH = _one_line("fetch.js")
_ticks = time.monotonic  # noqa: TID251 - tenuto.ports imports more than is needed here
_OUR_LINES: Final = 1
_STACK_BYTES: Final = 512 * 1024
_FRAME = re.compile(r"^\s*at (?:(.*?) \()?<input>:(\d{1,7}):(\d{1,7})\)?\s*$")
_INTERRUPTED = ("InternalError", "interrupted")
_NO_MEMORY = ("InternalError", "out of memory")
_NOTHING = 0.001

Send: TypeAlias = Callable[[str], None]
"""Sends requests of the code to the parent, as items of a JSON list."""
Receive: TypeAlias = Callable[[float], tuple[int, str] | None]
"""The next answer to a request: its id and JSON; None after so many seconds."""


class Engine:
    """An engine for one call."""

    def __init__(self) -> None:
        self._context = Context()
        self._context.set_max_stack_size(_STACK_BYTES)
        self._host = self._context.eval(_PRELUDE)
        self._deadline = 0.0

    def run(self, order: Run, send: Send, receive: Receive) -> Ended:
        """Run the code to its end."""
        self._begin(order.seconds, order.memory)
        try:
            ended = self._outcome(order, send, receive)
        except JSException as error:
            ended = self._stopped(str(error))
        except MemoryError:
            ended = Ended(code=MEMORY_EXCEEDED)
        return self._with_console(ended, order.console)

    def check(self, order: Check) -> Checked:
        """Parse the code; nothing of it is run."""
        self._begin(order.seconds, order.memory)
        try:
            said = self._call("check", order.code)
        except (JSException, MemoryError) as error:
            first = str(error).partition("\n")[0]
            return Checked(problem=Thrown(name="", message=f"the code cannot be parsed: {first}"))
        return Checked(problem=_inside(_thrown(said, _OUR_LINES), order.code) if said else None)

    def _begin(self, seconds: float, memory: int) -> None:
        self._deadline = _ticks() + seconds
        self._context.set_memory_limit(memory)

    def _outcome(self, order: Run, send: Send, receive: Receive) -> Ended:
        given = [each.decode() for each in (order.ctx, order.input, order.steps)]
        bounds = (order.output, order.console, order.fetches, order.at_once)
        self._call("begin", order.code, *given, *bounds, _FETCH if order.fetches else "")
        while True:
            while self._left() > _NOTHING and self._context.execute_pending_job():
                self._context.set_time_limit(max(self._left(), _NOTHING))
            if self._left() <= _NOTHING:
                return Ended(code=TIMEOUT)
            state = self._call("state")
            if state:
                return self._ended(str(state), str(self._call("said")), order)
            if requests := self._call("asked"):
                send(str(requests))
            if not self._call("waits"):
                return Ended(code=JAVASCRIPT_NEVER_ENDS)
            if (answer := receive(self._left())) is None:
                return Ended(code=TIMEOUT)
            self._call("settle", *answer)

    def _ended(self, state: str, said: str, order: Run) -> Ended:
        match state:
            case "value":
                value = said.encode()
                return Ended(value=value) if len(value) <= order.output else _too_large(len(value))
            case "large":
                return _too_large(int(said))
            case "unfit":
                return Ended(code=NOT_JSON, thrown=Thrown(name="", message=said))
            case "syntax":
                thrown = _inside(_thrown(said, _OUR_LINES), order.code)
                return Ended(code=JAVASCRIPT_SYNTAX, thrown=thrown)
            case _:
                thrown = _thrown(said, _OUR_LINES) if said else Thrown(name="", message="null")
                what = (thrown.name, thrown.message)
                # An engine may have no memory for the error either, and throws null.
                if what == _NO_MEMORY or not said:
                    return Ended(code=MEMORY_EXCEEDED, thrown=thrown)
                if what == _INTERRUPTED:
                    return Ended(code=TIMEOUT, thrown=thrown)
                return Ended(code=JAVASCRIPT_ERROR, thrown=thrown)

    def _stopped(self, text: str) -> Ended:
        """The end of an engine that was interrupted, or has no memory left."""
        first, _, stack = text.partition("\n")
        if "interrupted" in first:
            return Ended(code=TIMEOUT)
        if "out of memory" in first:
            return Ended(code=MEMORY_EXCEEDED)
        name, _, message = first.partition(": ")
        thrown = Thrown(name=name, message=message, stack=stack)
        return Ended(code=JAVASCRIPT_ERROR, thrown=_placed(thrown, _OUR_LINES))

    def _with_console(self, ended: Ended, most: int) -> Ended:
        """With the lines that were printed, as many as there is room for."""
        try:
            # An engine without memory needs a little to answer.
            self._context.set_memory_limit(0)
            self._deadline = _ticks() + 0.1
            lines = f"[{self._call('lines')}]".encode()
            dropped = int(self._call("dropped") or 0)
            if len(lines) > most * 8:
                lines, dropped = b"[]", 0
        except (JSException, MemoryError, ValueError, TypeError):
            return ended
        return Ended(
            console=lines,
            dropped=dropped,
            value=ended.value,
            code=ended.code,
            thrown=ended.thrown,
        )

    def _call(self, verb: str, *given: str | int) -> str | int | None:
        self._context.set_time_limit(max(self._left(), _NOTHING))
        answer: str | int | None = self._host(verb, *given)
        return answer

    def _left(self) -> float:
        return self._deadline - _ticks()


def _too_large(size: int) -> Ended:
    return Ended(code=TOO_LARGE, thrown=Thrown(name="", message=f"{size:,} bytes"))


def _thrown(said: str | int | None, ours: int) -> Thrown:
    """What JavaScript describes as `[name, message, stack]`."""
    try:
        name, message, stack = json.loads(str(said))
        thrown = Thrown(name=str(name), message=str(message), stack=str(stack))
    except ValueError:
        return Thrown(name="", message="the error has no text")
    return _placed(thrown, ours)


def _inside(thrown: Thrown, code: str) -> Thrown:
    """What is missing at the end of the code is found after it, where the user has no line."""
    lines = code.split("\n")
    if thrown.place is None or thrown.place.line <= len(lines):
        return thrown
    end = Place(line=len(lines), column=len(lines[-1]) + 1)
    message = f"{thrown.message} (at the end of the code)"
    return Thrown(name=thrown.name, message=message, place=end)


def _placed(thrown: Thrown, ours: int) -> Thrown:
    """With the lines of the user's code alone, as the user counts them."""
    frames: list[str] = []
    place: Place | None = None
    for each in thrown.stack.splitlines():
        if (found := _FRAME.match(each)) is None:
            continue
        line, column = int(found[2]) - ours, int(found[3])
        if line < 1:
            continue
        place = place or Place(line=line, column=column)
        name = found[1] if found[1] not in {None, "anonymous", "<anonymous>"} else "the code"
        frames.append(f"at {name} (line {line}, column {column})")
    return Thrown(name=thrown.name, message=thrown.message, stack="\n".join(frames), place=place)
