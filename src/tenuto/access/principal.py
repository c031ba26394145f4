"""The principal of a request: from its credential alone, never from its content."""

from __future__ import annotations

from datetime import datetime
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
    """For people: two principals may have the same. It identifies and permits nothing."""
    credential: str = ""
    """Identifies it: `key:<id>`, or `<issuer>|<subject>`; empty where there is no credential."""
    role: Role
    scopes: frozenset[str] | None = None
    """The part of the role's permissions that it has; None: all of them."""
    kind: PrincipalKind
    """How it was authenticated."""
    expires_at: datetime | None = None
    """When its credential expires, and with it what was made by it."""

    @property
    def identity(self) -> str:
        """What logs, approvals and new keys name it by: its credential; else its name.

        A principal without a credential is a user of this machine, who is trusted.
        """
        return self.credential or self.name

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
