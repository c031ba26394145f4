"""Access to `tenuto serve` and `tenuto dev`: checked before anything is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from tenuto.access.authenticator import Authenticator
from tenuto.access.oidc import OidcSettings
from tenuto.access.origins import read_host, read_origin
from tenuto.api.config import BrowserSignIn, ServiceConfig, is_loopback
from tenuto.app import Tenuto
from tenuto.cli.backends.reader import reading
from tenuto.compose import MEMORY, build_authenticator, is_postgres, sqlite_path
from tenuto.config.config import Config
from tenuto.model.codes import CATALOGUE
from tenuto.model.errors import Forbidden, InvalidInput, Problem

_SHORTEST_KEY = 32
_OPEN_DOOR = "TEN-5022"


class AccessWish(Struct, frozen=True, kw_only=True):
    """The settings of access to a service."""

    auth: Literal["auto", "required"] = "auto"
    admin_key: str | None = None
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_tenant_claim: str = "tenant"
    oidc_role_claims: tuple[str, ...] = ("role", "roles")
    oidc_name_claim: str = "sub"
    may_be_private: bool = False
    """Whether the issuer may have an address of no public network."""
    origins: Sequence[str] = ()
    hosts: Sequence[str] = ()
    rate: float | None = None
    source_rate: float | None = None

    @property
    def is_on(self) -> bool:
        """Whether every request needs a credential, also where the store has no key."""
        return self.auth == "required" or self.admin_key is not None or self.oidc_issuer is not None


def access_wish(config: Config) -> AccessWish:
    """Those of a configuration."""
    return AccessWish(
        auth=config.auth,
        admin_key=config.admin_key,
        oidc_issuer=config.oidc_issuer,
        oidc_audience=config.oidc_audience,
        oidc_tenant_claim=config.oidc_tenant_claim,
        oidc_role_claims=config.oidc_role_claims,
        oidc_name_claim=config.oidc_name_claim,
        may_be_private=config.oidc_private,
        origins=config.allow_origin,
        hosts=config.allow_host,
        rate=config.rate_limit,
        source_rate=config.source_rate_limit,
    )


def browser_sign_in(config: Config) -> BrowserSignIn | None:
    """How the web UI signs users in at the identity provider, if it is registered there."""
    issuer, audience, client = config.oidc_issuer, config.oidc_audience, config.oidc_client_id
    if issuer is None or audience is None or client is None:
        return None
    return BrowserSignIn(
        issuer=issuer, client_id=client, audience=audience, scopes=config.oidc_scopes
    )


def checked(host: str, port: int, wish: AccessWish) -> ServiceConfig:
    """The configuration of the service; InvalidInput lists everything that is wrong."""
    problems = [
        *_key_problems(wish.admin_key),
        *_oidc_problems(wish),
        *(
            _problem("--allow-host", each, "Write a name, and perhaps a port: tenuto.example.com.")
            for each in wish.hosts
            if read_host(each) is None
        ),
        *(
            _problem("--allow-origin", each, "Write it whole: https://ui.example.com.")
            for each in wish.origins
            if read_origin(each) is None
        ),
    ]
    if problems:
        raise InvalidInput("the service cannot be set up like this", problems)
    return ServiceConfig(
        host=host,
        port=port,
        hosts=frozenset(wish.hosts),
        origins=frozenset(wish.origins),
        rate=wish.rate,
        source_rate=wish.source_rate,
    )


async def refuse_open_door(host: str, store: str, wish: AccessWish) -> None:
    """Forbidden where other machines would be answered without a credential."""
    if is_loopback(host) or wish.is_on or await _has_keys(store):
        return
    raise Forbidden(
        f"{host} can be reached from other machines, and no credential is asked for",
        code=_OPEN_DOOR,
        advice=CATALOGUE[_OPEN_DOOR].advice,
    )


def authenticator_of(app: Tenuto, wish: AccessWish) -> Authenticator:
    """The authenticator of an app."""
    oidc = None
    if wish.oidc_issuer is not None and wish.oidc_audience is not None:
        oidc = OidcSettings(
            issuer=wish.oidc_issuer,
            audience=wish.oidc_audience,
            tenant_claim=wish.oidc_tenant_claim,
            role_claims=wish.oidc_role_claims,
            name_claim=wish.oidc_name_claim,
        )
    return build_authenticator(
        app.engine.store,
        app.engine.clock,
        admin_key=wish.admin_key,
        oidc=oidc,
        is_required=wish.auth == "required",
        may_be_private=wish.may_be_private,
    )


async def _has_keys(store: str) -> bool:
    """Whether a store has any; one that does not exist is not made."""
    if store == MEMORY or (not is_postgres(store) and not sqlite_path(store).exists()):
        return False
    async with reading(store) as reader:
        return await reader.store.access.has_keys()


def _key_problems(key: str | None) -> list[Problem]:
    if key is None or (len(key) >= _SHORTEST_KEY and key.isascii() and " " not in key):
        return []
    code = CATALOGUE["TEN-5031"]
    return [
        Problem(
            code="TEN-5031",
            path="TENUTO_ADMIN_KEY",
            message=f"it is no text of at least {_SHORTEST_KEY} characters without spaces",
            advice=code.advice,
        )
    ]


def _oidc_problems(wish: AccessWish) -> list[Problem]:
    issuer, audience = wish.oidc_issuer, wish.oidc_audience
    if issuer is None:
        if audience is None:
            return []
        return [_problem("--oidc-audience", audience, "Name the issuer too: --oidc-issuer.")]
    found: list[Problem] = []
    if not audience:
        advice = "Say what its tokens for this service have in `aud`: --oidc-audience."
        found.append(_problem("--oidc-issuer", issuer, advice))
    try:
        parts = urlsplit(issuer)
        is_url = parts.scheme in ("https", "http") and bool(parts.hostname)
        is_safe = parts.scheme == "https" or is_loopback(parts.hostname or "")
    except ValueError:
        is_url = is_safe = False
    if not is_url or not is_safe:
        advice = "Write its URL, exactly as its tokens have it in `iss`: https://…"
        found.append(_problem("--oidc-issuer", issuer, advice))
    return found


def _problem(option: str, value: str, advice: str) -> Problem:
    message = f"{value[:200]!r} cannot be used"
    return Problem(code="TEN-5032", path=option, message=message, advice=advice)
