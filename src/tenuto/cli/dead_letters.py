"""`tenuto dead-letters`: what could not be done, newest first."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stdout
from datetime import datetime

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.cli import exits
from tenuto.cli.deploying import unlocked
from tenuto.cli.mailing import say_how_to_run
from tenuto.cli.moments import ago
from tenuto.cli.places import ServerUrl, tenant_of
from tenuto.cli.progress import STATUS_MARKS
from tenuto.cli.running import engine
from tenuto.cli.servers import connected
from tenuto.cli.stores import Reader, described, reading, require_there
from tenuto.cli.tables import table_of
from tenuto.cli.terminal import one_line, say, show, show_json
from tenuto.engine.upkeep.dead_letter_history import entries_behind
from tenuto.instances import history_view
from tenuto.model.durations import iso
from tenuto.model.errors import NotFound
from tenuto.model.json import JSON, Object
from tenuto.ports import SystemClock
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.workspace import Workspace


async def list_dead_letters(url: str, limit: int, output: str) -> int:
    """Print dead letters as a table, as JSON or as ids."""
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            items, now = await client.dead_letters.list(limit), SystemClock().now()
    else:
        async with reading(url) as reader:
            rows = await reader.store.dead_letters.page(tenant_of(url), limit)
            items, now = [_item(row) for row in rows], reader.clock.now()
    if output == "json":
        found: list[JSON] = [*items]
        show_json({"items": found, "nextCursor": None})
    elif output == "id":
        for item in items:
            show(str(item["id"]))
    elif not items:
        say(f"no dead letters in {described(url)}")
    else:
        _show_table(items, now)
    return exits.DONE


async def show_dead_letter(url: str, id: str, *, is_json: bool) -> int:
    """Print one, with what people need to judge it."""
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            item = await client.dead_letters.get(id)
    else:
        async with reading(url) as reader:
            letter = await _letter(reader, id)
            entries = await entries_behind(reader.store, letter)
            item = {**_item(letter), "history": [history_view(each) for each in entries]}
    if is_json:
        show_json(item)
        return exits.DONE
    show(f"{item['kind']}  {item['id']}")
    error = item["error"]
    facts = {
        "instance": item["instanceId"],
        "step": f"{item['stepId']}{_inside(item)}",
        "task": item["taskId"],
        "attempts": item["attempts"],
        "at": item["at"],
        "input": one_line(item["input"], 1000),
        "error": f"{error['code']}: {error['message']}" if isinstance(error, dict) else None,
        "output": None if item.get("output") is None else one_line(item["output"], 1000),
    }
    for name, value in facts.items():
        if value is not None:
            show(f"  {name:<10}  {value}")
    for entry in _entries(item):
        show(f"  {entry['at']}  {entry['eventType']}, attempt {entry['attempt']}")
    return exits.DONE


async def retry_dead_letter(
    url: str, id: str, *, input: JSON | UnsetType = UNSET, is_json: bool
) -> int:
    """Try again what could not be done; its letter is gone then."""
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            status = await client.dead_letters.retry(id, input=input)
    else:
        async with _workspace(url) as workspace:
            status = await workspace.retry_dead_letter(id, input=input)
    instance_id = id.partition(":")[0]
    if is_json:
        show_json({"id": instance_id, "status": status.value})
        return exits.DONE
    show(f"{STATUS_MARKS[status][0]} {status.value}  {instance_id}")
    if not isinstance(url, ServerUrl) and not status.is_final:
        say_how_to_run(url, instance_id)
    return exits.DONE


async def discard_dead_letter(url: str, id: str, *, is_json: bool) -> int:
    """Forget one; the instance stays as it is."""
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            await client.dead_letters.discard(id)
    else:
        async with _workspace(url) as workspace:
            await workspace.discard_dead_letter(id)
    if is_json:
        show_json({"id": id, "discarded": True})
    else:
        show(f"✓ {id} is discarded; the instance stays as it is")
    return exits.DONE


@asynccontextmanager
async def _workspace(url: str) -> AsyncIterator[Workspace]:
    """An engine for a moment; where another process has the file, that one is to be asked."""
    await require_there(url)
    with redirect_stdout(sys.stderr), unlocked():
        async with engine(url, is_brief=True) as app:
            yield app.workspace(tenant_of(url), "cli")


async def _letter(reader: Reader, id: str) -> DeadLetterRow:
    found = await reader.store.dead_letters.get(tenant_of(reader.url), id.partition(":")[0], id)
    if found is None:
        raise NotFound(
            f"there is no dead letter {id}",
            code="TEN-3040",
            advice="`tenuto dead-letters list -o id` shows those that there are.",
        )
    return found


def _inside(item: Object) -> str:
    return f"[{item['iteration']}]" if item["iteration"] else ""


def _show_table(items: list[Object], now: datetime) -> None:
    from rich.text import Text

    cells: list[list[str | Text]] = []
    for item in items:
        error = item["error"]
        text = f"{error['code']}: {error['message']}" if isinstance(error, dict) else ""
        cells.append(
            [
                str(item["kind"]),
                str(item["id"]),
                str(item["attempts"]),
                ago(datetime.fromisoformat(str(item["at"])), now),
                str(item["stepId"]),
                Text(one_line(text, 80), "red"),
            ]
        )
    names = ("KIND", "ID", "ATTEMPTS", "WHEN", "STEP", "ERROR")
    show(table_of(names, cells, whole=4))


def _entries(item: Object) -> list[Object]:
    """What led to it; a server of an older version does not say."""
    history = item.get("history")
    return [each for each in history if isinstance(each, dict)] if isinstance(history, list) else []


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
