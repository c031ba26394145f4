"""Reads all that a run left behind, in the plain form that the checker takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime

import msgspec

from tenuto.core.view import state_of
from tenuto.engine.bounds import WITHOUT_THREADS
from tenuto.engine.definitions.plans import Plans
from tenuto.engine.turns.held import Held
from tenuto.engine.turns.loader import Loader
from tenuto.model.durations import epoch_ms, from_epoch_ms, iso
from tenuto.model.events import Event
from tenuto.model.log import LogRow
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.ports import SystemClock
from tenuto.store.parts.dead_letters import DeadLetterRow
from tenuto.store.parts.inbox import PastEvents
from tenuto.store.parts.instances import InstanceQuery, InstanceRow
from tenuto.store.parts.timers import TimerRow
from tenuto.store.protocol import Store
from tenuto.testing.virtual_clock import BEGIN
from tests.kit.checker import Instance, Run
from tests.kit.checker.expression import Json
from tests.kit.checker.record import Fields
from tests.kit.simulator.ears import read
from tests.kit.simulator.ledgers import Ledgers
from tests.kit.simulator.outside import Ear
from tests.kit.simulator.places import Place
from tests.kit.workload import Document

_ALL = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def collect(
    place: Place,
    documents: Mapping[str, Document],
    ledgers: Ledgers,
    *,
    now: datetime,
    ears: Sequence[Ear] = (),
    tenant: str = DEFAULT_TENANT,
    most_descendants: int | None = None,
) -> Run:
    """The run of one tenant as it lies on its disk, also while a process is at work there.

    What is another's is left out: whatever of it this one meets has come from nowhere. Addresses
    outside are judged beside the tenant `default`, whosever they are.
    """
    store = place.reader()
    await store.open("reader", now)
    try:
        reader = _Reader(store, place, documents, tenant)
        await reader.prepare()
        instances = [await reader.instance(row) for row in await reader.rows()]
        others = await reader.others()
        asked = PastEvents(tenant=tenant, since=_EPOCH)
        events = (await store.inbox.past(asked, limit=_ALL)).items
        ears = ears if tenant == DEFAULT_TENANT else ()
        listeners = await read(store, ears, BEGIN)
    finally:
        store.abandon()
    slots = place.slots()
    return Run(
        instances=instances,
        slots=slots.slots,
        slots_freed=slots.freed,
        slot_counts=slots.counts,
        limits=deepcopy(ledgers.limits),
        events=[_event(event) | {"after": ledgers.stored[tenant, event.id]} for _, event in events],
        effects=[deepcopy(each) for each in ledgers.effects if each["instance"] not in others],
        client=[
            deepcopy(each)
            for each in ledgers.client
            if each.get("tenant", DEFAULT_TENANT) == tenant
        ],
        faults=list(ledgers.faults),
        commits=[each for each in ledgers.commits if each["instance"] not in others],
        now=epoch_ms(now),
        owed=[(table, id) for table, id in place.owed() if id not in others],
        listeners=listeners,
        most_descendants=most_descendants,
        heard=deepcopy(ledgers.heard) if ears else [],
    )


class _Reader:
    def __init__(
        self, store: Store, place: Place, documents: Mapping[str, Document], tenant: str
    ) -> None:
        self._store = store
        self._tenant = tenant
        self._documents = documents
        self._owners = place.owners()
        self._keys = place.keys()
        self._mail = place.mail()
        self._letters: list[DeadLetterRow] = []

    async def prepare(self) -> None:
        store = self._store
        self._letters = await store.dead_letters.page(self._tenant, _ALL)
        self._loader = Loader(store, Plans(store, SystemClock(), bounds=WITHOUT_THREADS))

    async def rows(self) -> list[InstanceRow]:
        return await self._rows(self._tenant)

    async def others(self) -> set[str]:
        """The ids of instances that are other tenants'."""
        tenants = [each for each in await self._store.upkeep.tenants() if each != self._tenant]
        return {row.id for each in tenants for row in await self._rows(each)}

    async def _rows(self, tenant: str) -> list[InstanceRow]:
        page = await self._store.instances.page(InstanceQuery(limit=_ALL, tenant=tenant))
        return sorted(page.items, key=lambda row: row.id)

    async def instance(self, row: InstanceRow) -> Instance:
        id = row.id
        history = await self._store.instances.entries(id, limit=_ALL)
        held = (await self._loader.load([id]))[id]
        assert isinstance(held, Held), held
        return Instance(
            id=id,
            document=self._documents[row.definition_id],
            history=[history_item(line) for line in history],
            row={
                "status": row.status.value,
                "output": _decoded(row.output),
                "deadline": None if row.deadline is None else iso(row.deadline),
                "definitionId": row.definition_id,
                "definitionVersion": row.definition_version,
                "currentSteps": list(row.current_steps),
                "key": self._keys.get(id),
            },
            state=state_of(held.plan, held.state),
            waits=[
                {"node": wait.node, "iteration": wait.iteration}
                for wait in await self._store.waits.of(id)
            ],
            timers=[_timer(timer) for timer in await self._store.timers.of([id])],
            mail=[{"id": mail_id} for mail_id, to in self._mail if to == id],
            dead_letters=[
                {
                    "id": letter.id,
                    "kind": letter.kind,
                    "node": letter.node,
                    "iteration": letter.iteration,
                    "attempt": letter.attempt,
                }
                for letter in self._letters
                if letter.instance_id == id
            ],
            deliveries=[
                {
                    "event": each.event_id,
                    "node": each.node,
                    "iteration": each.iteration,
                    "outcome": each.outcome,
                }
                for each in await self._store.inbox.deliveries_to(id)
            ],
            owner=self._owners.get(id),
            tenant=self._tenant,
        )


def history_item(row: LogRow) -> Fields:
    """A line of the log as the history API gives it."""
    return {
        "seq": row.seq,
        "eventType": row.event_type,
        "nodeId": row.node_id,
        "iteration": row.iteration,
        "attempt": row.attempt,
        "nodeStatus": row.node_status,
        "outputVariable": row.output_variable,
        "payload": _decoded(row.payload) or {},
        "errorMessage": row.error_message,
        "at": iso(from_epoch_ms(row.at_ms)),
    }


def _timer(timer: TimerRow) -> Fields:
    return {
        "kind": timer.key.kind.value,
        "node": timer.key.node,
        "iteration": timer.key.iteration,
        "due": iso(timer.due),
    }


def _event(event: Event) -> Fields:
    return {
        "id": event.id,
        "pattern": event.pattern,
        "payload": event.payload,
        "receivedAt": iso(event.received_at),
        "correlationId": event.correlation_id,
    }


def _decoded(value: bytes | None) -> Json:
    return None if value is None else msgspec.json.decode(value)
