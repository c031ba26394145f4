"""Operations on secrets: store, list, remove. None gives a value back."""

from __future__ import annotations

from tenuto.access.permissions import Permission
from tenuto.api.call import Call, NoQuery
from tenuto.api.operation import API, Resource
from tenuto.api.paging import Page, PageQuery
from tenuto.api.shapes import Body, Query
from tenuto.workspace import audit_values
from tenuto.workspace.secret_values import Secret

SECRETS = Resource(
    f"{API}/secrets", tag="secrets", read=Permission.SECRETS_READ, write=Permission.SECRETS_WRITE
)


class SecretRequest(Body):
    """The value of a secret, and where it may be sent."""

    value: str
    """At least four characters; it is encrypted, and no operation gives it back."""
    destinations: tuple[str, ...] | None = None
    """Hosts and data sources that it may be sent to; without them it may stand in every input."""


class RemoveSecretQuery(Query):
    """Whether it is removed although something names it."""

    force: bool = False


@SECRETS.put("/{name}", other_statuses=(201,))
async def put_secret(call: Call[NoQuery], body: SecretRequest) -> Secret:
    """Store a secret, new or not; attempts that start from now on get this value."""
    secrets, name = call.workspace.secrets, call.path["name"]
    call.before = await audit_values.secret_before(secrets, name)
    saved = await secrets.put(name, body.value, destinations=body.destinations)
    call.after = audit_values.secret(saved)
    call.status = 201 if call.before is None else 200
    return saved


@SECRETS.get()
async def list_secrets(call: Call[PageQuery]) -> Page[Secret]:
    """List secrets, ordered by name: when they were changed, by whom, and what uses them."""
    found = await call.workspace.secrets.page(limit=call.query.limit, cursor=call.query.cursor)
    return Page(items=found.items, next_cursor=found.next_cursor)


@SECRETS.get("/{name}")
async def get_secret(call: Call[NoQuery]) -> Secret:
    """Get a secret, without its value: when it was changed, by whom, and what uses it."""
    return await call.workspace.secrets.get(call.path["name"])


@SECRETS.delete("/{name}", other_statuses=(409,))
async def remove_secret(call: Call[RemoveSecretQuery]) -> None:
    """Remove a secret that nothing uses; with `force` also one that is used."""
    secrets, name = call.workspace.secrets, call.path["name"]
    call.before = await audit_values.secret_before(secrets, name)
    await secrets.remove(name, force=call.query.force)
