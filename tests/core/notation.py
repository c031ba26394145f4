"""A log as one reads it aloud: `NODE_DISPATCHED a#1`, `NODE_FAILED a#1 OOPS retry`."""

from __future__ import annotations

from tenuto.model.entries import (
    CancelRequested,
    ChildEnded,
    ChildStarted,
    CompensationEnded,
    CompensationFailed,
    CompensationPlanned,
    Entry,
    IterationEnded,
    NodeCompleted,
    NodeFailed,
    NodeSkipped,
    SlaFired,
    SlaSet,
    StatusChanged,
    SystemSet,
    TimerFired,
    WaitResolved,
)


def line(entry: Entry) -> str:
    """One entry: its kind, whose it is, and what tells it from others of its kind."""
    node: str | None = getattr(entry, "node", None)
    attempt: int = getattr(entry, "attempt", 1)
    iteration: str = getattr(entry, "iteration", "")
    place = f"{_place(node, iteration)}#{attempt}" if node else ""
    return " ".join(part for part in (entry.event_type.value, place, _said(entry)) if part)


def _place(node: str, iteration: str) -> str:
    return f"{node}[{iteration}]" if iteration else node


def _said(entry: Entry) -> str:  # noqa: C901 - one arm each
    match entry:
        case StatusChanged():
            return entry.to.value
        case NodeCompleted(status=status, handles=handles):
            routed = f"-> {','.join(handles)}" if handles != ("default",) else ""
            words = ("error" * (status == "error"), routed, "reused" * bool(entry.reused_from))
            return " ".join(filter(None, words))
        case NodeFailed() | CompensationFailed():
            return f"{entry.error.code} {entry.then}"
        case NodeSkipped():
            return entry.reason
        case IterationEnded():
            return entry.status
        case WaitResolved():
            return entry.outcome
        case TimerFired():
            return f"{entry.kind} {entry.number or ''}".rstrip() if entry.kind != "delay" else ""
        case SlaSet() | SlaFired():
            return entry.kind
        case ChildStarted():
            return f"{entry.workflow_id} v{entry.version}"
        case ChildEnded():
            return entry.status.value
        case CancelRequested():
            return entry.source
        case CompensationPlanned():
            return ",".join(_place(item.step_id, item.iteration) for item in entry.plan)
        case CompensationEnded():
            return entry.status
        case SystemSet():
            return ",".join(entry.values)
        case _:
            return ""
