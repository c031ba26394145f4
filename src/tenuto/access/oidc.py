"""Settings of the trusted identity provider."""

from __future__ import annotations

from msgspec import Struct


class OidcSettings(Struct, frozen=True, kw_only=True):
    """Which tokens are accepted, and which of their claims are read.

    A claim inside of others is named with dots: `realm_access.roles`.
    """

    issuer: str
    """The provider's URL, exactly as its tokens have it in `iss`."""
    audience: str
    """What tokens for this service have in `aud`."""
    tenant_claim: str = "tenant"
    role_claims: tuple[str, ...] = ("role", "roles")
    """A role, or a list of them, of which the strongest counts."""
    name_claim: str = "sub"
