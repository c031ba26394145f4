"""The database as the parts of a store share it: its connections, and the process that uses them.

Each lane has a connection of its own, so that turns of two lanes are committed at once. Heartbeats
have one too, so that a process is never presumed dead because something else is slow. Everything
else takes a connection from a small pool.
"""

from __future__ import annotations

from tenuto.model.errors import StoreUnavailable
from tenuto.store.parts.mailbox import MailKey
from tenuto.store.postgres.address import Address
from tenuto.store.postgres.hint_listener import HintListener
from tenuto.store.postgres.pool import Pool
from tenuto.store.postgres.queries import Column
from tenuto.store.postgres.rhythm import Rhythm
from tenuto.store.postgres.row_security import GuardedPool, TenantPool
from tenuto.store.postgres.server import Server
from tenuto.store.postgres.session import Session


class Database:
    """Connections to one schema, from `start` to `abandon`."""

    heartbeat: Session
    lanes: list[Session]
    pool: Pool
    reads: Pool
    """Connections for tenants, without row-level security: never the last one of the pool, so that
    requests do not hold up the engine."""
    listener: HintListener

    def __init__(
        self,
        address: Address,
        listen_address: Address,
        rhythm: Rhythm,
        *,
        lanes: int,
        connections: int,
        patience: float,
    ) -> None:
        self.address = address
        self.rhythm = rhythm
        self.may_write = True
        self.is_guest = False
        self.process_id: str | None = None
        """None while the store is not open."""
        self.passing_over: dict[str, Column] = {"passed_over": [], "only_own": False}
        """Parameters of the statements that claim something: instances left to other processes."""
        self.messages_passed_over: list[MailKey] = []
        self.guarded: GuardedPool | None = None
        """Connections that see one tenant's rows at a time; None without row-level security."""
        self._listen_address = listen_address
        self._lanes = lanes
        self.most_connections = connections
        self._patience = patience

    @property
    def connections(self) -> Pool:
        """The pool of an open store."""
        self.require_open()
        return self.pool

    @property
    def statements(self) -> int:
        """How many statements were sent since the start."""
        self.require_open()
        return sum(each.statements for each in self._all)

    def require_open(self) -> str:
        """The id of this process; StoreUnavailable where the store is not open."""
        if self.process_id is None:
            raise StoreUnavailable(f"the store {self.address.shown} is not open")
        return self.process_id

    def require_writer(self) -> str:
        """The id of this process; StoreUnavailable also where it only reads."""
        if not self.may_write:
            raise StoreUnavailable(
                f"the store {self.address.shown} was opened for reading",
                code="TEN-4004",
                advice="Ask an engine that has it open: a reader can only send mail.",
            )
        return self.require_open()

    def start(self, process_id: str) -> None:
        """Make ready; connections are opened when they are first used."""
        server = Server(self.address)
        is_apart = self._listen_address is not self.address
        self.heartbeat = Session(server)
        self.lanes = [Session(server) for _ in range(self._lanes)]
        self.pool = Pool(server, self.most_connections, self._patience)
        self.reads = self.pool.part(max(self.most_connections - 1, 1))
        self.guarded = None
        self.listener = HintListener(
            Server(self._listen_address) if is_apart else server,
            self.address.schema,
            lambda: self.process_id,
            is_apart=is_apart,
        )
        self.process_id = process_id

    def guard(self, reader: str) -> None:
        """Have tenants' reads go through connections that act as the role `reader`."""
        server = self.heartbeat.server
        self.guarded = GuardedPool(server, self.most_connections, self._patience, reader)

    async def close(self) -> None:
        """Close all connections in good order."""
        for each in self._all:
            await each.close()

    def abandon(self) -> None:
        """Close all sockets without a goodbye message."""
        if self.process_id is None:
            return
        self.process_id = None
        self.listener.abandon()
        for each in self._all:
            each.abandon()

    @property
    def _all(self) -> list[Session | Pool]:
        pools = [self.pool] if self.guarded is None else [self.pool, self.guarded]
        return [self.heartbeat, *self.lanes, *pools]


class TenantDatabase(Database):
    """The same database for reads of one tenant, through connections that see no other's rows.

    Without row-level security it has a part of the common ones.
    """

    def __init__(self, whole: Database, guarded: GuardedPool | None, tenant: str) -> None:
        self.address = whole.address
        self._whole = whole
        self._tenant_pool = None if guarded is None else TenantPool(guarded, tenant)

    @property
    def connections(self) -> Pool:
        self._whole.require_open()
        return self._whole.reads if self._tenant_pool is None else self._tenant_pool

    def require_writer(self) -> str:
        return self._whole.require_writer()
