"""Instances in JSON, with the names of the specification."""

from __future__ import annotations

from datetime import datetime

from tenuto.core.ending import output_of
from tenuto.core.view import cancellation_view, compensation_view, error_view, state_of
from tenuto.engine.turns.held import Held
from tenuto.model.durations import iso
from tenuto.model.json import Object
from tenuto.model.status import Status


def instance_view(held: Held) -> Object:
    """An instance in JSON, with the names of the specification."""
    state = held.state
    view: Object = {
        "id": state.id,
        "workflowDefinitionId": state.definition_id,
        "definitionVersion": state.definition_version,
        **outcome_view(held),
        "state": state_of(held.plan, state),
        "input": state.input,
        "version": state.version,
        "correlationId": state.correlation_id,
        "compensationState": compensation_view(state.compensation),
        **({"parentId": state.parent.id} if state.parent else {}),
        "rootId": state.parent.root_id if state.parent else state.id,
        "tenant": held.tenant,
        "priority": state.priority,
        "deadline": _moment(state.deadline),
        "createdAt": _moment(state.created_at),
        "updatedAt": _moment(state.updated_at),
        "startedAt": _moment(state.started_at),
        "completedAt": _moment(state.completed_at),
    }
    if state.rerun_of is not None:
        view["rerunOf"] = state.rerun_of
    if state.schedule is not None:
        view["schedule"] = {"id": state.schedule.id, "nominal": iso(state.schedule.nominal)}
    return view


def outcome_view(held: Held) -> Object:
    """The outcome of an instance so far, without the rest of it."""
    state = held.state
    return {
        "status": state.status.value,
        "output": output_of(held.plan, state) if state.status is Status.COMPLETED else None,
        "lastError": error_view(state.last_error) if state.last_error else None,
        "cancellation": cancellation_view(state.cancellation),
    }


def _moment(moment: datetime | None) -> str | None:
    return iso(moment) if moment else None
