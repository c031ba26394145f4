"""Texts in expressions that are searched for, or replaced, at a cost of the product of lengths."""

from __future__ import annotations

from tenuto.model.json import JSON, Object
from tests.bombs.attack import BUSY, TOO_LARGE, Ask, Attack


def _computing(expression: str) -> list[Ask]:
    step: Object = {"stepId": "s", "type": "SET", "values": {"x": f"{{{{{expression}}}}}"}}
    return [Ask("PUT", "/workflows/texts", {"id": "texts", "steps": [step]})]


def _start(input: JSON) -> Ask:
    return Ask("POST", "/workflows/texts/start", {"input": input})


def _waiting(condition: str) -> list[Ask]:
    step: Object = {
        "stepId": "w",
        "type": "EVENT_WAIT",
        "eventPattern": "a.b",
        "eventCondition": condition,
        "lookback": "PT0S",
    }
    return [
        Ask("PUT", "/workflows/texts", {"id": "texts", "steps": [step]}),
        _start({}),
    ]


def _nearly() -> JSON:
    """A text and a pattern that fits in its second half only, wherever it is looked for."""
    half = "a" * 150_000
    return {"text": "a" * 500_000, "pattern": f"{half}b{half}"}


def _growing() -> JSON:
    """Each `$'` stands for all of the text that follows."""
    return {"text": "x" + "a" * 200_000, "by": "$'" * 8_000}


TEXTS: tuple[Attack, ...] = (
    Attack(
        "last-index-of",
        lambda: [_start(_nearly())],
        TOO_LARGE,
        before=lambda: _computing("ctx.input.text.lastIndexOf(ctx.input.pattern)"),
        at_once=1,
    ),
    Attack(
        "last-index-of-in-conditions",
        lambda: [Ask("POST", "/events", {"pattern": "a.b", "payload": _nearly()})],
        BUSY,
        before=lambda: _waiting("event.payload.text.lastIndexOf(event.payload.pattern) === 1"),
        at_once=1,
    ),
    Attack(
        "replacements-that-grow",
        lambda: [_start(_growing())],
        TOO_LARGE,
        before=lambda: _computing("ctx.input.text.replace('x', ctx.input.by)"),
        at_once=1,
    ),
    Attack(
        "replacements-of-all-that-grow",
        lambda: [_start(_growing())] * 6,
        TOO_LARGE,
        before=lambda: _computing("ctx.input.text.replaceAll('x', ctx.input.by).length"),
    ),
)
