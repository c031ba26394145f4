"""The keys of an identity provider, as it publishes them (OpenID Connect Discovery, RFC 7517)."""

from __future__ import annotations

import asyncio
import logging

import msgspec
from jwt import PyJWK
from jwt.exceptions import PyJWTError
from msgspec import Struct

from tenuto.model.errors import ProviderUnavailable
from tenuto.model.json import Object
from tenuto.ports import Clock, Fetcher

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "ES256", "EdDSA")
"""Asymmetric signatures: a key that verifies one cannot make one."""

_FRESH = 600.0
"""Seconds after which keys are fetched again; meanwhile the known ones stay valid."""
_USABLE = 3_600.0
"""Seconds for which known keys stay valid while the provider does not answer."""
_PAUSE = 30.0
"""Seconds between fetches, however many unknown keys are named."""
_PAUSE_WITHOUT_KEYS = 2.0
_PATIENCE = 5.0
_PATIENCE_OF_PAGES = 1.0
_MOST_BYTES = 1_000_000
_MOST_KEYS = 100


class _Discovery(Struct, frozen=True):
    issuer: str
    jwks_uri: str
    token_endpoint: str | None = None


class _KeySet(Struct, frozen=True):
    keys: list[Object]


class _Unfit(Exception):
    """An answer of the provider that cannot be used."""


class Provider:
    """Knows by which key of the provider a token may be signed."""

    def __init__(self, issuer: str, fetcher: Fetcher, clock: Clock) -> None:
        self.issuer = issuer
        self._fetcher = fetcher
        self._clock = clock
        self._keys: dict[str, PyJWK] = {}
        self._token_endpoint: str | None = None
        self._fetched: float | None = None
        self._tried: float | None = None
        self._has_failed = False
        self._fetching: asyncio.Task[None] | None = None

    async def key(self, kid: str | None) -> PyJWK | None:
        """The key of that id; without one the only key, if there is one only.

        ProviderUnavailable where the provider had to be asked and did not answer.
        """
        if not self._is_usable():
            await self._fetch()
            if not self._is_usable():
                raise _away()
            return self._find(kid)
        found = self._find(kid)
        if found is None:
            # The provider may have a new one.
            await self._fetch()
            found = self._find(kid)
            if found is None and self._has_failed:
                raise _away()
        elif self._age() > _FRESH:
            self._begin_fetch()
        return found

    async def token_endpoint(self) -> str | None:
        """Where browsers get tokens; None while it is not known: it is not waited for for long."""
        if not self._is_usable() and (fetching := self._begin_fetch()) is not None:
            await asyncio.wait((fetching,), timeout=_PATIENCE_OF_PAGES)
        return self._token_endpoint

    async def close(self) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
        await self._fetcher.close()

    def _find(self, kid: str | None) -> PyJWK | None:
        if kid is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(kid)

    def _age(self) -> float:
        return float("inf") if self._fetched is None else self._clock.ticks() - self._fetched

    def _is_usable(self) -> bool:
        return self._age() <= _USABLE

    def _begin_fetch(self) -> asyncio.Task[None] | None:
        """Ask the provider, unless it was asked just now."""
        if self._fetching is not None and not self._fetching.done():
            return self._fetching
        pause = _PAUSE if self._is_usable() else _PAUSE_WITHOUT_KEYS
        now = self._clock.ticks()
        if self._tried is not None and now - self._tried < pause:
            return None
        self._tried = now
        self._fetching = asyncio.ensure_future(self._fetch_once(now))
        return self._fetching

    async def _fetch(self) -> None:
        fetching = self._begin_fetch()
        if fetching is not None:
            await asyncio.shield(fetching)

    async def _fetch_once(self, now: float) -> None:
        try:
            found = await self._published()
        except (_Unfit, msgspec.MsgspecError, UnicodeError) as error:
            self._has_failed = True
            log.warning("identity provider: keys of issuer=%s not fetched: %s", self.issuer, error)
            return
        self._has_failed = False
        self._keys, self._fetched = found, now

    async def _published(self) -> dict[str, PyJWK]:
        url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        said = msgspec.json.decode(await self._body(url), type=_Discovery)
        if said.issuer != self.issuer:
            raise _Unfit(f"it calls itself {said.issuer!r}")
        self._token_endpoint = said.token_endpoint
        published = msgspec.json.decode(await self._body(said.jwks_uri), type=_KeySet)
        keys = {
            str(each.get("kid", "")): key
            for each in published.keys[:_MOST_KEYS]
            if (key := _read_key(each)) is not None
        }
        if not keys:
            raise _Unfit(f"it has no key for {', '.join(ALGORITHMS)}")
        return keys

    async def _body(self, url: str) -> bytes:
        page = await self._fetcher.get(url, seconds=_PATIENCE, most=_MOST_BYTES)
        if page.status != 200:
            raise _Unfit(f"{url}: {page.error or f'status {page.status}'}")
        return page.body


def _read_key(published: Object) -> PyJWK | None:
    """A key for signatures that are taken here; providers have others too."""
    if published.get("use", "sig") != "sig":
        return None
    try:
        key = PyJWK.from_dict(published)
    except PyJWTError:
        return None
    return key if key.algorithm_name in ALGORITHMS else None


def _away() -> ProviderUnavailable:
    return ProviderUnavailable(
        "the identity provider does not answer", advice="Try again in a moment."
    )
