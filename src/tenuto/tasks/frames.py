"""Messages between a parent and its child process: frames with a length; of tasks, JSON."""

from __future__ import annotations

import logging
import struct
from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct

from tenuto.model.failure import Failure
from tenuto.tasks.attempt_log import Line

_LENGTH = struct.Struct(">I")


class Address(Struct, frozen=True):
    """Where a child process finds a function."""

    module: str | None
    """The module's name; None for a script, which has none that can be imported."""
    file: str | None
    qualname: str
    undoes: str | None = None
    """The name of the task that the function undoes, if it is called for that."""


class Run(Struct, frozen=True, kw_only=True, tag="run"):
    """Parent: run this attempt."""

    path: list[str]
    """Where the parent looks for modules."""
    address: Address
    input: Raw
    instance_id: str
    step_id: str
    attempt: int
    idempotency_key: str
    correlation_id: str | None
    deadline: datetime | None
    output_limit: int
    traceparent: str | None = None
    keeps_lines: bool = False
    """Whether the child sends the lines that the task logs and prints."""
    log_level: int = logging.WARNING
    """That of the parent's root logger."""
    secret_values: tuple[str, ...] = ()
    """The values of secrets in the input, which the child prints nowhere."""


class Stop(Struct, frozen=True, tag="stop"):
    """Parent: the attempt should stop."""


class Answer(Struct, frozen=True, tag="answer"):
    """Parent: the answer to a request."""

    value: Raw


class Ready(Struct, frozen=True, tag="ready"):
    """Child: the interpreter is up."""


class Begun(Struct, frozen=True, tag="begun"):
    """Child: the order has arrived; from here on it may have effects."""


class Beat(Struct, frozen=True, tag="beat"):
    """Child: the task is alive."""

    details: Raw


class Wrote(Struct, frozen=True, tag="wrote"):
    """Child: the task has logged or printed these lines; their ticks are negative: how long ago."""

    lines: list[Line]


class AskOutputs(Struct, frozen=True, tag="ask-outputs"):
    """Child: the task requests the previous outputs."""


class AskUndo(Struct, frozen=True, tag="ask-undo"):
    """Child: the task requests the facts about the step that it undoes."""


class Done(Struct, frozen=True, tag="done"):
    """Child: the task returned."""

    output: Raw
    handle: str
    delay: int = 0


class Failed(Struct, frozen=True, tag="failed"):
    """Child: the task did not succeed."""

    failure: Failure
    was_told: bool = False
    """Whether it ended because it was asked to stop."""


FromParent: TypeAlias = Run | Stop | Answer
FromChild: TypeAlias = Ready | Begun | Beat | Wrote | AskOutputs | AskUndo | Done | Failed

encode = msgspec.json.encode
_from_parent = msgspec.json.Decoder(FromParent)
_from_child = msgspec.json.Decoder(FromChild)


def from_parent(message: bytes) -> FromParent:
    decoded: FromParent = _from_parent.decode(message)
    return decoded


def from_child(message: bytes) -> FromChild:
    decoded: FromChild = _from_child.decode(message)
    return decoded


def frame(*parts: bytes) -> list[bytes]:
    """A message of these parts as it goes through a pipe; large parts are not copied."""
    return [_LENGTH.pack(sum(map(len, parts))), *parts]


class FrameTooLong(Exception):
    """A message that is longer than any that is expected."""


class Frames:
    """Cuts the bytes of a pipe into messages."""

    def __init__(self, most: int | None = None) -> None:
        """`most`: the most bytes of a message; its length is looked at before it has arrived."""
        self._bytes = bytearray()
        self.most = most

    def feed(self, data: bytes) -> None:
        self._bytes += data

    def next(self) -> bytes | None:
        """The next message, or None while it is not complete."""
        if len(self._bytes) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes)
        end = _LENGTH.size + length
        if self.most is not None and length > self.most:
            raise FrameTooLong(f"a message of {length:,} bytes")
        if len(self._bytes) < end:
            return None
        body = bytes(self._bytes[_LENGTH.size : end])
        del self._bytes[:end]
        return body
