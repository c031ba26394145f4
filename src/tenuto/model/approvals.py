"""Who may decide on an approval, and what an approval was opened with."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct

Decision: TypeAlias = Literal["approved", "rejected"]
"""The possible decisions; each is also a handle of the step."""


_KEY = "key:"


class People(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The people who may decide: by what identifies them, or by one of the roles."""

    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    def include(self, user: str, roles: tuple[str, ...]) -> bool:
        """Whether a person, who has these roles, may decide."""
        is_named = user in self.users or _subject(user) in self.users
        return is_named or not set(self.roles).isdisjoint(roles)

    def marks(self) -> tuple[str, ...]:
        """Each person and role as one text: a user and a role of the same name differ."""
        return (*map(mark_of_user, self.users), *map(mark_of_role, self.roles))

    def with_others(self, others: People) -> People:
        """Both groups together, each name and role once."""
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
    reminders: tuple[datetime, ...] = ()
    """The reminders after it, where one of them is in working time."""
    escalate_at: datetime | None = None
    escalate_to: People | None = None
    """The people who may also decide from then on."""


def mark_of_user(user: str) -> str:
    """A user, as the index of open approvals names those who may decide."""
    return f"user:{user}"


def mark_of_role(role: str) -> str:
    """A role, as the index of open approvals names it."""
    return f"role:{role}"


def marks_for(user: str, roles: tuple[str, ...]) -> tuple[str, ...]:
    """The marks of all approvals on which a person may decide (`People.include`)."""
    subject = _subject(user)
    names = (user,) if subject is None else (user, subject)
    return (*map(mark_of_user, names), *map(mark_of_role, roles))


def _subject(user: str) -> str | None:
    """The subject of a user of the identity provider, `<issuer>|<subject>`: there is one provider.

    A subject that looks like a key does not stand for that key.
    """
    issuer, _, subject = user.partition("|")
    return subject if "://" in issuer and subject and not subject.startswith(_KEY) else None
