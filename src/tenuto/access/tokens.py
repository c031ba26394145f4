"""Verifies tokens of an identity provider."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard

import jwt
from jwt.exceptions import PyJWTError
from jwt.types import Options

from tenuto.access.authenticator import wrong
from tenuto.access.keys import over
from tenuto.access.oidc import OidcSettings
from tenuto.access.principal import Principal
from tenuto.access.provider import ALGORITHMS, Provider
from tenuto.access.roles import Role
from tenuto.model.tenants import tenant_problem

LEEWAY = timedelta(seconds=30)
"""The allowed difference between the provider's clock and ours."""

_LONGEST_NAME = 255
_FARTHEST = 1e15
_LAST_MOMENT = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_STRENGTH = {role.value: at for at, role in enumerate(Role)}
_OPTIONS: Options = {
    "require": ["exp", "iss", "aud", "sub"],
    # Compared with the injected clock, below.
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
    "enforce_minimum_key_length": True,
}


class OidcTokens:
    """Checks tokens by the keys of their provider."""

    def __init__(self, settings: OidcSettings, provider: Provider) -> None:
        self._settings = settings
        self._provider = provider

    async def verify(self, token: str, now: datetime) -> Principal:
        try:
            header = jwt.get_unverified_header(token)
            kid = header.get("kid")
            if header.get("alg") not in ALGORITHMS or not isinstance(kid, str | None):
                raise wrong()
            key = await self._provider.key(kid)
            if key is None:
                raise wrong()
            claims = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._settings.audience,
                issuer=self._settings.issuer,
                options=_OPTIONS,
            )
        except (PyJWTError, ValueError) as error:
            raise wrong() from error
        _refuse_outdated(claims, now)
        return self._principal(claims)

    async def endpoint(self) -> str | None:
        return await self._provider.token_endpoint()

    async def close(self) -> None:
        await self._provider.close()

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        """The principal that the claims name; it needs a tenant and a role."""
        tenant = _claim(claims, self._settings.tenant_claim)
        name, subject = _claim(claims, self._settings.name_claim), claims["sub"]
        role = self._role(claims)
        if not isinstance(tenant, str) or tenant_problem(tenant) or role is None:
            raise wrong()
        identity = f"{self._settings.issuer}|{subject}"
        if not _is_name(name) or not _is_name(subject) or not _is_name(identity):
            raise wrong()
        return Principal(
            tenant=tenant,
            name=name,
            role=role,
            credential=identity,
            kind="jwt",
            expires_at=datetime.fromtimestamp(min(claims["exp"], _LAST_MOMENT), UTC),
        )

    def _role(self, claims: Mapping[str, Any]) -> Role | None:
        said: list[object] = []
        for each in self._settings.role_claims:
            value = _claim(claims, each)
            said += value if isinstance(value, list) else [value]
        known = [each for each in said if isinstance(each, str) and each in _STRENGTH]
        return Role(max(known, key=_STRENGTH.__getitem__)) if known else None


def _is_name(value: object) -> TypeGuard[str]:
    """Whether a claim can be stored by every store, and shown: no NUL, no half characters."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and value.isprintable()


def _refuse_outdated(claims: Mapping[str, Any], now: datetime) -> None:
    """A token has an end, and a beginning: `nbf`, or when it was issued."""
    until, since = _moment(claims.get("exp")), _moment(claims.get("nbf", claims.get("iat")))
    if until is None or since is None:
        raise wrong()
    moment, leeway = now.timestamp(), LEEWAY.total_seconds()
    if moment >= until + leeway or moment < since - leeway:
        raise over()


def _moment(value: object) -> float | None:
    """Seconds since 1970, as tokens have them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _FARTHEST else None


def _claim(claims: Mapping[str, Any], name: str) -> object:
    """A claim of that name; else the one that its parts lead to."""
    if name in claims:
        return claims[name]
    found: object = claims
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found
