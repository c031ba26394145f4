"""Who asks: known by a credential alone, never by what a request says of itself."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from tenuto.access.permissions import Permission, within_scopes
from tenuto.access.roles import ROLE_PERMISSIONS, Role
from tenuto.model.errors import Forbidden

PrincipalKind: TypeAlias = Literal["local", "key", "jwt", "system", "worker", "callback"]


class Principal(Struct, frozen=True, kw_only=True):
    """Somebody, in one tenant."""

    tenant: str
    name: str
    """As whom they are recorded."""
    role: Role
    scopes: frozenset[str] | None = None
    """What they may do of what their role may; None: all of it."""
    kind: PrincipalKind
    """How they are known."""

    def may(self, permission: Permission) -> bool:
        """Whether the role has it, and the scopes, where there are any, leave it."""
        if permission not in ROLE_PERMISSIONS[self.role]:
            return False
        return self.scopes is None or within_scopes(permission, self.scopes)


LOCAL = Principal(tenant="default", name="local", role=Role.ADMIN, kind="local")
"""Whoever asks where no credential is needed: somebody on this machine."""


def refuse_unless(principal: Principal, permission: Permission) -> None:
    """Forbidden, naming what is missing, where the principal may not."""
    if principal.may(permission):
        return
    raise Forbidden(
        f"{principal.role} {principal.name!r} lacks the permission {permission.value}",
        code="TEN-5013",
        advice="Use a credential with that permission, or ask an admin of the tenant for one.",
    )
