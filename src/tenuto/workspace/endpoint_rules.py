"""Checks of webhooks and subscriptions: each gives every problem of its field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from tenuto.egress import Allowance, private_problem, url_problem
from tenuto.engine.outbox.signatures import secret_problem
from tenuto.expr import ExpressionSyntaxError, compile_expression
from tenuto.model.checks import length_problems, moment_problem
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import Problem
from tenuto.model.json import json_problem

MOST_PATTERNS = 100
LONGEST_TEXT = 1_000

_WORD = r"[^\s.*{}\x00-\x1f\x7f]+"
_PATTERN = re.compile(rf"(?:{_WORD}|\*\*?)(?:\.(?:{_WORD}|\*\*?))*\Z")
_EVENT = frozenset({"event"})


def url_problems(url: object, path: str, allowance: Allowance) -> list[Problem]:
    """Problems of an address."""
    if not isinstance(url, str):
        return [_problem("TEN-2301", path, f"{url!r} is no URL")]
    problem = url_problem(url)
    if problem is not None:
        return [_problem("TEN-2301", path, f"the URL cannot be used: {problem}")]
    private = private_problem(url, allowance)
    return [] if private is None else [_problem("TEN-2302", path, private)]


def pattern_problems(patterns: Sequence[object]) -> list[Problem]:
    """Problems of patterns of events."""
    if not patterns:
        return [_problem("TEN-2303", "$.patterns", "there is no pattern, so no event would fit")]
    if len(patterns) > MOST_PATTERNS:
        message = f"{len(patterns):,} patterns, where {MOST_PATTERNS} are the most"
        return [_problem("TEN-2303", "$.patterns", message)]
    found: list[Problem] = []
    for place, pattern in enumerate(patterns):
        path = f"$.patterns[{place}]"
        if not isinstance(pattern, str) or not _PATTERN.match(pattern) or json_problem(pattern):
            found.append(_problem("TEN-2303", path, f"{pattern!r} is not a pattern of events"))
        else:
            found += length_problems(pattern, path)
    return found


def secret_problems(secret: str | None) -> list[Problem]:
    """Problems of a secret, which is never shown."""
    problem = None if secret is None else secret_problem(secret)
    return [] if problem is None else [_problem("TEN-2304", "$.secret", problem)]


def text_problems(**texts: str | None) -> list[Problem]:
    """Problems of free texts, by their names in JSON."""
    found: list[Problem] = []
    for name, text in texts.items():
        if text is None:
            continue
        path = f"$.{name}"
        problem = json_problem(text)
        if problem is not None:
            advice = "Send Unicode text without NUL characters."
            found.append(Problem(code="TEN-2004", path=path, message=problem[1], advice=advice))
        elif len(text) > LONGEST_TEXT:
            advice = f"Write at most {LONGEST_TEXT:,} characters."
            message = f"{len(text):,} characters"
            found.append(Problem(code="TEN-2012", path=path, message=message, advice=advice))
    return found


def filter_problems(text: str | None) -> list[Problem]:
    """Problems of an expression over `event`."""
    if text is None:
        return []
    try:
        compile_expression(text, roots=_EVENT)
    except ExpressionSyntaxError as error:
        message = f"{error.message} (at character {error.position + 1})"
        return [_problem("TEN-2305", "$.filter", message, error.advice or None)]
    return []


def expiry_problems(expires_at: datetime | None, now: datetime) -> list[Problem]:
    """Problems of an expiration time."""
    if expires_at is None:
        return []
    if (wrong := moment_problem(expires_at)) is not None:
        return [_problem("TEN-2306", "$.expirationTime", wrong)]
    if expires_at <= now:
        message = f"{expires_at.isoformat()} is over"
        return [_problem("TEN-2306", "$.expirationTime", message)]
    return []


def _problem(code: str, path: str, message: str, advice: str | None = None) -> Problem:
    return Problem(code=code, path=path, message=message, advice=advice or CATALOGUE[code].advice)
