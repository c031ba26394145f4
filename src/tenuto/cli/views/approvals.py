"""Open approvals as a table and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from tenuto.cli.lookup import short_ids
from tenuto.cli.views.tables import cell, is_narrow, table_of
from tenuto.cli.views.terminal import ago, countdown, say, say_command
from tenuto.model.json import Object
from tenuto.workspace.values import OpenApproval

if TYPE_CHECKING:
    from rich.text import Text


def approvals_table(found: Sequence[OpenApproval], now: datetime) -> Text:
    """Approvals, a line each; on a narrow terminal with short ids."""
    ids = short_ids([each.instance_id for each in found]) if is_narrow() else {}
    names = ("INSTANCE", "STEP", "WORKFLOW", "WAITS", "DUE IN", "FOR", "STATE", "INPUT")
    return table_of(names, [_cells(each, now, ids) for each in found], whole=2)


def _cells(shown: OpenApproval, now: datetime, ids: dict[str, str]) -> list[str | Text]:
    from rich.text import Text

    people = [*shown.users, *(f"role {role}" for role in shown.roles)]
    return [
        ids.get(shown.instance_id, shown.instance_id),
        step_of(shown),
        f"{shown.workflow_id}@{shown.definition_version}",
        "" if shown.opened_at is None else ago(datetime.fromisoformat(shown.opened_at), now),
        "" if shown.due_at is None else countdown(datetime.fromisoformat(shown.due_at) - now),
        ", ".join(people) or "all",
        Text("overdue", "yellow") if shown.is_overdue else "",
        "" if shown.input is None else cell(shown.input, 60),
    ]


def approval_json(shown: OpenApproval) -> Object:
    """An approval with the names of the API."""
    item: Object = msgspec.to_builtins(shown)
    return item


def say_decision(shown: OpenApproval, flag: str) -> None:
    """Tell people how to decide."""
    say("  To decide on the first one:")
    step = shlex.quote(step_of(shown))
    say_command(f"tenuto decide {shown.instance_id} {step} approved --by NAME{flag}")


def step_of(shown: OpenApproval) -> str:
    """`review[2]`, as commands take it."""
    return f"{shown.step_id}[{shown.iteration}]" if shown.iteration else shown.step_id
