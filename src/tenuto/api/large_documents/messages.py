"""What a service asks the process that reads large documents, and its answers."""

from __future__ import annotations

import struct
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec
from msgspec import Struct

from tenuto.api.problems import Refusal
from tenuto.engine.definitions.reading import Reading
from tenuto.model.errors import InvalidInput, Problem, TenutoError

_LENGTH = struct.Struct(">I")


class ReadDocument(Struct, frozen=True, kw_only=True, tag="document"):
    """Read a document, which follows as it came."""

    tenant: str
    now: datetime
    events_kept: timedelta
    id: str | None
    """Its id, if it has none of its own."""
    is_saved: bool = False


class CheckInput(Struct, frozen=True, kw_only=True, tag="input"):
    """Check an input, which follows in JSON."""

    schema: bytes
    """In JSON."""


class HideTracebacks(Struct, frozen=True, kw_only=True, tag="tracebacks"):
    """Take the tracebacks out of an answer, which follows in JSON."""


Question: TypeAlias = ReadDocument | CheckInput | HideTracebacks


class Refused(Struct, frozen=True, kw_only=True):
    """A document that is refused before it is checked."""

    code: str
    message: str
    advice: str
    status: int | None = None
    problems: tuple[Problem, ...] = ()

    def error(self) -> TenutoError:
        if self.status is None:
            return InvalidInput(self.message, self.problems)
        return Refusal(self.status, self.code, self.message, self.advice)


def refused(
    error: TenutoError, *, status: int | None = None, problems: tuple[Problem, ...] = ()
) -> Refused:
    """An error of a question, to be sent in the answer."""
    return Refused(
        code=error.code,
        message=error.message,
        advice=error.advice,
        status=status,
        problems=problems,
    )


class Answer(Struct, frozen=True, kw_only=True):
    """What is known of a document, or why nothing is; problems of an input; or an answer."""

    reading: Reading | None = None
    problems: tuple[Problem, ...] = ()
    text: bytes = b""
    """An answer in JSON without tracebacks."""
    refused: Refused | None = None
    broken: str | None = None
    """The traceback of a bug."""


def question_parts(question: Question, body: bytes) -> tuple[bytes, bytes, bytes]:
    """A question in bytes; what follows it is not copied."""
    head = msgspec.msgpack.encode(question)
    return _LENGTH.pack(len(head)), head, body


def read_question(message: bytes) -> tuple[Question, bytes]:
    """A question, and what follows it."""
    (length,) = _LENGTH.unpack_from(message)
    begin = _LENGTH.size + length
    return _read_head(message[_LENGTH.size : begin]), message[begin:]


_read_head = msgspec.msgpack.Decoder(Question).decode
write_answer = msgspec.msgpack.Encoder().encode
read_answer = msgspec.msgpack.Decoder(Answer).decode
