"""Refuses crash tests that would search nothing, and so find nothing."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from tenuto.model.entries import EventType
from tenuto.model.errors import TenutoError
from tenuto.model.json import Object
from tenuto.model.status import Status
from tenuto.testing.driving import Decide, Scripted, event_id
from tenuto.testing.engine import Engine
from tenuto.testing.instance import Instance
from tenuto.testing.mishap_driver import resting
from tenuto.testing.mishaps import Mishap, spelled

__tracebackhide__ = True
"""pytest hides the frames of this module in tracebacks."""


def refuse_endless(calm: Instance, why: str | None) -> None:
    """Refuse a workflow that does not end without faults: a fault's effect would be invisible."""
    if resting(calm.engine):
        raise TenutoError(
            f"without any fault the workflow does not end: {why}\n\n{calm.timeline}",
            code="TEN-2205",
            advice="Pass what it waits for: crash_test(…, events=[(pattern, payload)]), or "
            "Decide(step=…, by=…) among them.",
        )


def refuse_other_end(calm: Instance, expect: Status) -> None:
    """Refuse a workflow that ends in another way without faults: few of its steps would be run."""
    if calm.status is expect:
        return
    error = calm.error or {}
    place = f" in {error['stepId']}" if error.get("stepId") else ""
    why = f": {error['code']}{place}: {error['message']}" if error else ""
    raise TenutoError(
        f"without any fault the workflow ends {calm.status.value}, not {expect.value}{why}"
        f"\n\n{calm.timeline}",
        code="TEN-2205",
        advice="Correct the workflow, its input or its stubs; if it is meant to end so: "
        f'crash_test(…, expect="{calm.status.value}").',
    )


def refuse_untaken(calm: Instance, events: Sequence[Scripted], expect: Status) -> None:
    """Refuse an event that no wait takes: sending it early, late or twice would test nothing."""
    rows = [row for each in calm.engine.instances for row in each.history]
    taken = set(_said(rows, EventType.WAIT_RESOLVED, "eventId"))
    waits = list(dict.fromkeys(_said(rows, EventType.WAIT_OPENED, "pattern")))
    for number, each in enumerate(events, start=1):
        if isinstance(each, Decide):
            _refuse_unmade(rows, number, each)
        elif event_id(number) not in taken:
            if not waits:
                # It may have failed before its first wait.
                refuse_other_end(calm, expect)
            raise TenutoError(
                f"event {number} is never taken without a fault: {each!r}",
                code="TEN-2205",
                advice=f"There were waits for {', '.join(waits)}: compare name and payload."
                if waits
                else "Leave it out: nothing waits for an event.",
            )


def _refuse_unmade(rows: Sequence[Object], number: int, decide: Decide) -> None:
    wanted = {"decision": decide.decision, "by": decide.by}
    made = [
        row["payload"]["output"]
        for row in rows
        if (row["eventType"], row["nodeId"]) == (EventType.NODE_COMPLETED, decide.step)
        and isinstance(row["payload"], dict)
        and "output" in row["payload"]
    ]
    if not any(isinstance(each, dict) and wanted.items() <= each.items() for each in made):
        raise TenutoError(
            f"without any fault decision {number}, {decide!r}, is never made",
            code="TEN-2205",
            advice="The step asks for no decision, or another one came first: leave it out.",
        )


def refuse_missed(missed: Sequence[Mishap], engine: Engine) -> None:
    """A story that is only half played says nothing about the whole."""
    if missed:
        raise TenutoError(
            f"{spelled(missed)} never came: there were {engine.writes} durable writes",
            code="TEN-2204",
            advice="Repeat a story unchanged, with the same input and the same events.",
        )


def refuse_async(what: str, answer: object) -> None:
    """Refuse a coroutine: it would not be awaited, so the check would always pass."""
    if not inspect.isawaitable(answer):
        return
    if inspect.iscoroutine(answer):
        answer.close()
    raise TenutoError(
        f"{what} is called and not awaited",
        code="TEN-2206",
        advice="Write def instead of async def: nothing that a test looks at needs an await.",
    )


def _said(rows: Sequence[Object], kind: EventType, field: str) -> list[str]:
    payloads = [row["payload"] for row in rows if row["eventType"] == kind]
    return [str(each[field]) for each in payloads if isinstance(each, dict) and field in each]
