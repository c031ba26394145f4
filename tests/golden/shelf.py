"""Stored example logs with the inputs that led to them: reading, and adding what is missing.

`python -m tests.golden.shelf` writes what is missing. A log that is here stays as it is, byte for
byte, for ever: it stands for all those that users have. What was decided on its inputs is decided
again by every program; where one decides otherwise on purpose, the old log stays (`SUPERSEDED`) and
the same story gets another, under a new name.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from tenuto.core.ending import output_of
from tenuto.core.view import compensation_view, context_of, state_of
from tenuto.model.inputs import Input
from tenuto.model.json import JSON, Object
from tenuto.model.log import LogRow, to_row
from tenuto.model.status import Status
from tests.core.play import ID, Run
from tests.core.situations import SHELF

FOLDER = Path(__file__).parent
INPUTS = FOLDER / "inputs"
NAMES = (
    "begun_at_its_rate",
    "by_declared_policies",
    "called_off_by_name",
    "cancelled_by_event",
    "cancelled_while_paused",
    "child_outlived_by_nobody",
    "child_undone",
    "child_undone_as_asked",
    "completed",
    "completed_in_milliseconds",
    "deadline_passed",
    "delayed_by_its_task",
    "expense_approved_after_all",
    "expense_approved_after_all_in_milliseconds",
    "expense_forgotten",
    "first_of_three_wins",
    "looped",
    "merged",
    "nightly_report",
    "nightly_report_backfilled",
    "one_printer",
    "order_never_paid",
    "order_out_of_stock",
    "order_paid_and_shipped",
    "order_paid_and_shipped_in_milliseconds",
    "order_rerun",
    "order_retried",
    "order_retried_in_milliseconds",
    "order_undone",
    "paid_with_another_card",
    "paid_within_working_time",
    "passed_over",
    "paused_until_it_resumed_by_itself",
    "paused_until_it_resumed_by_itself_in_milliseconds",
    "poison_handled",
    "promises_missed",
    "quorum_with_dead_branches",
    "run_by_workers",
    "searched",
    "second_child_succeeds",
    "second_child_succeeds_as_its_step_says",
    "second_child_succeeds_in_milliseconds",
    "set_aside_and_retried",
    "signed_with_secrets",
    "sold",
    "sold_in_milliseconds",
    "stopped_and_started_again",
    "terminated",
    "timed_out_on_request",
    "two_branches_one_failed",
    "undone_though_it_failed",
    "undone_with_its_children",
    "undone_with_its_children_at_work",
    "work_of_its_own",
    "woken_among_others",
)
SUPERSEDED = {
    "child_undone": "child_undone_as_asked",
    "completed": "completed_in_milliseconds",
    "expense_approved_after_all": "expense_approved_after_all_in_milliseconds",
    "order_paid_and_shipped": "order_paid_and_shipped_in_milliseconds",
    "order_retried": "order_retried_in_milliseconds",
    "paused_until_it_resumed_by_itself": "paused_until_it_resumed_by_itself_in_milliseconds",
    "second_child_succeeds": "second_child_succeeds_as_its_step_says",
    "second_child_succeeds_as_its_step_says": "second_child_succeeds_in_milliseconds",
    "sold": "sold_in_milliseconds",
    "undone_with_its_children": "undone_with_its_children_at_work",
}
"""Logs of programs that decided otherwise, with the log of the same story as it is decided now."""
STORIES = dict(SHELF)
for _old, _new in SUPERSEDED.items():
    STORIES[_new] = STORIES[_old]


class StoredInput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happened in a story, when, and how many entries followed."""

    at: datetime
    input: Input
    policies: str = ""
    """Their version."""
    entries: int = 0


class Stored(NamedTuple):
    """A log with its definition and what it folds to."""

    name: str
    definition: Object
    rows: list[LogRow]
    folds_to: Object


def stored(name: str) -> Stored:
    document = msgspec.json.decode((FOLDER / f"{name}.json").read_bytes())
    rows = [LogRow._make(row) for row in document["rows"]]
    rows = [row._replace(payload=_bytes(row.payload)) for row in rows]
    return Stored(name, document["definition"], rows, document["foldsTo"])


def inputs_of(name: str) -> list[StoredInput]:
    return msgspec.json.decode((INPUTS / f"{name}.json").read_bytes(), type=list[StoredInput])


def _bytes(payload: str | bytes | None) -> bytes | None:
    return payload.encode() if isinstance(payload, str) else payload


def shown(run: Run) -> Object:
    """What people see of an instance at the end of its log."""
    state = run.state
    completed = state.status is Status.COMPLETED
    undoing = compensation_view(state.compensation)
    return {
        "status": state.status.value,
        "state": state_of(run.plan, state),
        "ctx": context_of(run.plan, state),
        "system": state.system,
        "output": output_of(run.plan, state) if completed else None,
        "lastError": msgspec.to_builtins(state.last_error),
        "cancellation": msgspec.to_builtins(state.cancellation),
        **({} if undoing is None else {"compensationState": undoing}),
    }


def write(name: str) -> None:
    run = STORIES[name]()
    rows = [to_row(seq, entry) for seq, entry in enumerate(run.entries, 1)]
    lines: list[JSON] = [
        [*row[:7], None if row.payload is None else row.payload.decode(), *row[8:]] for row in rows
    ]
    head = {"instanceId": ID, "definition": run.document}
    listed = ",\n    ".join(msgspec.json.encode(each).decode() for each in lines)
    text = [f'  "{key}": {msgspec.json.encode(value).decode()}' for key, value in head.items()] + [
        f'  "rows": [\n    {listed}\n  ]',
        f'  "foldsTo": {_indented(shown(run))}',
    ]
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(text) + "\n}\n")


def write_inputs(name: str) -> None:
    lines = [
        StoredInput(
            at=each.now, input=each.input, policies=each.policies.version, entries=each.entries
        )
        for each in STORIES[name]().told
    ]
    listed = ",\n".join(msgspec.json.encode(each).decode() for each in lines)
    (INPUTS / f"{name}.json").write_text(f"[\n{listed}\n]\n")


def _indented(value: Object) -> str:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text.replace("\n", "\n  ")


if __name__ == "__main__":
    for each in NAMES:
        if not (FOLDER / f"{each}.json").exists():
            write(each)
            print(f"{each}.json")
        if each not in SUPERSEDED and not (INPUTS / f"{each}.json").exists():
            write_inputs(each)
            print(f"inputs/{each}.json")
