"""Who may decide on an approval, and what an approval was opened with."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

Decision: TypeAlias = Literal["approved", "rejected"]
"""What somebody may decide; each is a handle of the step too."""


class People(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Whoever is named here, and whoever has one of the roles."""

    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    def include(self, user: str, roles: tuple[str, ...]) -> bool:
        """Whether somebody with these roles is one of them."""
        return user in self.users or not set(self.roles).isdisjoint(roles)

    def with_others(self, others: People) -> People:
        """These people, and those too; each once."""
        return People(
            users=tuple(dict.fromkeys((*self.users, *others.users))),
            roles=tuple(dict.fromkeys((*self.roles, *others.roles))),
        )

    def __str__(self) -> str:
        """For messages: `ann, bob or anybody with the role boss`."""
        names = ", ".join(self.users)
        roles = ", ".join(self.roles)
        having = f"anybody with the role {roles}" if roles else ""
        return " or ".join(part for part in (names, having) if part)


class Asking(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, rename="camel"):
    """An approval as it is opened: its templates are worked out once, then."""

    assignees: People
    remind_at: datetime | None = None
    """The first reminder; each names the next."""
    escalate_at: datetime | None = None
    escalate_to: People | None = None
    """Who may decide as well from then on."""
