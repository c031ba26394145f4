"""Operations on API keys: create, list, revoke."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import asdict, replace

from tenuto.access.keys import KeyWish
from tenuto.access.permissions import Permission
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery, oldest_first
from tenuto.api.shapes import Answer, Body, Moment, shaped
from tenuto.store.parts.access import KeyRow
from tenuto.workspace import audit_values

KEYS = Resource(
    f"{API}/keys", tag="keys", read=Permission.KEYS_MANAGE, write=Permission.KEYS_MANAGE
)


class KeyRequest(Body):
    """A key to create."""

    name: str
    role: Role
    scopes: tuple[str, ...] | None = None
    """The part of its role's permissions that it has; without them all."""
    expires_at: Moment | None = None
    tenant: str | None = None
    """By default the principal's own; only the admin key may name another."""


class KeyItem(Answer):
    """A key, without its secret."""

    id: str
    tenant: str
    name: str
    role: str
    scopes: tuple[str, ...] | None
    state: str
    """`active`, `expired` or `revoked`."""
    created_at: str
    created_by: str
    """Identifies its maker: `key:<id>`, `<issuer>|<subject>`, or a name of this machine."""
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class NewKeyItem(KeyItem):
    """A new key."""

    key: str
    """The whole key with its secret, shown this once."""


class RevokedKey(Answer):
    """A key that is revoked."""

    id: str
    also_revoked: tuple[str, ...]
    """The ids of keys that were made by it, or by those, and were revoked with it."""


@KEYS.post(status=201)
async def create_key(call: Call[NoQuery], body: KeyRequest) -> NewKeyItem:
    """Create an API key, which is shown this once; from then on a credential is needed."""
    wish = KeyWish(**asdict(body))
    new = await call.service.keys.create(_maker(call.principal, body.tenant), wish)
    item = _item(new.row, call.service.clock.now())
    call.after = audit_values.key(new.row)
    return NewKeyItem(**asdict(item), key=new.text)


@KEYS.get()
async def list_keys(call: Call[PageQuery]) -> Page[KeyItem]:
    """List the keys of the tenant, oldest first, including expired and revoked ones."""
    rows = await call.service.keys.list(call.principal.tenant)
    now = call.service.clock.now()
    return oldest_first(rows, call.query).of(lambda row: _item(row, now))


@KEYS.delete("/{id}")
async def revoke_key(call: Call[NoQuery]) -> RevokedKey:
    """Revoke a key and all that were made by it, in every process within a second."""
    keys, tenant, id = call.service.keys, call.principal.tenant, call.path["id"]
    rows = await keys.list(tenant)
    call.before = next((audit_values.key(row) for row in rows if row.id == id), None)
    revoked = await keys.revoke(tenant, id)
    also = tuple(each.id for each in revoked.others)
    call.after = {**audit_values.key(revoked.key), "alsoRevoked": list(also)}
    return RevokedKey(id=id, also_revoked=also)


def _maker(principal: Principal, tenant: str | None) -> Principal:
    """The principal that creates the key: the admin key is admin of every tenant."""
    if principal.kind == "system" and tenant is not None:
        return replace(principal, tenant=tenant)
    return principal


def _item(row: KeyRow, now: datetime) -> KeyItem:
    return shaped(KeyItem, row, state=row.state(now))
