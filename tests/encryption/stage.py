"""An order desk that stores everything encrypted, and all that its store then has in it."""

from __future__ import annotations

import base64
from pathlib import Path

import apsw

from tenuto import Settings, TaskError, Tenuto
from tenuto.core.view import current_steps
from tenuto.encryption.codec import Codec
from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.engine.bounds import Bounds
from tenuto.model.json import JSON, Object
from tenuto.ports import Clock
from tenuto.store.protocol import Store
from tests.engine.situations import until
from tests.kit.postgres_database import connected

CANARY = "canary-3c7e91"
SETTINGS = Settings(
    private_webhooks=True,
    webhook_timeout=0.3,
    bounds=Bounds(snapshot_every=3),
)

ORDER: Object = {
    "id": "order",
    "options": {"encrypt": True},
    "steps": [
        {
            "stepId": "check",
            "type": "TASK",
            "taskId": "check",
            "input": {"card": "{{ctx.input.card}}"},
            "outputVariable": "checked",
            "transitions": {"default": "tell"},
        },
        {
            "stepId": "tell",
            "type": "EMIT",
            "pattern": "order.checked",
            "payload": {"card": "{{ctx.input.card}}"},
            "transitions": {"default": "paid"},
        },
        {
            "stepId": "paid",
            "type": "EVENT_WAIT",
            "eventPattern": "payment.received",
            "eventCondition": "event.payload.card === ctx.input.card",
            "outputVariable": "payment",
            "transitions": {"default": "ship"},
        },
        {
            "stepId": "ship",
            "type": "SUB_WORKFLOW",
            "workflowId": "shipping",
            "input": {"to": "{{ctx.payment.payload.address}}"},
            "transitions": {"default": "sign"},
        },
        {
            "stepId": "sign",
            "type": "APPROVAL",
            "assignees": {"users": ["ann"]},
            "transitions": {"approved": "book", "rejected": "book"},
        },
        {"stepId": "book", "type": "TASK", "taskId": "book", "input": {"known": "{{ctx}}"}},
    ],
}
SHIPPING: Object = {
    "id": "shipping",
    "options": {"searchable": ["input.to", "packed"]},
    "steps": [
        {
            "stepId": "pack",
            "type": "TASK",
            "taskId": "check",
            "input": {"card": "{{ctx.input.to}}"},
            "outputVariable": "packed",
        }
    ],
}
PLAIN: Object = {
    "id": "plain",
    "steps": [{"stepId": "check", "type": "TASK", "taskId": "check", "input": {"card": "open"}}],
}


def ring(*ids: str) -> KeyRing:
    return KeyRing([new_key(id) for id in ids or ("k1",)])


def app_on(
    store: str | Store | None,
    codec: Codec | None,
    settings: Settings = SETTINGS,
    clock: Clock | None = None,
) -> Tenuto:
    app = Tenuto(store, settings=settings, encryption=codec, clock=clock)

    @app.task
    async def check(card: JSON) -> JSON:
        print(f"checking {card}")
        return {"checked": card}

    @app.task
    async def book(known: JSON) -> JSON:
        raise TaskError("NOT_BOOKED", f"it knows {known}", details=known, retryable=False)

    return app


async def until_at(app: Tenuto, id: str, step: str) -> None:
    """Until an instance stands at a step."""

    async def stands_there() -> bool:
        return step in current_steps((await app.engine.loader.look_at(id)).state)

    await until(app, stands_there)


def found_in(data: bytes, canary: str = CANARY) -> list[bytes]:
    """Each place with the canary, in clear or in a simple encoding, with what surrounds it."""
    forms = {
        canary.encode(),
        canary.encode().hex().encode(),
        canary.encode().hex().upper().encode(),
        base64.b64encode(canary.encode())[:-4],
    }
    return [
        data[max(0, place - 60) : place + 60] for form in forms if (place := data.find(form)) >= 0
    ]


def files_in(folder: Path) -> bytes:
    """All bytes of the files of a store: database, write-ahead log, and what was deleted."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def backup_of(path: Path) -> bytes:
    """An online backup of an SQLite store."""
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    copy = apsw.Connection(":memory:")
    with copy.backup("main", source, "main") as backup:
        backup.step()
    found = copy.serialize("main")
    copy.close()
    source.close()
    assert isinstance(found, bytes)
    return found


async def tables_of(url: str) -> bytes:
    """Every row of every table on PostgreSQL, as a dump has them."""
    lines: list[str] = []
    async with connected(url) as connection:
        wanted = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'tenuto'"
        for (table,) in await connection.fetch(wanted):
            rows = await connection.fetch(f"SELECT t::text FROM tenuto.{table} AS t")
            lines += [f"{table} {row}" for (row,) in rows]
    return "\n".join(lines).encode()
