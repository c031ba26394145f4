"""Events that an instance waits for, as arguments of `tenuto events send`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from tenuto.model.json import JSON

_EQUAL: Final = re.compile(r"event\.payload\.(\w+) === (?:workflow|ctx)\.input\.(\w+)")
"""The parts of a condition that say what an event has to carry."""
_JOINED: Final = re.compile(r"\s*&&\s*")


class Hint(NamedTuple):
    """`PATTERN 'JSON' [--correlation-id ID]`, and whether the wait would take that."""

    arguments: str
    is_whole: bool
    """Whether the condition says no more than the payload holds, and the input has all of it."""


def event_hint(
    pattern: str,
    condition: str | None,
    input: JSON,
    more: Sequence[str] = (),
    *,
    correlation_id: str | None = None,
) -> Hint:
    """An event for a wait, as far as its condition shows one; `more` are fields that it reads."""
    given = input if isinstance(input, dict) else {}
    parts = _JOINED.split(condition) if condition else []
    equal = _EQUAL.findall(condition or "")
    payload = {name: given[place] for name, place in equal if place in given}
    # The payload should also do for the steps after the wait.
    payload = {**dict.fromkeys(more, 1), **payload}
    text = msgspec.json.encode(payload).decode() if payload else "{}"
    is_known = all(place in given for _, place in equal)
    is_whole = is_known and all(_EQUAL.fullmatch(part.strip()) for part in parts)
    arguments = [shlex.quote(pattern), shlex.quote(text)]
    if correlation_id is not None:
        arguments += ["--correlation-id", shlex.quote(correlation_id)]
    return Hint(" ".join(arguments), is_whole)
