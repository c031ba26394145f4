"""`tenuto dead-letters`: what could not be done, newest first."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tenuto.cli import exits
from tenuto.cli.finding import short_ids
from tenuto.cli.moments import ago
from tenuto.cli.stores import described, reading
from tenuto.cli.tables import is_narrow, table_of
from tenuto.cli.terminal import one_line, say, show, show_json
from tenuto.model.durations import iso
from tenuto.model.json import JSON, Object
from tenuto.store.protocol import DeadLetterRow


async def list_dead_letters(url: str, limit: int, output: str) -> int:
    """Print dead letters as a table, as JSON or as ids."""
    async with reading(url) as reader:
        rows = await reader.store.dead_letters("default", limit)
        now = reader.clock.now()
    if output == "json":
        show_json({"items": [_item(row) for row in rows], "nextCursor": None})
    elif output == "id":
        for row in rows:
            show(row.id)
    elif not rows:
        say(f"no dead letters in {described(url)}")
    else:
        _show_table(rows, now)
    return exits.DONE


def _show_table(rows: list[DeadLetterRow], now: datetime) -> None:
    from rich.text import Text

    ids = short_ids([row.instance_id for row in rows]) if is_narrow() else {}
    cells: list[list[str | Text]] = []
    for row in rows:
        error = _decoded(row.error)
        text = f"{error['code']}: {error['message']}" if isinstance(error, dict) else ""
        cells.append(
            [
                row.kind,
                ids.get(row.instance_id, row.instance_id),
                str(row.attempt),
                ago(row.at, now),
                row.node,
                Text(one_line(text, 80), "red"),
            ]
        )
    names = ("KIND", "INSTANCE", "ATTEMPTS", "WHEN", "STEP", "ERROR")
    show(table_of(names, cells, whole=4))


def _item(row: DeadLetterRow) -> Object:
    item: Object = {
        "id": row.id,
        "kind": row.kind,
        "instanceId": row.instance_id,
        "stepId": row.node,
        "iteration": row.iteration,
        "taskId": row.task_id,
        "input": _decoded(row.input),
        "error": _decoded(row.error),
        "attempts": row.attempt,
        "at": iso(row.at),
    }
    output = _decoded(row.output)
    if output is not None:
        item["output"] = output
    return item


def _decoded(value: bytes | None) -> JSON:
    decoded: JSON = msgspec.json.decode(value) if value else None
    return decoded
