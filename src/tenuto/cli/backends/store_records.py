"""Records of a store that need no engine: dead letters, API keys and the audit log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import msgspec
from msgspec import UNSET, UnsetType

from tenuto.access.audit import AuditLog
from tenuto.access.chain import read_noted, verify_chain
from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.access.shown import plain
from tenuto.cli.backends.reader import Reader, make_room, require_there
from tenuto.compose import MEMORY, is_postgres, migrate_store, sqlite_path
from tenuto.engine.letter_history import entries_behind
from tenuto.model.durations import iso
from tenuto.model.errors import InvalidInput, NotFound, Problem, TenutoError
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.ports import SystemIds
from tenuto.store.access_protocol import AuditOutcome, AuditQuery, AuditRow, KeyRow
from tenuto.store.audit_chain import line_of
from tenuto.store.protocol import DeadLetterRow
from tenuto.workspace.instance import history_view
from tenuto.workspace.values import Page

if TYPE_CHECKING:
    from tenuto.cli.backends.store_workspace import StoreWorkspace

BROKEN: Final = "TEN-5015"
_PAGE: Final = 1_000


class StoreDeadLetters:
    """The dead letters of a tenant."""

    def __init__(self, space: StoreWorkspace) -> None:
        self._space = space

    async def get(self, id: str) -> Object:
        """A dead letter with the `history` of its step; NotFound."""
        reader = await self._space.reader()
        letter = await reader.store.dead_letter(self._space.tenant, id.partition(":")[0], id)
        if letter is None:
            raise NotFound(
                f"there is no dead letter {id}",
                code="TEN-3040",
                advice="`tenuto dead-letters list -o id` shows those that there are.",
            )
        entries = await entries_behind(reader.store, letter)
        return {**_letter(letter), "history": [history_view(each) for each in entries]}

    async def retry(self, id: str, *, input: JSON | UnsetType = UNSET) -> Status:
        """Run it again; the letter is gone then. Its steps are left to another process."""
        await require_there(self._space.url)
        async with self._space.engine() as space:
            status = await space.retry_dead_letter(id, input=input)
        return self._space.done(status, by_others=False)

    async def discard(self, id: str) -> None:
        """Remove a dead letter; the instance stays as it is. NotFound."""
        await require_there(self._space.url)
        async with self._space.engine() as space:
            await space.discard_dead_letter(id)

    async def list(self, limit: int = 100) -> list[Object]:
        """Dead letters, newest first."""
        reader = await self._space.reader()
        return [_letter(row) for row in await reader.store.dead_letters(self._space.tenant, limit)]


class StoreKeys:
    """The API keys of a tenant; each change is in the audit log."""

    def __init__(self, space: StoreWorkspace) -> None:
        self._space = space

    async def create(
        self,
        name: str,
        *,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> Object:
        """Make a key, which is shown this once; a file that does not exist is made."""
        url, tenant = self._space.url, self._space.tenant
        if url != MEMORY and not is_postgres(url) and not sqlite_path(url).exists():
            make_room(url)
            await migrate_store(url)
        reader = await self._space.reader()
        asked = KeyWish(name=name, role=role, scopes=scopes, expires_at=expires_at)
        async with _Audited(reader, "keys.create", name) as line:
            new = await _keys(reader).create(_principal(tenant), asked)
            await line.done(new.row)
        return {**_key(new.row, new.row.created_at), "key": new.text}

    async def revoke(self, id: str) -> None:
        """Revoke a key; NotFound."""
        reader = await self._space.reader()
        async with _Audited(reader, "keys.revoke", id) as line:
            await line.done(await _keys(reader).revoke(self._space.tenant, id))

    async def list(self) -> list[Object]:
        """Every key, also expired and revoked ones, oldest first."""
        reader = await self._space.reader()
        rows = await _keys(reader).list(self._space.tenant)
        return [_key(row, reader.clock.now()) for row in rows]


class StoreAudit:
    """The audit log of a tenant."""

    def __init__(self, space: StoreWorkspace) -> None:
        self._space = space

    async def page(
        self,
        *,
        actor: str | None = None,
        action: str | None = None,
        target: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Object]:
        """Lines, newest first; the cursor is the number of the last line that was listed."""
        query = AuditQuery(
            tenant=self._space.tenant,
            actor=actor,
            action=action,
            target=target,
            since=since,
            until=until,
            below=_number(cursor),
            limit=limit + 1,
        )
        found = await (await self._space.reader()).store.audit(query)
        rows = found[:limit]
        more = str(rows[-1].number) if len(found) > limit else None
        return Page(items=[_line(row) for row in rows], next_cursor=more)

    async def export(self) -> AsyncIterator[str]:
        """Every line, oldest first: JSON, with its hash."""
        store, after = (await self._space.reader()).store, 0
        while rows := await store.audit_lines(self._space.tenant, after=after, limit=_PAGE):
            for row in rows:
                # A name must not end the line, nor colour the terminal that it is shown in.
                yield plain(msgspec.json.encode(_line(row)).decode())
            after = rows[-1].number

    async def verify(self, known: str | None = None) -> Object:
        """Read the chain of hashes: `{tenant, lines, hash, problem}`."""
        noted = None if known is None else read_noted(known)
        tenant = self._space.tenant
        store = (await self._space.reader()).store
        head, fault = await verify_chain(store, tenant, noted=noted)
        problem: Object | None = None
        if fault is not None:
            problem = {"code": BROKEN, "number": fault.number, "message": fault.what}
        return {
            "tenant": tenant,
            "lines": head.number,
            "hash": head.hash.hex(),
            "problem": problem,
        }


class _Audited:
    """A line of the audit log before a key is changed, and one with the outcome."""

    def __init__(self, reader: Reader, action: str, target: str) -> None:
        self._log = AuditLog(reader.store, reader.clock, SystemIds())
        self._tenant, self._action, self._target = reader.tenant, action, target
        self._request_id = SystemIds().short()

    async def __aenter__(self) -> Self:
        await self._write("asked", self._target, None)
        return self

    async def done(self, key: KeyRow) -> None:
        """It was done to this key."""
        said = {"name": key.name, "role": key.role, "scopes": key.scopes}
        await self._write("done", key.id, said)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, TenutoError):
            await self._write("failed", self._target, {"code": error.code})

    async def _write(self, outcome: AuditOutcome, target: str, after: object) -> None:
        await self._log.record(
            principal=_principal(self._tenant),
            action=self._action,
            target=target,
            outcome=outcome,
            request_id=self._request_id,
            after=after,
        )


def _keys(reader: Reader) -> Keys:
    return Keys(reader.store, reader.clock, SystemIds())


def _principal(tenant: str) -> Principal:
    """Access to the store is access to everything in it."""
    return Principal(tenant=tenant, name="cli", role=Role.ADMIN, kind="local")


def _key(key: KeyRow, now: datetime) -> Object:
    return {
        "id": key.id,
        "tenant": key.tenant,
        "name": key.name,
        "role": key.role,
        "scopes": None if key.scopes is None else [*key.scopes],
        "state": key.state(now),
        "createdAt": iso(key.created_at),
        "createdBy": key.created_by,
        "expiresAt": _iso(key.expires_at),
        "revokedAt": _iso(key.revoked_at),
        "lastUsedAt": _iso(key.last_used_at),
    }


def _letter(row: DeadLetterRow) -> Object:
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
    return item if output is None else {**item, "output": output}


def _line(row: AuditRow) -> Object:
    return {
        **line_of(row.number, row.entry),
        "previousHash": row.previous_hash.hex(),
        "hash": row.hash.hex(),
    }


def _number(cursor: str | None) -> int | None:
    if cursor is None or cursor.isdecimal():
        return None if cursor is None else int(cursor)
    problem = Problem(
        code="TEN-2402",
        path="--cursor",
        message=f"{cursor} is not the number of a line",
        advice="Take the one that the list before named; those of a server are its own.",
    )
    raise InvalidInput("the lines cannot be listed", [problem])


def _decoded(value: bytes | None) -> JSON:
    decoded: JSON = msgspec.json.decode(value) if value else None
    return decoded


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
