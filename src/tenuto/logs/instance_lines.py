"""Logs each end of an instance and each failed attempt."""

from __future__ import annotations

import logging

import msgspec
from msgspec import Struct

from tenuto.engine.turns.draft import Draft
from tenuto.model.log import LogRow
from tenuto.model.status import Status

log = logging.getLogger("tenuto.instances")


def log_instance(draft: Draft) -> None:
    """For `engine.listen`: log one instance's share of a turn for the operator of the service.

    Inputs and outputs are never logged.
    """
    if not log.isEnabledFor(logging.INFO) or not draft.rows:
        return
    state = draft.state
    about = {
        "tenant": draft.held.tenant,
        "workflowId": state.definition_id,
        "instanceId": draft.instance_id,
    }
    if not draft.before.version:
        log.info("instance started", extra=about)
    for row in draft.rows:
        if row.event_type == "NODE_FAILED":
            log.warning("step failed", extra={**about, **_of_step(row)})
    if state.status is not draft.before.status and state.status.is_final:
        took = (state.updated_at - state.created_at).total_seconds() * 1000
        level = logging.WARNING if state.status is Status.FAILED else logging.INFO
        log.log(
            level,
            "instance %s",
            state.status.value.lower(),
            extra={**about, "durationMs": round(took)},
        )


def _of_step(row: LogRow) -> dict[str, object]:
    return {"stepName": row.node_id, "attempt": row.attempt, "errorCode": _code_of(row)}


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
