"""Rows of a store as the values that programs see."""

from __future__ import annotations

from typing import Any

import msgspec

from tenuto.model.json import Object
from tenuto.store.parts.instances import InstanceRow
from tenuto.workspace.values import Summary


def summary_of(row: InstanceRow, schedule: Object | None = None) -> Summary:
    """An instance as lists show it; `schedule`: the tick that started it."""
    return Summary(
        id=row.id,
        workflow=row.definition_id,
        version=row.definition_version,
        status=row.status,
        created_at=row.created_at,
        updated_at=row.updated_at,
        current_steps=row.current_steps,
        correlation_id=row.correlation_id,
        last_error=_decoded(row.last_error),
        output=_decoded(row.output),
        cancellation=_decoded(row.cancellation),
        priority=row.priority,
        deadline=row.deadline,
        started_at=row.started_at,
        completed_at=row.completed_at,
        parent_id=row.parent_id,
        root_id=row.root_id or row.id,
        rerun_of=row.rerun_of,
        schedule=schedule,
        tenant=row.tenant,
    )


def _decoded(stored: bytes | None) -> Any:  # noqa: ANN401 - JSON
    return msgspec.json.decode(stored) if stored else None
