"""The places where a definition names calendars."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tenuto.model.graph import Approval, Definition, Delay, EventWait, Node, Sla
from tenuto.model.policy import BusinessRetryPolicy, RetryPolicy
from tenuto.model.working_time import BusinessDuration


class CalendarPlace(NamedTuple):
    """A duration that is counted in the working time of a calendar."""

    calendar: str
    path: str
    """JSONPath of the name of the calendar in the document."""


def calendar_places(definition: Definition) -> list[CalendarPlace]:
    """The first place at which a definition names each calendar."""
    found: dict[str, CalendarPlace] = {}
    for place in _all(definition):
        found.setdefault(place.calendar, place)
    return list(found.values())


def _all(definition: Definition) -> Iterator[CalendarPlace]:
    in_steps = definition.spelling == "steps"
    spelled = "$.steps[{}]" if in_steps else "$.nodes[{}].config"
    for index, node in enumerate(definition.graph.nodes):
        yield from _of_node(node, spelled.format(index))
    for index, step in enumerate(definition.compensation_steps):
        path = f"$.compensationSteps[{index}]"
        yield from _of_length(step.timeout, f"{path}.timeout")
        yield from _of_retry(step.retry, f"{path}.retry")
    options, path = definition.options, "$.options" if in_steps else "$.workflowOptions"
    yield from _of_length(options.timeout, f"{path}.timeout")
    yield from _of_retry(options.retry, f"{path}.retry")
    yield from _of_sla(options.sla, f"{path}.sla")


def _of_node(node: Node, path: str) -> Iterator[CalendarPlace]:
    yield from _of_length(node.timeout, f"{path}.timeout")
    yield from _of_retry(node.retry, f"{path}.retry")
    yield from _of_sla(node.sla, f"{path}.sla")
    match node.config:
        case Delay(calendar=str(calendar)):
            yield CalendarPlace(calendar, f"{path}.calendar")
        case EventWait(event_timeout=timeout):
            yield from _of_length(timeout, f"{path}.eventTimeout")
        case Approval() as approval:
            yield from _of_approval(approval, path)
        case _:
            pass


def _of_approval(approval: Approval, path: str) -> Iterator[CalendarPlace]:
    if approval.calendar is not None:
        yield CalendarPlace(approval.calendar, f"{path}.calendar")
    yield from _of_length(approval.deadline, f"{path}.deadline")
    for index, length in enumerate(approval.reminders):
        yield from _of_length(length, f"{path}.reminders[{index}]")
    if approval.escalate is not None and approval.escalate.calendar is not None:
        yield CalendarPlace(approval.escalate.calendar, f"{path}.escalate.calendar")


def _of_length(length: object, path: str) -> Iterator[CalendarPlace]:
    if isinstance(length, BusinessDuration):
        yield CalendarPlace(length.calendar, f"{path}.calendar")


def _of_retry(retry: RetryPolicy | None, path: str) -> Iterator[CalendarPlace]:
    if isinstance(retry, BusinessRetryPolicy):
        yield CalendarPlace(retry.calendar, f"{path}.calendar")


def _of_sla(sla: Sla | None, path: str) -> Iterator[CalendarPlace]:
    if sla is not None and sla.calendar is not None:
        yield CalendarPlace(sla.calendar, f"{path}.calendar")
