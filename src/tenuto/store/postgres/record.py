"""The parts of a store over one database."""

from __future__ import annotations

from tenuto.store.cold.record import cold_parts
from tenuto.store.cold.stats import StatsRecords
from tenuto.store.postgres.audit import PostgresAudit
from tenuto.store.postgres.database import Database
from tenuto.store.postgres.dead_letters import PostgresDeadLetters
from tenuto.store.postgres.definitions import PostgresDefinitions
from tenuto.store.postgres.inbox import PostgresInbox
from tenuto.store.postgres.instances import PostgresInstances
from tenuto.store.postgres.jobs import PostgresJobs
from tenuto.store.postgres.listeners import PostgresListeners
from tenuto.store.postgres.mailbox import PostgresMailbox
from tenuto.store.postgres.members import PostgresMembers
from tenuto.store.postgres.outbox import PostgresOutbox
from tenuto.store.postgres.row_port import PostgresRowPort
from tenuto.store.postgres.timers import PostgresTimers
from tenuto.store.postgres.turns import PostgresTurns
from tenuto.store.postgres.upkeep import PostgresUpkeep
from tenuto.store.postgres.waits import PostgresWaits
from tenuto.store.protocol import Parts


class PostgresParts(Parts):
    """A record of parts: of a store, or of what one tenant sees of it."""

    def __init__(self, database: Database) -> None:
        port = PostgresRowPort(database)
        members = PostgresMembers(database)
        super().__init__(
            members=members,
            turns=PostgresTurns(database),
            instances=PostgresInstances(database),
            definitions=PostgresDefinitions(database),
            waits=PostgresWaits(database),
            inbox=PostgresInbox(database),
            timers=PostgresTimers(database),
            mailbox=PostgresMailbox(database, members.hint),
            jobs=PostgresJobs(database),
            dead_letters=PostgresDeadLetters(database),
            listeners=PostgresListeners(database),
            outbox=PostgresOutbox(database),
            stats=StatsRecords(port),
            upkeep=PostgresUpkeep(database),
            **(cold_parts(port) | {"audit": PostgresAudit(port)}),
        )
