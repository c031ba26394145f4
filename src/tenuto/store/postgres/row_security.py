"""Row-level security between tenants: a role that sees the rows of one tenant alone."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from tenuto.model.errors import StoreUnavailable
from tenuto.model.test_run import is_test_run
from tenuto.store.parts.upkeep import RowSecurity
from tenuto.store.postgres.address import identifier
from tenuto.store.postgres.driver import Connection, Row
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Parameters, Statement, statement
from tenuto.store.postgres.rights import Roles, roles_of
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session

log = logging.getLogger(__name__)


class Reader(NamedTuple):
    """The role that reads for tenants, and its state."""

    name: str
    is_there: bool
    is_everywhere: bool
    """Whether every table that needs a policy for it has one."""
    is_held_back: bool
    """Whether the policies apply to it: to an owner or administrator none does."""
    may_be_used: bool
    """Whether this user may act as it."""
    narrows_us: bool
    """Whether its policies apply to this user: one that works for all tenants would see no rows."""
    may_be_lent: bool
    """Whether a user may act as it without inheriting it, as from PostgreSQL 16 on."""

    @property
    def is_ready(self) -> bool:
        return self.is_everywhere and self.is_held_back and self.may_be_used


async def reader_of(session: Session) -> Reader:
    """The reader role; raises StoreUnavailable if its policies apply to this user."""
    [row] = await session.rows("wall", {"schema": session.schema})
    found = Reader(*row)
    if not found.narrows_us:
        return found
    roles = await _roles(session)
    raise StoreUnavailable(
        f"{session.server.shown} shows {roles.user} the rows of one tenant alone, because it "
        f"inherits {found.name}",
        code="TEN-4004",
        advice=f"As an administrator run: {_lent_anew(found, identifier(roles.user))}.",
    )


async def row_security_of(session: Session, reader: Reader) -> RowSecurity:
    """Whether row-level security is in force, and what to run where it is not."""
    if reader.is_ready:
        return RowSecurity(is_up=True)
    roles = await _roles(session)
    name, user = identifier(reader.name), identifier(roles.user)
    if not reader.may_be_used and not roles.is_owner and not reader.may_be_lent:
        return RowSecurity(
            is_up=False,
            advice=f"Connect as the owner of the tables, the role {identifier(roles.owner)}: "
            "before PostgreSQL 16 any other role that may act as the reader is limited by the "
            "reader's policies itself.",
        )
    owner = identifier(roles.owner)
    steps = []
    if not reader.is_there:
        steps.append(f"CREATE ROLE {name} NOLOGIN")
    elif reader.is_everywhere and not reader.is_held_back:
        steps += [f"ALTER ROLE {name} NOSUPERUSER NOBYPASSRLS", f"REVOKE {owner} FROM {name}"]
    if not reader.may_be_used:
        steps.append(_lent(reader, user))
    said = [f"As an administrator run: {'; '.join(steps)}."] if steps else []
    if not reader.is_everywhere:
        # Never as an administrator: the owner of a function decides what it does.
        said.append(f"As the role {owner} run: {_raised(reader, session.schema)}.")
    return RowSecurity(is_up=False, advice=" ".join([*said, "Then start anew."]))


async def _roles(session: Session) -> Roles:
    roles = await roles_of(session)
    assert roles is not None, "there is a schema, or nothing had been found in it"
    return roles


def _lent(reader: Reader, user: str) -> str:
    without = " WITH INHERIT FALSE" if reader.may_be_lent else ""
    return f"GRANT {identifier(reader.name)} TO {user}{without}"


def _lent_anew(reader: Reader, user: str) -> str:
    revoked = f"REVOKE {identifier(reader.name)} FROM {user}"
    return f"{revoked}; {_lent(reader, user)}" if reader.may_be_lent else revoked


class UnguardedReads:
    """Warns once, when there is more than one tenant, that the program alone keeps them apart."""

    def __init__(self, shown: str, security: RowSecurity) -> None:
        self._said = ("%s does not keep tenants apart a second time. %s", shown, security.advice)
        self._first: str | None = None
        self._has_warned = False

    def read_for(self, tenant: str) -> None:
        """Something is read for a tenant."""
        # A test run has an inbox of its own, and is still its tenant's.
        if self._has_warned or is_test_run(tenant):
            return
        if self._first is None:
            self._first = tenant
        elif tenant != self._first:
            self._has_warned = True
            log.warning(*self._said)


class GuardedPool(Pool):
    """Connections that act as the reader role; each remembers the tenant that it reads for."""

    def __init__(self, server: Server, size: int, patience: float, reader: str) -> None:
        super().__init__(server, size, patience)
        self._reader = reader

    def _another(self) -> Session:
        session = _GuardedSession(self._server, self._reader)
        self._all.append(session)
        return session


class TenantPool(Pool):
    """The same connections, while they read for one tenant."""

    def __init__(self, guarded: GuardedPool, tenant: str) -> None:
        self._guarded = guarded
        self._server = guarded._server  # noqa: SLF001 - two sides of one thing
        self._tenant = tenant

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        async with self._guarded.session() as session:
            assert isinstance(session, _GuardedSession)
            session.tenant = self._tenant
            yield session


class _GuardedSession(Session):
    """A connection that reads for one tenant at a time, and tells the server which."""

    def __init__(self, server: Server, reader: str) -> None:
        super().__init__(server)
        self.tenant = ""
        self._reader = reader
        self._said: tuple[Connection, str] | None = None
        """The server connection on which a tenant was set last, and the tenant: it is set once."""

    async def _alone(
        self, connection: Connection, sent: Statement, parameters: Parameters
    ) -> list[Row]:
        reading = {"reader": self._reader, "tenant": self.tenant}
        if self.server.is_pooled:
            await self._command(connection, self._begin)
            await self._send(connection, statement("read_for_once", self.schema), reading)
            found = await self._send(connection, sent, parameters)
            await self._command(connection, "commit")
            return found
        if self._said != (connection, self.tenant):
            self._said = None
            await self._send(connection, statement("read_for", self.schema), reading)
            self._said = (connection, self.tenant)
        return await self._send(connection, sent, parameters)


def _raised(reader: Reader, schema: str) -> str:
    return f"SELECT {identifier(schema)}.raise_wall('{reader.name}')"
