"""API keys: create, list, revoke. The secret of a key is shown once and never stored."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from tenuto.access.key_names import name_problem
from tenuto.access.permissions import SCOPES, includes
from tenuto.access.principal import Principal
from tenuto.access.roles import ROLE_PERMISSIONS, Role
from tenuto.engine.confirmed_write import confirmed_write
from tenuto.model.checks import moment_problem
from tenuto.model.durations import iso
from tenuto.model.errors import (
    Forbidden,
    InvalidInput,
    NotFound,
    Problem,
    Unauthenticated,
)
from tenuto.model.quotas import DEFAULT_QUOTAS, refuse_beyond
from tenuto.model.tenants import tenant_problem
from tenuto.ports import Clock, Ids
from tenuto.store.parts.access import KeyRow
from tenuto.store.protocol import Store

_KEY = re.compile(r"tnt_([0-9a-f]{16})_([0-9a-f]{64})\Z")
PREFIX = "tnt_"
_NO_HASH = hashlib.sha256(b"").digest()
_DAY = timedelta(days=1)


class KeyText(NamedTuple):
    """A key as its holder sends it, taken apart."""

    id: str
    secret: str


class NewKey(NamedTuple):
    """A key that was just made; `text` is in here and nowhere else."""

    row: KeyRow
    text: str


class KeyWish(Struct, frozen=True, kw_only=True):
    """A key as it is asked for."""

    name: str
    role: str
    scopes: Sequence[str] | None = None
    """The part of its role's permissions that it has; None: all of them."""
    expires_at: datetime | None = None
    tenant: str | None = None
    """None: that of its maker."""


def read_key(text: str) -> KeyText | None:
    """A key's parts; None where a text is no key."""
    found = _KEY.match(text)
    return None if found is None else KeyText(found.group(1), found.group(2))


def secret_hash(secret: str) -> bytes:
    """The stored hash of a secret; it has 256 random bits, so that a fast hash is enough."""
    return hashlib.sha256(secret.encode()).digest()


def is_secret_of(key: KeyRow | None, secret: str) -> bool:
    """Whether the secret is the key's; it takes as long for a key that does not exist."""
    expected = _NO_HASH if key is None else key.hash
    return hmac.compare_digest(expected, secret_hash(secret)) and key is not None


class Revoked(NamedTuple):
    """A key that was revoked, and those that were revoked with it."""

    key: KeyRow
    others: list[KeyRow]
    """The keys that were made by it, and by those, and were not revoked before."""


class Keys:
    """The keys of a store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        ids: Ids,
        *,
        most: int = DEFAULT_QUOTAS.keys,
        changed: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`changed` is called with the id of a key that was created or revoked.

        `most`: keys of a tenant, see `Limits.keys`.
        """
        self._store = store
        self._clock = clock
        self._ids = ids
        self._most = most
        self._changed = changed
        self._making = asyncio.Lock()
        """Keys are counted and made one at a time."""

    async def create(self, principal: Principal, wish: KeyWish) -> NewKey:
        """Make a key; InvalidInput lists all problems.

        It is never stronger, longer valid or less scoped than its maker: what the wish leaves open
        is as its maker has it, and what goes beyond is Forbidden.
        """
        tenant = principal.tenant if wish.tenant is None else wish.tenant
        now = self._clock.now()
        if problems := _problems(wish, tenant, now):
            raise InvalidInput("the key cannot be made", problems)
        if principal.expires_at is not None and principal.expires_at <= now:
            raise over()
        refuse_more(principal, tenant, wish)
        secret = "".join(self._ids.short() for _ in range(4))
        row = KeyRow(
            id=self._ids.short(),
            tenant=tenant,
            name=wish.name,
            role=wish.role,
            scopes=_sorted(principal.scopes if wish.scopes is None else wish.scopes),
            hash=secret_hash(secret),
            created_at=now,
            created_by=principal.identity,
            expires_at=wish.expires_at or principal.expires_at,
        )
        async with self._making:
            await self._refuse_too_many(tenant, now)
            is_made = await confirmed_write(lambda: self._store.access.put_key(row), self._clock)
        if not is_made:
            if row.maker is not None:
                # It was revoked since it was authenticated.
                raise over()
            raise RuntimeError(f"two keys have the id {row.id}")
        self._changed(row.id)
        return NewKey(row, f"{PREFIX}{row.id}_{secret}")

    async def list(self, tenant: str) -> list[KeyRow]:
        """All keys of a tenant, also revoked ones, oldest first."""
        return await self._store.seen_by(tenant).access.keys(tenant)

    async def revoke(self, tenant: str, id: str) -> Revoked:
        """Let a key, and all that were made by it, open nothing any more; NotFound.

        Here at once, elsewhere within a second.
        """
        revoked = await self._store.access.revoke_key(tenant, id, self._clock.now())
        if not revoked:
            raise NotFound(
                f"there is no key {id}",
                code="TEN-5016",
                advice="`tenuto keys list` lists the keys.",
            )
        for each in revoked:
            self._changed(each.id)
        return Revoked(revoked[0], revoked[1:])

    async def _refuse_too_many(self, tenant: str, now: datetime) -> None:
        since = now - _DAY
        count = sum(
            each.state(now) == "active" or each.created_at > since
            for each in await self._store.access.keys(tenant)
        )
        refuse_beyond("keys", count, self._most)


def refuse_more(principal: Principal, tenant: str, wish: KeyWish) -> None:
    """Forbidden where a key would be more than its maker, now or with a later version's roles."""
    if tenant != principal.tenant:
        raise Forbidden(
            f"{principal.name!r} belongs to another tenant",
            code="TEN-5013",
            advice="Make keys for your own tenant.",
        )
    role, own = Role(wish.role), principal.scopes
    if role.is_above(principal.role):
        raise Forbidden(
            f"{principal.name!r} has the role {principal.role} and cannot hand on {role}",
            code="TEN-5013",
            advice="Ask for a weaker role.",
        )
    wanted = sorted(ROLE_PERMISSIONS[role]) if wish.scopes is None else wish.scopes
    missing = [] if own is None else [each for each in wanted if not includes(own, each)]
    if missing:
        raise Forbidden(
            f"{principal.name!r} lacks {', '.join(missing)} and cannot hand it on",
            code="TEN-5013",
            advice="Ask for a weaker role, or for scopes within your own.",
        )
    until = principal.expires_at
    if until is not None and wish.expires_at is not None and wish.expires_at > until:
        raise Forbidden(
            f"the credential of {principal.name!r} expires at {iso(until)}, before the key would",
            code="TEN-5013",
            advice="Ask for an earlier expiry, or leave it out: the key expires with its maker.",
        )


def _sorted(scopes: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if scopes is None else tuple(sorted(set(scopes)))


def over() -> Unauthenticated:
    """A credential that has expired, was revoked, or is not valid yet."""
    return Unauthenticated(
        "the credential has expired, was revoked, or is not valid yet", code="TEN-5012"
    )


def _problems(wish: KeyWish, tenant: str, now: datetime) -> list[Problem]:
    return [
        Problem(code="TEN-2401", path=path, message=message, advice=advice)
        for path, message, advice in _complaints(wish, tenant, now)
    ]


def _complaints(wish: KeyWish, tenant: str, now: datetime) -> Iterable[tuple[str, str, str]]:
    if problem := name_problem(wish.name):
        yield "$.name", problem, "Say what the key is for, such as `build` or `ann-laptop`."
    if wish.role not in set(Role):
        yield "$.role", f"{wish.role!r} is no role", f"Choose one of {', '.join(Role)}."
    for at, scope in enumerate(wish.scopes or ()):
        if scope not in SCOPES:
            advice = f"A scope is a permission or all of a thing: {', '.join(sorted(SCOPES))}."
            yield f"$.scopes[{at}]", f"{scope!r} is no scope", advice
    if wish.scopes is not None and not wish.scopes:
        yield (
            "$.scopes",
            "a key without scopes has no permission",
            "Leave the field out, or name some.",
        )
    if wish.expires_at is not None and (wrong := moment_problem(wish.expires_at)) is not None:
        yield "$.expiresAt", wrong, "Write a moment such as 2030-01-31T12:00:00Z."
    elif wish.expires_at is not None and wish.expires_at <= now:
        yield "$.expiresAt", "this time has passed", "Name a time in the future."
    if problem := tenant_problem(tenant):
        yield "$.tenant", problem, "Write it with letters, digits, dots, dashes and underscores."
