"""The principal of a request: from its credential alone, never from its content."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from tenuto.access.permissions import Permission, within_scopes
from tenuto.access.roles import ROLE_PERMISSIONS, Role
from tenuto.model.errors import Forbidden

PrincipalKind: TypeAlias = Literal["local", "key", "jwt", "system", "worker", "callback"]


class Principal(Struct, frozen=True, kw_only=True):
    """A user, key or service, in one tenant."""

    tenant: str
    name: str
    """The actor in the audit log."""
    role: Role
    scopes: frozenset[str] | None = None
    """The part of the role's permissions that it has; None: all of them."""
    kind: PrincipalKind
    """How it was authenticated."""

    def may(self, permission: Permission) -> bool:
        """Whether the role has the permission, and the scopes, if any, include it."""
        if permission not in ROLE_PERMISSIONS[self.role]:
            return False
        return self.scopes is None or within_scopes(permission, self.scopes)


LOCAL = Principal(tenant="default", name="local", role=Role.ADMIN, kind="local")
"""The principal where no credential is needed: a user of this machine."""


def refuse_unless(principal: Principal, permission: Permission) -> None:
    """Forbidden, naming the permission, where the principal lacks it."""
    if principal.may(permission):
        return
    raise Forbidden(
        f"{principal.role} {principal.name!r} lacks the permission {permission.value}",
        code="TEN-5013",
        advice="Use a credential with that permission, or ask an admin of the tenant for one.",
    )
