"""The program of a process of the sandbox: confined first, then one call after the other.

It is started with the folders of what it imports, and with an empty environment. It has one thread,
which waits for the parent with nothing but a pipe in each direction.
"""

from __future__ import annotations

import os
import select
import sys
import time
from typing import NoReturn

import msgspec

from tenuto.sandbox.calls import Engine
from tenuto.sandbox.confinement import Limits, confine
from tenuto.sandbox.messages import (
    LENGTH,
    OUT_OF_MEMORY,
    Asked,
    Broken,
    Check,
    Confinement,
    Fetched,
    FromChild,
    FromParent,
    Ready,
    Run,
    encode,
    from_parent,
)

_CHUNK = 1 << 16
_ticks = time.monotonic  # noqa: TID251 - tenuto.ports imports more than is needed here


class _Pipes:
    """The two pipes to the parent; a closed one ends the process."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing
        self._bytes = bytearray()

    def send(self, message: FromChild) -> None:
        body = encode(message)
        data = memoryview(LENGTH.pack(len(body)) + body)
        while data:
            data = data[os.write(self._writing, data) :]

    def receive(self, seconds: float | None = None) -> FromParent | None:
        """The next message; None after so many seconds without one."""
        until = None if seconds is None else _ticks() + seconds
        while (message := self._next()) is None:
            left = None if until is None else max(until - _ticks(), 0.0)
            ready, _, _ = select.select([self._reading], [], [], left)
            if not ready:
                return None
            data = os.read(self._reading, _CHUNK)
            if not data:
                os._exit(0)
            self._bytes += data
        return from_parent(message)

    def _next(self) -> bytes | None:
        if len(self._bytes) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._bytes)
        end = LENGTH.size + length
        if len(self._bytes) < end:
            return None
        message = bytes(self._bytes[LENGTH.size : end])
        del self._bytes[:end]
        return message


def main() -> NoReturn:
    """Confine this process and serve its parent."""
    wanted = sys.argv[-3]
    reading, writing = (_low(int(each)) for each in sys.argv[-2:])
    pipes = _Pipes(reading, writing)
    try:
        confinement = msgspec.json.decode(wanted, type=Confinement)
        engine = Engine()
        # What is imported at first use has to be here before the files are gone.
        engine.run(_WARMING, lambda _: None, lambda _: None)
        engine = Engine()
        got, missing = confine(confinement, reading, writing)
        limits = Limits(confinement.memory)
    except Exception as error:  # noqa: BLE001 - the parent says why
        pipes.send(Broken(reason=repr(error)))
        os._exit(1)
    pipes.send(Ready(protections=got, missing=missing))

    try:
        _serve(pipes, limits, engine)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _low(descriptor: int) -> int:
    """The same with a low number: the service may have thousands, and `select` takes few."""
    low = os.dup(descriptor)
    os.close(descriptor)
    return low


def _serve(pipes: _Pipes, limits: Limits, engine: Engine) -> NoReturn:
    """Serve the parent, one call after the other."""

    def fetched(seconds: float) -> tuple[int, str] | None:
        match pipes.receive(seconds):
            case Fetched(id=id, answer=answer):
                return id, answer.decode()
            case _:
                return None

    def ask(requests: str) -> None:
        pipes.send(Asked(requests=requests.encode()))

    while True:
        match pipes.receive():
            case Run() as order:
                limits.begin(order.seconds, order.memory, _size_of(order))
                pipes.send(engine.run(order, ask, fetched))
            case Check() as order:
                limits.begin(order.seconds, order.memory, len(order.code))
                pipes.send(engine.check(order))
            case _:
                # The answer to a request of a call that has ended.
                continue
        del order
        limits.end()
        engine = Engine()


def _size_of(order: Run) -> int:
    return 4 * (len(order.code) + len(order.ctx) + len(order.input) + len(order.steps)) + (
        8 * order.output
    )


_WARMING = Run(
    code="console.log(1); await null; throw new Error('é')",
    ctx=b"{}",
    input=b"{}",
    steps=b"{}",
    seconds=5.0,
    memory=1 << 25,
    output=1000,
    console=1000,
    fetches=0,
    at_once=0,
)
