"""API keys: made, listed, revoked."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import asdict, replace

from tenuto.access.keys import KeyWish
from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.operations import recorded
from tenuto.api.paging import Page, PageQuery, oldest_first
from tenuto.api.shapes import Answer, Body, Moment, moment
from tenuto.model.durations import iso
from tenuto.store.access_protocol import KeyRow

KEYS = Resource(
    f"{API}/keys", tag="keys", read=Permission.KEYS_MANAGE, write=Permission.KEYS_MANAGE
)


class KeyRequest(Body):
    """A key that is asked for."""

    name: str
    role: Role
    scopes: tuple[str, ...] | None = None
    """What it may do of what its role may; without them all of it."""
    expires_at: Moment | None = None
    tenant: str | None = None
    """That of whoever asks; only the admin key may name another."""


class KeyItem(Answer):
    """A key, without what only its holder knows."""

    id: str
    tenant: str
    name: str
    role: str
    scopes: tuple[str, ...] | None
    state: str
    """`active`, `expired` or `revoked`."""
    created_at: str
    created_by: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class NewKeyItem(KeyItem):
    """A key that was just made."""

    key: str
    """The whole of it, shown this once."""


@KEYS.post(status=201)
async def create_key(call: Call[NoQuery], body: KeyRequest) -> NewKeyItem:
    """Make an API key, which is shown this once; from then on everybody has to have one."""
    wish = KeyWish(
        name=body.name,
        role=body.role,
        scopes=body.scopes,
        expires_at=body.expires_at,
        tenant=body.tenant,
    )
    new = await call.service.keys.create(_maker(call.principal, body.tenant), wish)
    item = _item(new.row, call.service.clock.now())
    call.after = recorded.key(new.row)
    return NewKeyItem(**asdict(item), key=new.text)


@KEYS.get()
async def list_keys(call: Call[PageQuery]) -> Page[KeyItem]:
    """List the keys of the tenant, oldest first, also those that open nothing any more."""
    rows = await call.service.keys.list(call.principal.tenant)
    now = call.service.clock.now()
    return oldest_first(rows, call.query).of(lambda row: _item(row, now))


@KEYS.delete("/{id}")
async def revoke_key(call: Call[NoQuery]) -> None:
    """Revoke a key: within a second it opens nothing any more, in any process."""
    keys, tenant, id = call.service.keys, call.principal.tenant, call.path["id"]
    rows = await keys.list(tenant)
    call.before = recorded.key(next((row for row in rows if row.id == id), None))
    call.after = recorded.key(await keys.revoke(tenant, id))


def _maker(principal: Principal, tenant: str | None) -> Principal:
    """In whose name a key is made: whoever has the admin key is admin of every tenant."""
    if principal.kind == "system" and tenant is not None:
        return replace(principal, tenant=tenant)
    return principal


def _item(row: KeyRow, now: datetime) -> KeyItem:
    return KeyItem(
        id=row.id,
        tenant=row.tenant,
        name=row.name,
        role=row.role,
        scopes=row.scopes,
        state=row.state(now),
        created_at=iso(row.created_at),
        created_by=row.created_by,
        expires_at=moment(row.expires_at),
        revoked_at=moment(row.revoked_at),
        last_used_at=moment(row.last_used_at),
    )
