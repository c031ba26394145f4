"""Logs failures of instances and attempts; starts and other ends at level debug."""

from __future__ import annotations

import logging

import msgspec
from msgspec import Struct

from tenuto.engine.turns.draft import Draft
from tenuto.logs.attempt_lines import attempt_ms
from tenuto.model.log import LogRow
from tenuto.model.status import Status

log = logging.getLogger("tenuto.instances")

_FAILURES = frozenset({"NODE_FAILED", "COMPENSATION_FAILED"})


def log_instance(draft: Draft) -> None:
    """For `engine.listen`: log one instance's share of a turn for the operator of the service.

    Inputs and outputs are never logged.
    """
    if not draft.rows:
        return
    if not draft.before.version and log.isEnabledFor(logging.DEBUG):
        log.debug("instance started", extra=_about(draft))
    for row in draft.rows:
        if row.event_type in _FAILURES:
            log.warning("step failed", extra={**_about(draft), **_of_step(draft, row)})
    state = draft.state
    if state.status is not draft.before.status and state.status.is_final:
        # A line for each instance costs a busy service a tenth of its time.
        level = logging.WARNING if state.status is Status.FAILED else logging.DEBUG
        if log.isEnabledFor(level):
            took = (state.updated_at - state.created_at).total_seconds() * 1000
            extra = {**_about(draft), "durationMs": round(took)}
            log.log(level, "instance %s", state.status.value.lower(), extra=extra)


def _about(draft: Draft) -> dict[str, object]:
    return {
        "tenant": draft.held.tenant,
        "workflowId": draft.state.definition_id,
        "instanceId": draft.instance_id,
    }


def _of_step(draft: Draft, row: LogRow) -> dict[str, object]:
    return {
        "stepName": row.node_id,
        "attempt": row.attempt,
        "errorCode": _code_of(row),
        "durationMs": attempt_ms(draft, row),
    }


class _Error(Struct):
    code: str


class _Failed(Struct):
    error: _Error


_failed = msgspec.json.Decoder(_Failed).decode


def _code_of(row: LogRow) -> str | None:
    """The code of a failure; its message may quote confidential data."""
    try:
        return _failed(row.payload or b"").error.code
    except msgspec.MsgspecError:
        return None
