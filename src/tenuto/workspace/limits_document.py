"""Reads the document of limits, with all its problems, each at its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from tenuto.definition.report import did_you_mean, step
from tenuto.model.checks import MOST_UNKNOWN
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import JSON, kind_of
from tenuto.model.json_words import in_json_words
from tenuto.model.slots import LEAST_AGING_MS, MOST_AGING_MS, ConcurrencyConfig, QueueConfig
from tenuto.workspace.effective_limit import RULES, rules_problems

BAD_LIMITS = "TEN-2835"
MOST_NAMES = 10_000
"""The most names in one map of limits."""
LONGEST_NAME = 500
"""The most characters of a name in a map of limits."""
_MOST_PROBLEMS = 100
"""Problems that are listed: each costs thousands of times the bytes that were sent."""
_ADVICE = "Limits are whole numbers from 0 to 1,000,000; leave one out to remove it."
_OF_QUEUE = {
    "$.queue.order": "It is one of `fifo`, `priority`, `deadline`.",
    "$.queue.bound": "It is a whole number from 1 to 100,000,000; leave it out for no bound.",
    "$.queue.aging": "Write a duration from `PT1S` to `P30D`, such as `PT1M`.",
    "$.queue.perTenantShare": "Weights are whole numbers from 1 to 1,000.",
}


def read_limits(document: JSON) -> ConcurrencyConfig:
    """The limits of a document; InvalidInput with all its problems."""
    if isinstance(document, dict):
        # Answers have these beside the limits, and may be sent back as they are.
        document = {k: v for k, v in document.items() if k not in _ANSWERED}
        if isinstance(is_adaptive := document.get(RULES), bool):
            document[RULES] = {"enabled": is_adaptive}
    rules = rules_problems(document)
    if rules and isinstance(document, dict):
        document = {k: v for k, v in document.items() if k != RULES}
    found = chain(_problems(ConcurrencyConfig, document, "$"), _of_aging(document), rules)
    problems = [*islice(found, _MOST_PROBLEMS)]
    if next(found, None) is not None:
        problems.append(_problem("$", "there are more problems", "Correct those listed first."))
    if problems:
        raise InvalidInput("the limits cannot be set", problems)
    return msgspec.convert(document, ConcurrencyConfig)


_ANSWERED = frozenset({"version", "warnings", "preview", "effective"})


def _problems(kind: Any, value: JSON, path: str) -> Iterator[Problem]:  # noqa: ANN401 - any type
    """The problems of a value that is to have this type."""
    if isinstance(kind, UnionType) and NoneType in get_args(kind) and value is not None:
        [kind] = (each for each in get_args(kind) if each is not NoneType)
    if isinstance(kind, type) and issubclass(kind, Struct):
        yield from _of_fields(kind, value, path)
    elif get_origin(kind) is Mapping:
        yield from _of_names(get_args(kind)[1], value, path)
    else:
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            yield _problem(path, in_json_words(error), _advice(path))


def _of_fields(kind: type[Struct], value: JSON, path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield _problem(path, f"expected an object, found {kind_of(value)}", "Write an object.")
        return
    hints = get_type_hints(kind, include_extras=True)
    known = {each.encode_name: hints[each.name] for each in msgspec.structs.fields(kind)}
    unknown = 0
    for name, inner in value.items():
        if name in known:
            yield from _problems(known[name], inner, path + step(name))
        elif (unknown := unknown + 1) <= MOST_UNKNOWN:
            advice = did_you_mean(name, known, f"Known are {', '.join(sorted(known))}.")
            yield _problem(path + step(name), "there is no such field", advice)
    if unknown > MOST_UNKNOWN:
        message = f"there are {unknown - MOST_UNKNOWN:,} more fields here that are unknown"
        yield _problem(path, message, "Leave them out.")


def _of_names(kind: Any, value: JSON, path: str) -> Iterator[Problem]:  # noqa: ANN401 - any type
    if not isinstance(value, dict):
        message = f"expected an object, found {kind_of(value)}"
        yield _problem(path, message, "Write an object of names, each with its limit.")
        return
    if len(value) > MOST_NAMES:
        advice = f"At most {MOST_NAMES:,} have limits of their own; `*` is that of the others."
        yield _problem(path, f"{len(value):,} names are too many", advice)
        return
    for name, inner in value.items():
        if not 0 < len(name) <= LONGEST_NAME:
            advice = f"A name has 1 to {LONGEST_NAME} characters; `*` is the limit of the others."
            yield _problem(path + step(name), "the name cannot be used", advice)
        yield from _problems(kind, inner, path + step(name))


def _of_aging(document: JSON) -> Iterator[Problem]:
    queue = document.get("queue") if isinstance(document, dict) else None
    aging = queue.get("aging") if isinstance(queue, dict) else None
    if isinstance(aging, str):
        message = None
        try:
            milliseconds = QueueConfig(aging=aging).aging_ms
        except ValueError as error:
            message = str(error)
        else:
            if milliseconds < LEAST_AGING_MS:
                message = f"{aging!r} is shorter than a second"
            elif milliseconds > MOST_AGING_MS:
                message = f"{aging!r} is longer than 30 days"
        if message is not None:
            yield _problem("$.queue.aging", message, _OF_QUEUE["$.queue.aging"])


def _advice(path: str) -> str:
    return next((said for place, said in _OF_QUEUE.items() if path.startswith(place)), _ADVICE)


def _problem(path: str, message: str, advice: str) -> Problem:
    return Problem(code=BAD_LIMITS, path=path, message=message, advice=advice)
