"""`tenuto keys`: made, listed and revoked, in the store itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct

from tenuto.access.audit import AuditLog
from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.access.shown import plain
from tenuto.cli import exits, keys_there
from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.store import Reader, described, make_room, reading
from tenuto.cli.views.terminal import ago, say, show, show_json, table_of
from tenuto.compose import MEMORY, is_postgres, migrate_store, sqlite_path
from tenuto.model.durations import iso, parse_duration, parse_moment
from tenuto.model.errors import InvalidInput, Problem, TenutoError
from tenuto.model.json import Object
from tenuto.ports import SystemClock, SystemIds
from tenuto.store.access_protocol import AuditOutcome, KeyRow

if TYPE_CHECKING:
    from rich.text import Text

_STYLES: Final = {"active": "green", "expired": "yellow", "revoked": "red"}


class Wish(Struct, frozen=True, kw_only=True):
    """A key as it is asked for."""

    name: str
    role: str
    scopes: Sequence[str] | None
    expires: str | None
    tenant: str


async def create(url: str, wish: Wish, *, is_json: bool) -> int:
    """Keep a key, and show it this once; a file that is not there yet is made."""
    if isinstance(url, ServerUrl):
        return await keys_there.create(
            url,
            wish.tenant,
            wish.name,
            role=wish.role,
            scopes=wish.scopes or None,
            expires_at=_moment(wish.expires, SystemClock().now()),
            is_json=is_json,
        )
    if url != MEMORY and not is_postgres(url) and not sqlite_path(url).exists():
        make_room(url)
        await migrate_store(url)
    async with reading(url) as reader:
        asked = KeyWish(
            name=wish.name,
            role=wish.role,
            scopes=wish.scopes or None,
            expires_at=_moment(wish.expires, reader.clock.now()),
        )
        async with _Line(reader, wish.tenant, "keys.create", wish.name) as line:
            new = await _keys(reader).create(_me(wish.tenant), asked)
            await line.done(new.row)
    if is_json:
        show_json({**_item(new.row, new.row.created_at), "key": new.text})
        return exits.DONE
    show(f"✓ key {new.row.id} ({plain(new.row.name)})")
    show(f"  {new.text}")
    say("  It is shown this once: keep it where secrets are kept.")
    return exits.DONE


async def list_them(url: str, tenant: str, output: str) -> int:
    """Print the keys of a tenant as a table, as JSON or as ids."""
    if isinstance(url, ServerUrl):
        return await keys_there.list_them(url, tenant, output)
    async with reading(url) as reader:
        found = await _keys(reader).list(tenant)
        now = reader.clock.now()
    if output == "json":
        show_json({"items": [_item(each, now) for each in found], "nextCursor": None})
    elif output == "id":
        for each in found:
            show(each.id)
    elif not found:
        say(f"no keys of {plain(tenant)} in {described(url)}")
    else:
        _show_table(found, now)
    return exits.DONE


async def revoke(url: str, tenant: str, id: str, *, is_json: bool) -> int:
    """Let a key open nothing any more."""
    if isinstance(url, ServerUrl):
        return await keys_there.revoke(url, tenant, id, is_json=is_json)
    async with reading(url) as reader:
        async with _Line(reader, tenant, "keys.revoke", id) as line:
            revoked = await _keys(reader).revoke(tenant, id)
            await line.done(revoked)
        now = reader.clock.now()
    if is_json:
        show_json(_item(revoked, now))
    else:
        show(f"✓ {revoked.id} ({plain(revoked.name)}) opens nothing any more")
    return exits.DONE


def _keys(reader: Reader) -> Keys:
    return Keys(reader.store, reader.clock, SystemIds())


def _me(tenant: str) -> Principal:
    """Who has the store has everything in it."""
    return Principal(tenant=tenant, name="cli", role=Role.ADMIN, kind="local")


class _Line:
    """That something is asked for, durable before it is done; and then what came of it."""

    def __init__(self, reader: Reader, tenant: str, action: str, target: str) -> None:
        self._log = AuditLog(reader.store, reader.clock, SystemIds())
        self._tenant, self._action, self._target = tenant, action, target
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
            principal=_me(self._tenant),
            action=self._action,
            target=target,
            outcome=outcome,
            request_id=self._request_id,
            after=after,
        )


def _item(key: KeyRow, now: datetime) -> Object:
    return {
        "id": key.id,
        "tenant": key.tenant,
        "name": key.name,
        "role": key.role,
        "scopes": None if key.scopes is None else list(key.scopes),
        "state": key.state(now),
        "createdAt": iso(key.created_at),
        "createdBy": key.created_by,
        "expiresAt": _iso(key.expires_at),
        "revokedAt": _iso(key.revoked_at),
        "lastUsedAt": _iso(key.last_used_at),
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)


def _show_table(found: Sequence[KeyRow], now: datetime) -> None:
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            each.id,
            Text(each.state(now), _STYLES[each.state(now)]),
            each.role,
            plain(each.name),
            "all" if each.scopes is None else " ".join(each.scopes),
            "never" if each.last_used_at is None else ago(each.last_used_at, now),
            "never" if each.expires_at is None else iso(each.expires_at),
            plain(each.created_by),
        ]
        for each in found
    ]
    names = ("ID", "STATE", "ROLE", "NAME", "SCOPES", "USED", "EXPIRES", "BY")
    show(table_of(names, cells, whole=3))


def _moment(text: str | None, now: datetime) -> datetime | None:
    """A moment, or how long from now."""
    if text is None:
        return None
    try:
        return parse_duration(text).after(now) if text.startswith("P") else parse_moment(text)
    except ValueError as error:
        problem = Problem(
            code="TEN-2401",
            path="$.expiresAt",
            message=str(error),
            advice="Write a moment that is to come, such as 2030-01-31T12:00:00Z, or P90D.",
        )
        raise InvalidInput("the key cannot be made", [problem]) from error
