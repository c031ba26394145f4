"""All that the contract names can be said."""

from __future__ import annotations

import inspect

import tenuto
from tenuto.tasks import TaskFunction


def test_every_construct_is_there() -> None:
    """Constructs: `.after .after_any .map .named .on_error .undo`, `when / otherwise`, `one_of`,
    `repeat_while`, `child`, `sleep`, `wait_event`, `publish`, `terminate`; `Retry(attempts, first,
    factor, cap, non_retryable, on_lost)`; the rest through JSON."""
    words = ("after", "after_any", "map", "named", "on_error", "undo")
    assert all(callable(getattr(TaskFunction, word)) for word in words)
    names = (
        "when",
        "otherwise",
        "one_of",
        "repeat_while",
        "child",
        "sleep",
        "wait_event",
        "publish",
        "terminate",
    )
    assert all(callable(getattr(tenuto, name)) for name in names)
    assert list(inspect.signature(tenuto.Retry).parameters) == [
        "attempts",
        "first",
        "factor",
        "cap",
        "non_retryable",
        "on_lost",
        "calendar",
    ]
