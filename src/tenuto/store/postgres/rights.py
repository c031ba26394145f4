"""Privileges in a schema, and the grants that are missing."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.model.errors import StoreUnavailable
from tenuto.store.postgres.address import identifier
from tenuto.store.postgres.faults import DENIED, first_line, sqlstate
from tenuto.store.postgres.grants import grants_for_work
from tenuto.store.postgres.session import Session


class Roles(NamedTuple):
    """The owner of the tables, or of the schema if there are none; and the connection's role."""

    owner: str
    user: str
    is_owner: bool
    """Whether the user has the owner's rights."""


def is_denied(error: StoreUnavailable) -> bool:
    """Whether the error is a missing privilege."""
    return error.__cause__ is not None and sqlstate(error.__cause__) == DENIED


async def roles_of(session: Session) -> Roles | None:
    """None when there is no such schema."""
    found = await session.rows("roles", {"schema": session.schema})
    return Roles(*found[0]) if found else None


def as_owner(roles: Roles | None) -> str:
    """The command that brings the schema up to date."""
    if roles is None or roles.is_owner:
        return "Run `tenuto migrate`, or start the engine once."
    return (
        f"Run `tenuto migrate` as the owner of its tables, the role {identifier(roles.owner)}; "
        f"{identifier(roles.user)} may not change them."
    )


async def denied(
    session: Session, error: StoreUnavailable, version: int | None
) -> StoreUnavailable | None:
    """A refusal that says what helps in a schema that is of that `version`, if it is known.

    None where there is no schema: then `error` says all there is to say.
    """
    roles = await roles_of(session)
    if roles is None:
        return None
    owner, user = identifier(roles.owner), identifier(roles.user)
    said = first_line(error.__cause__)
    if version:
        return StoreUnavailable(
            f"{session.server.shown} has an older schema ({version}), and {roles.user} may not "
            f"bring it up to date ({said})",
            code="TEN-4005",
            advice=as_owner(roles._replace(is_owner=False)),
        )
    if version == 0:
        return StoreUnavailable(
            f"{session.server.shown} does not let {roles.user} make tables in the schema "
            f"{session.schema} ({said})",
            code="TEN-4004",
            advice=f"As the role {owner} run: GRANT USAGE, CREATE ON SCHEMA "
            f"{identifier(session.schema)} TO {user}; or run `tenuto migrate` as {owner}.",
        )
    return StoreUnavailable(
        f"{session.server.shown} does not let {roles.user} into the schema {session.schema}, "
        f"which belongs to {roles.owner} ({said})",
        code="TEN-4004",
        advice=f"As the role {owner} run: {grants_for_work(session.schema, user)}.",
    )
