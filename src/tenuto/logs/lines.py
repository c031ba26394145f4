"""Log records as lines, exactly one each: as JSON, or as text for people.

A record of several attempts is one line for each of them.

Logged values come from outside too. A name with a line break must not make a line of its own, and
an API key in a request must not appear in the log: both are handled here, for all records.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

from tenuto.access.redaction import without_secrets
from tenuto.logs.attempt_lines import json_lines, text_lines
from tenuto.logs.context import fields_of_context
from tenuto.model.unsafe_text import escaped_line
from tenuto.tasks.redactor import without_known_secrets

FIELDS: Final = (
    "tenant",
    "workflowId",
    "instanceId",
    "stepName",
    "attempt",
    "errorCode",
    "durationMs",
    "requestId",
    "operation",
    "status",
    "actor",
    "source",
    "code",
    "traceparent",
)
"""The fields of a line beside its message, given as `extra`."""
MOST_TEXT: Final = 16_000
_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    """One JSON object to a line."""

    def format(self, record: logging.LogRecord) -> str:
        if (attempts := record.__dict__.get("attempts")) is not None:
            return _safe(json_lines(attempts, _moment(record)))
        said: dict[str, object] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _cut(record.getMessage()),
            **_fields(record),
        }
        if record.exc_info:
            said["error"] = _cut(self.formatException(record.exc_info))
        # JSON has no line breaks in it; characters that reverse the direction are escaped as well.
        text = without_known_secrets(_encode(without_secrets(said)).decode())
        return escaped_line(text)


class TextLines(logging.Formatter):
    """Time, level and message, then the fields; a stack follows, indented."""

    def format(self, record: logging.LogRecord) -> str:
        if (attempts := record.__dict__.get("attempts")) is not None:
            return _safe(text_lines(attempts, _moment(record)))
        fields = [f"{name}={value}" for name, value in _fields(record).items()]
        said = f"{record.levelname.lower()} {_cut(record.getMessage())}"
        # Searched as a whole for speed: there is a line for each request.
        line = without_known_secrets(str(without_secrets(" ".join([said, *fields]))))
        text = f"{_moment(record)} {escaped_line(line)}"
        if record.exc_info:
            stack = str(without_secrets(_cut(self.formatException(record.exc_info))))
            stack = without_known_secrets(stack)
            text += "".join(f"\n    {escaped_line(each)}" for each in stack.splitlines())
        return text


def _safe(lines: str) -> str:
    """Lines of attempts without secrets; searched as a whole for speed."""
    text = without_known_secrets(str(without_secrets(lines)))
    if text.replace("\n", "").isprintable():
        return text
    return "\n".join(escaped_line(each) for each in text.split("\n"))


def _moment(record: logging.LogRecord) -> str:
    second, milliseconds = divmod(int(record.created * 1000), 1000)
    return f"{_second(second)}.{milliseconds:03}Z"


@lru_cache(maxsize=4)
def _second(since_epoch: int) -> str:
    return datetime.fromtimestamp(since_epoch, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    given, around = record.__dict__, fields_of_context()
    found = ((name, given.get(name, around.get(name))) for name in FIELDS)
    return {name: value for name, value in found if value is not None}


def _cut(text: str) -> str:
    if len(text) > MOST_TEXT:
        # Before it is cut: a part of a secret is not found.
        text = without_known_secrets(text)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}… ({len(text):,} characters)"
