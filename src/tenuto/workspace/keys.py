"""The API keys of one tenant, managed in the store itself by a program that has it open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TypeAlias

from tenuto.access.audit import AuditLog
from tenuto.access.keys import Keys, KeyWish
from tenuto.access.principal import Principal
from tenuto.access.roles import Role
from tenuto.model.checks import converted
from tenuto.model.durations import iso
from tenuto.model.errors import TenutoError
from tenuto.model.json import Object
from tenuto.model.quotas import DEFAULT_QUOTAS
from tenuto.ports import Clock, Ids
from tenuto.store.parts.access import KeyRow
from tenuto.store.parts.audit import AuditOutcome
from tenuto.store.protocol import Store

_BROKEN = "TEN-4000"
"""The code of an error that is none of Tenuto's."""
_Done: TypeAlias = list[KeyRow]


class TenantKeys:
    """The keys of one tenant. Each change is recorded in the audit log, before and after."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        ids: Ids,
        *,
        tenant: str,
        actor: str,
        most: int = DEFAULT_QUOTAS.keys,
        reason: str | None = None,
    ) -> None:
        """`reason`: why changes are made, for the audit log."""
        self._keys = Keys(store, clock, ids, most=most)
        self._log = AuditLog(store.audit, clock, ids)
        self._clock = clock
        self._ids = ids
        # A program that has the store open has everything in it.
        self._reason: Object = {} if reason is None else {"reason": reason}
        self._principal = Principal(tenant=tenant, name=actor, role=Role.ADMIN, kind="local")

    async def create(
        self,
        name: str,
        *,
        role: str,
        scopes: Sequence[str] | None = None,
        expires_at: datetime | None = None,
    ) -> Object:
        """Create a key; `key` in the result is the secret, and is shown only this once."""
        given = {"name": name, "role": role, "scopes": scopes, "expires_at": expires_at}
        wish = converted(given, KeyWish, "the key cannot be made")
        async with self._recorded("create_key", name) as done:
            new = await self._keys.create(self._principal, wish)
            done.append(new.row)
        return {**key_view(new.row, new.row.created_at), "key": new.text}

    async def revoke(self, id: str) -> list[str]:
        """Revoke a key and those that were made by it; the ids of those. NotFound."""
        async with self._recorded("revoke_key", id) as done:
            revoked = await self._keys.revoke(self._principal.tenant, id)
            done += [revoked.key, *revoked.others]
        return [each.id for each in revoked.others]

    async def list(self) -> list[Object]:
        """Every key, also expired and revoked ones, oldest first."""
        now = self._clock.now()
        return [key_view(row, now) for row in await self._keys.list(self._principal.tenant)]

    @asynccontextmanager
    async def _recorded(self, action: str, target: str) -> AsyncIterator[_Done]:
        """Record that a change is asked for, durably before it is made, and its outcome."""
        request_id, done = self._ids.short(), _Done()

        async def record(outcome: AuditOutcome, target: str, after: object = None) -> None:
            await self._log.record(
                principal=self._principal,
                action=action,
                target=target,
                outcome=outcome,
                request_id=request_id,
                after=after,
            )

        await record("asked", target, self._reason or None)
        try:
            yield done
        except Exception as error:
            code = error.code if isinstance(error, TenutoError) else _BROKEN
            await record("failed", target, {"code": code})
            raise
        for key in done:
            said = {**self._reason, "name": key.name, "role": key.role, "scopes": key.scopes}
            await record("done", key.id, said)


def key_view(key: KeyRow, now: datetime) -> Object:
    """A key in JSON, without its secret."""
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
