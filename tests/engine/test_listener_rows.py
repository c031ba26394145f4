"""Which definitions listen for what Tenuto tells, and for how much of it."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.definition import compile_definition
from tenuto.engine.definitions.listener_rows import hears_inbox, level_heard, listener_of
from tests.store.situations import NOON


def listening(**parts: Any) -> tuple[tuple[str, ...], int] | None:  # noqa: ANN401
    wait = parts.pop("wait", {"eventPattern": "paid"})
    document = {
        "id": "d",
        "steps": [{"stepId": "w", "type": "EVENT_WAIT", **wait}],
        **parts,
    }
    found = listener_of(compile_definition(document), b"\1" * 32, NOON, "default")
    return None if found is None else (found.patterns, found.level)


def test_a_definition_that_waits_for_events_from_outside_does_not_listen() -> None:
    assert listening() is None
    assert listening(wait={"eventPattern": "order.*"}) is None
    assert listening(triggers=[{"eventPattern": "order.created"}]) is None


def test_waits_arms_and_triggers_listen() -> None:
    assert listening(wait={"eventPattern": "workflow.completed"}) == (("workflow.completed",), 1)
    arms = [{"id": "a", "eventPattern": "paid"}, {"id": "b", "eventPattern": "workflow.failed"}]
    assert listening(wait={"arms": arms}) == (("workflow.failed",), 1)
    assert listening(triggers=[{"eventPattern": "workflow.*"}]) == (("workflow.*",), 1)
    cancelling = [{"eventPattern": "workflow.node.failed"}]
    assert listening(cancellationTriggers=cancelling) == (("workflow.node.failed",), 2)
    assert listening(wait={"eventPattern": "**"}) == (("**",), 2)


@pytest.mark.parametrize(
    ("pattern", "level", "inbox"),
    [
        ("workflow.completed", 1, False),
        ("workflow.*", 1, False),
        ("workflow.**", 2, False),
        ("workflow.node.*", 2, False),
        ("*.completed", 1, True),
        ("**", 2, True),
        ("*", 0, True),
        ("order.**", 0, True),
        ("workflow.unheard.of", 0, False),
    ],
)
def test_a_pattern_says_what_is_listened_for(pattern: str, level: int, inbox: bool) -> None:
    assert level_heard([pattern]) == level
    assert hears_inbox([pattern]) == inbox
