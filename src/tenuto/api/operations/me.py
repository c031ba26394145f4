"""What the web UI asks first: how to sign in, who is signed in, and what there is."""

from __future__ import annotations

from typing import Literal

from tenuto import __version__
from tenuto.access.authenticator import ADMIN_KEY, Authenticator
from tenuto.access.permissions import Permission
from tenuto.access.principal import LOCAL, Principal
from tenuto.api.browsers import refuse_relayed
from tenuto.api.call import Call, NoQuery
from tenuto.api.config import BrowserSignIn
from tenuto.api.operation import API, Resource
from tenuto.api.shapes import Answer, moment, shaped
from tenuto.model.errors import Unauthenticated

ME = Resource(f"{API}/me", tag="me")


class OidcView(Answer):
    """The identity provider at which users of the web UI sign in, by PKCE."""

    issuer: str
    client_id: str
    audience: str
    scopes: tuple[str, ...]


class SignIn(Answer):
    """How a client gets a credential."""

    is_required: bool
    """False: every client on this machine is `local`, and may do everything."""
    ways: list[Literal["key", "oidc"]]
    """The kinds of credentials; an API key is always one."""
    oidc: OidcView | None


class PrincipalView(Answer):
    """Who a credential belongs to."""

    tenant: str
    name: str
    """For people: several principals may have it."""
    identity: str
    """What logs and approvals name it by: `key:<id>`, or `<issuer>|<subject>`."""
    role: str
    kind: str
    permissions: list[str]
    expires_at: str | None
    may_choose_tenant: bool
    """Whether it may name any tenant in the header `Tenuto-Tenant`: the admin key."""


class MeView(Answer):
    """The principal of the request, and the service as it sees it."""

    sign_in: SignIn
    principal: PrincipalView | None
    """None where a credential is needed, and none was sent."""
    environment: str | None
    version: str | None
    """None where a credential is needed, and none was sent; so is `environment`."""
    capabilities: dict[str, bool]
    """Kinds of records that the service has: those with operations are true."""


_CAPABILITIES = (
    *("workflows", "instances", "events", "approvals", "tasks", "workers", "webhooks"),
    *("subscriptions", "dead-letters", "keys", "audit", "settings", "schedules", "queues"),
    *("secrets", "data", "widgets"),
)


@ME.get(is_public=True)
async def me(call: Call[NoQuery]) -> MeView:
    """Who the credential of this request belongs to, and how to get one."""
    try:
        principal = await call.service.authenticate_again(call.headers)
    except Unauthenticated:
        # A wrong credential was refused before: this one is missing.
        principal = None
    if principal == LOCAL:
        refuse_relayed(call.headers)
    tags = {each.tag for each in call.service.operations}
    return MeView(
        sign_in=await _sign_in(call),
        principal=None if principal is None else _principal(principal),
        environment=None if principal is None else call.service.config.environment,
        version=None if principal is None else __version__,
        capabilities={each: each in tags for each in _CAPABILITIES},
    )


async def _sign_in(call: Call[NoQuery]) -> SignIn:
    authentication = call.service.authentication
    oidc: BrowserSignIn | None = call.service.config.browser_sign_in
    return SignIn(
        is_required=not isinstance(authentication, Authenticator) or await authentication.is_on(),
        ways=["key"] if oidc is None else ["key", "oidc"],
        oidc=None if oidc is None else shaped(OidcView, oidc),
    )


def _principal(principal: Principal) -> PrincipalView:
    return PrincipalView(
        tenant=principal.tenant,
        name=principal.name,
        identity=principal.identity,
        role=principal.role,
        kind=principal.kind,
        permissions=[each.value for each in Permission if principal.may(each)],
        expires_at=moment(principal.expires_at),
        may_choose_tenant=principal.credential == ADMIN_KEY,
    )
