"""Authenticates clients by a key, the admin key, or a token of an identity provider."""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Protocol

from tenuto.access.key_ring import KeyRing
from tenuto.access.keys import PREFIX, is_secret_of, over, read_key, secret_hash
from tenuto.access.last_uses import LastUses
from tenuto.access.principal import LOCAL, Principal
from tenuto.access.roles import Role
from tenuto.model.errors import Forbidden, InvalidInput, Problem, Unauthenticated
from tenuto.model.tenants import DEFAULT_TENANT, tenant_problem
from tenuto.ports import Clock
from tenuto.store.parts.access import Access

ADMIN_KEY = "admin-key"
"""Identifies the holder of the admin key."""
_LONGEST = 16_384


class Tokens(Protocol):
    """Verifies tokens that an identity provider has signed."""

    async def verify(self, token: str, now: datetime) -> Principal:
        """The principal of a token; Unauthenticated, or ProviderUnavailable."""

    async def endpoint(self) -> str | None:
        """Where browsers get tokens; None: it is not known."""

    async def close(self) -> None: ...


class Authenticator:
    """Finds the principal of a credential; the local one where no credential is needed."""

    def __init__(
        self,
        store: Access,
        clock: Clock,
        *,
        admin_key: str | None = None,
        tokens: Tokens | None = None,
        is_required: bool = False,
    ) -> None:
        """`admin_key` opens every tenant; with `is_required` a credential is always needed."""
        self.ring = KeyRing(store, clock)
        self._uses = LastUses(store, clock)
        self._admin_hash = None if not admin_key else secret_hash(admin_key)
        self._tokens = tokens
        self._is_required = is_required

    async def is_on(self) -> bool:
        """Whether a credential is needed."""
        if self._is_required or self._admin_hash is not None or self._tokens is not None:
            return True
        return await self.ring.has_keys()

    async def token_endpoint(self) -> str | None:
        """Where browsers get tokens of the identity provider; None: nowhere, or not known."""
        return None if self._tokens is None else await self._tokens.endpoint()

    async def authenticate(
        self, authorization: str | None, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        """The principal of the header `Authorization`; Unauthenticated.

        An invalid credential is refused also where none is needed. `tenant` is the value of the
        header `Tenuto-Tenant`: only the admin key may choose.
        """
        if authorization is None:
            if await self.is_on():
                raise Unauthenticated("no credential was sent", code="TEN-5010")
            return _of_tenant(LOCAL, tenant)
        credential = _credential(authorization)
        if self._is_admin(credential):
            return _admin(tenant)
        return await self._of_key_or_token(credential, now, tenant)

    async def authenticate_unguessable(
        self, authorization: str, now: datetime, *, tenant: str | None = None
    ) -> Principal:
        """The same for a key, which has 256 random bits, or a token, which is signed, alone.

        The admin key is a text that an operator has chosen: it is not compared here, so that it is
        not guessed.
        """
        return await self._of_key_or_token(_credential(authorization), now, tenant)

    async def close(self) -> None:
        """Write the last uses of keys, and close the connection to the provider."""
        await self._uses.close()
        if self._tokens is not None:
            await self._tokens.close()

    async def _of_key_or_token(
        self, credential: str, now: datetime, tenant: str | None
    ) -> Principal:
        if credential.startswith(PREFIX):
            return _of_tenant(await self._holder(credential, now), tenant)
        if self._tokens is None:
            raise wrong()
        return _of_tenant(await self._tokens.verify(credential, now), tenant)

    def _is_admin(self, credential: str) -> bool:
        if self._admin_hash is None:
            return False
        return hmac.compare_digest(self._admin_hash, secret_hash(credential))

    async def _holder(self, credential: str, now: datetime) -> Principal:
        shown = read_key(credential)
        if shown is None:
            raise wrong()
        key = await self.ring.find(shown.id)
        # First the secret: without it a client learns nothing of the key.
        if not is_secret_of(key, shown.secret) or key is None:
            raise wrong()
        if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
            raise over()
        self._uses.note(key, now)
        return Principal(
            tenant=key.tenant,
            name=key.name,
            role=Role(key.role),
            scopes=None if key.scopes is None else frozenset(key.scopes),
            credential=key.identity,
            kind="key",
            expires_at=key.expires_at,
        )


def wrong() -> Unauthenticated:
    """An invalid credential; the message does not say why."""
    return Unauthenticated("the credential is not valid here", code="TEN-5011")


def _credential(authorization: str) -> str:
    scheme, _, credential = authorization.strip().partition(" ")
    credential = credential.strip()
    if scheme.lower() != "bearer" or not credential.isascii() or " " in credential:
        raise wrong()
    if not credential or len(credential) > _LONGEST:
        raise wrong()
    return credential


def _admin(tenant: str | None) -> Principal:
    named = DEFAULT_TENANT if tenant is None else tenant
    if problem := tenant_problem(named):
        raise InvalidInput(
            "the tenant is not valid",
            [
                Problem(
                    code="TEN-2401",
                    path="$.tenant",
                    message=problem,
                    advice="Correct the header Tenuto-Tenant.",
                )
            ],
        )
    return Principal(
        tenant=named, name="admin", credential=ADMIN_KEY, role=Role.ADMIN, kind="system"
    )


def _of_tenant(principal: Principal, tenant: str | None) -> Principal:
    """The same principal; Forbidden where `tenant` is another one."""
    if tenant is None or tenant == principal.tenant:
        return principal
    raise Forbidden(
        "the credential belongs to another tenant",
        code="TEN-5013",
        advice="Leave the header Tenuto-Tenant out; a credential names its tenant by itself.",
    )
