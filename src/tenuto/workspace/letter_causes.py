"""The causes of dead letters, and which of them a filter finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tenuto.model.durations import iso
from tenuto.model.json import JSON
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Parts
from tenuto.workspace.values import DeadLetterFilter, DeadLetterGroup, in_groups

MOST_LOOKED_AT = 10_000
"""So many dead letters are looked at for one page of a list, the newest."""
MOST_GROUPED = 2_000
"""So many dead letters are grouped, the newest; fewer where they are large."""

_LONGEST_MESSAGE = 500


def fits(row: DeadLetterRow, which: DeadLetterFilter) -> bool:
    """Whether a filter finds a letter, but for the workflow, which its row does not have."""
    return (
        which.kind in (None, row.kind)
        and which.task_id in (None, row.task_id)
        and which.step_id in (None, row.node)
        and which.instance_id in (None, row.instance_id)
        and (which.code is None or which.code == (_error(row).get("code") or ""))
        and (which.created_from is None or row.at >= which.created_from)
        and (which.created_before is None or row.at < which.created_before)
    )


async def found_among(
    seen: Parts, tenant: str, rows: Sequence[DeadLetterRow], which: DeadLetterFilter
) -> list[DeadLetterRow]:
    """The letters that a filter finds among some."""
    found = [row for row in rows if fits(row, which)]
    if which.workflow is None or not found:
        return found
    workflows = await workflows_of(seen, tenant, found)
    return [row for row in found if workflows.get(row.instance_id) == which.workflow]


async def workflows_of(
    seen: Parts, tenant: str, rows: Iterable[DeadLetterRow]
) -> Mapping[str, str]:
    """By the ids of instances, their workflows; without those that were erased."""
    workflows: dict[str, str] = {}
    for ids in in_groups([*dict.fromkeys(row.instance_id for row in rows)]):
        query = InstanceQuery(ids=tuple(ids), tenant=tenant, limit=len(ids))
        page = await seen.instances.page(query)
        workflows |= {row.id: row.definition_id for row in page.items}
    return workflows


class Tally:
    """Counts letters by cause; they come newest first."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str | None, str | None, str], DeadLetterGroup] = {}

    def add(self, rows: Iterable[DeadLetterRow], workflows: Mapping[str, str]) -> None:
        for row in rows:
            error = _error(row)
            code = _text(error.get("code"))
            workflow = workflows.get(row.instance_id)
            at = iso(row.at)
            known = self._groups.get((row.kind, code, workflow, row.node))
            self._groups[row.kind, code, workflow, row.node] = DeadLetterGroup(
                kind=row.kind,
                code=code,
                workflow_id=workflow,
                step_id=row.node,
                task_id=row.task_id if known is None else known.task_id,
                message=_text(error.get("message")) if known is None else known.message,
                count=1 if known is None else known.count + 1,
                first_at=at,
                last_at=at if known is None else known.last_at,
            )

    def groups(self) -> list[DeadLetterGroup]:
        def place(group: DeadLetterGroup) -> tuple[int, str, str]:
            return -group.count, group.workflow_id or "", group.step_id

        return sorted(self._groups.values(), key=place)


def _error(row: DeadLetterRow) -> Mapping[str, JSON]:
    error = msgspec.json.decode(row.error) if row.error else None
    return error if isinstance(error, dict) else {}


def _text(value: JSON) -> str | None:
    return None if value is None else str(value)[:_LONGEST_MESSAGE]
