"""The same operations on memory and on a database give the same answers, whatever they are."""

# ruff: noqa: ANN401 - answers are only compared

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenuto.model.errors import StoreUnavailable
from tenuto.model.events import Event
from tenuto.model.inputs import TimerKey, TimerKind
from tenuto.model.log import LogRow
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import Status
from tenuto.store.errors import DataRefused
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.inbox import Delivery, DeliveryOutcome
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.turns import (
    InstanceUpdate,
    InstanceWrite,
    MatchWrite,
    Ownership,
    Searchable,
    Snapshot,
    Turn,
)
from tenuto.store.parts.waits import LookedBack, WaitKey, WaitRow
from tenuto.store.protocol import Store
from tenuto.store.sqlite import Inline, SqliteStore
from tests.kit.breadth import breadth
from tests.kit.postgres_database import fresh_database
from tests.store.postgres_place import TestedStore
from tests.store.situations import (
    NOON,
    dead_letter,
    entry,
    event,
    inbox,
    mail,
    moment,
    new_instance,
    node_entry,
    timer,
    update,
    wait,
)

LAST_SEED = breadth(12, 60)
IDS = [f"i{number}" for number in range(12)]
NODES = ["a", "b"]
TENANTS = ["default", "other"]
PATTERNS = ["order.paid", "order.shipped", "order.*"]
KEYS = [None, None, "k1", "k2", "k3"]
OUTCOMES: list[DeliveryOutcome] = ["matched", "resumed", "discarded", "cancelled", "refused"]
ARMS = ["", "one", "two"]

OPERATIONS = 150
"""In each of the runs below: thousands in all."""


class Scenario:
    """Random operations that follow from a seed, applied to memory and a database at once."""

    def __init__(self, seed: int, database: Store) -> None:
        self.random = random.Random(seed)
        self.memory = MemoryStore()
        self.database = database
        self.processes = 0
        self.turns = 0
        self.turns_to_resend: list[Turn] = []
        self.settled: set[tuple[str, str, str, str]] = set()
        """The deliveries that the present turn settles: no turn settles one twice."""
        self.versions = dict.fromkeys(IDS, 0)
        choose = self.random.choice
        self.births: dict[str, dict[str, Any]] = {
            id: {
                "tenant": choose(TENANTS),
                "definition_id": choose(["d1", "d2"]),
                "created_at": moment(self.random.randint(0, 5)),
            }
            for id in IDS
        }
        """What never changes of an instance, whoever makes it."""

    def leave(self) -> None:
        self.memory.abandon()
        self.database.abandon()

    async def both(self, verb: Callable[[Store], Awaitable[Any]]) -> Any:
        answers = [await self._answer(verb, store) for store in (self.memory, self.database)]
        assert answers[0] == answers[1]
        return answers[0]

    async def _answer(self, verb: Callable[[Store], Awaitable[Any]], store: Store) -> Any:
        try:
            return await verb(store)
        except (DataRefused, StoreUnavailable) as error:
            return type(error).__name__

    async def start(self) -> None:
        # A turn is sent again by the process that made it, and by no other.
        self.turns_to_resend = []
        self.processes += 1
        name = f"p{self.processes}"
        await self.both(lambda store: store.open(name, NOON))

    async def restart(self) -> None:
        match self.random.choice(["clean", "unclean", "crash"]):
            case "crash":
                self.leave()
            case how:
                await self.both(lambda store: store.close(NOON, clean=how == "clean"))
        await self.start()

    def some(self, make: Callable[[], Any], most: int = 2) -> tuple[Any, ...]:
        if self.random.random() < 0.6:
            return ()
        return tuple(make() for _ in range(self.random.randint(1, most)))

    def rows(self, version: int) -> tuple[LogRow, ...]:
        return tuple(
            node_entry(
                seq,
                self.random.choice(["NODE_COMPLETED", "NODE_DISPATCHED"]),
                self.random.choice(NODES),
                attempt=self.random.randint(1, 40),
            )
            if self.random.random() < 0.5
            else entry(seq, error_message=self._text(is_first=seq == version + 1))
            for seq in range(version + 1, version + self.random.randint(2, 4))
        )

    def _text(self, *, is_first: bool) -> str | None:
        # Whether a loser's first row is looked at before it loses is left open.
        return self.random.choice([None, "x" if is_first else "\ud800", *["x"] * 40])

    def an_id(self) -> str:
        return self.random.choice(IDS)

    def wait_key(self, id: str) -> WaitKey:
        return WaitKey(id, self.random.choice(NODES), "")

    def write(self, id: str) -> InstanceWrite:
        choose = self.random.choice
        version = self.versions[id]
        stale = self.random.random() < 0.15
        if stale:
            version = max(0, version + choose([-2, -1, 1]))
        rows = self.rows(version) if self.random.random() < 0.85 else ()
        create = None
        if version == 0 and rows:
            create = new_instance(
                **self.births[id],
                key=choose(KEYS),
                content_hash=choose([b"1", b"2"]),
                correlation_id=choose([None, "c1"]),
                current_steps=tuple(self.random.sample(NODES, 1)),
            )
        searchable = choose([None, self.a_searchable(id)])
        return InstanceWrite(
            instance_id=id,
            version=version,
            rows=rows,
            create=create,
            update=choose([None, None, self.an_update()]),
            # Of what does not exist yet there are no terms.
            searchable=searchable if version or create else None,
            snapshot=choose([None, None, Snapshot(version=version, state=b"%d" % version)]),
            timers_set=self.some(lambda: timer(id, self.random.randint(0, 9), choose(NODES))),
            timers_cleared=self.some(lambda: TimerKey(TimerKind.DELAY, choose(NODES))),
            waits_opened=self.some(lambda: self.a_wait(id)),
            waits_closed=self.some(lambda: self.wait_key(id)),
            deliveries=self.some(lambda: self.a_delivery(id)),
            mail_taken=self.some(lambda: f"m{self.random.randint(0, 9)}"),
            mail_sent=self.some(self.a_mail),
            dead_letters=self.some(
                lambda: dead_letter(
                    f"d{self.random.randint(0, 9)}",
                    id,
                    kind=choose(["task-failed", "compensation-failed"]),
                    at=moment(self.random.randint(0, 3)),
                )
            ),
            dead_letters_dropped=self.some(lambda: (choose(NODES), "")),
            events=self.some(lambda: self.an_event(f"{id}:{choose(NODES)}")) if rows else (),
            ownership=choose(list(Ownership)),
        )

    def a_searchable(self, id: str) -> Searchable:
        names = self.random.sample(["x", "y", "z"], self.random.randint(0, 3))
        terms = tuple(SearchTerm(name, self.random.choice(["1", "2"])) for name in names)
        marks = tuple(SearchTerm(f"@{name}", "") for name in names if name != "z")
        return Searchable(**self.births[id], terms=terms, marks=marks)

    def an_update(self) -> InstanceUpdate:
        return update(
            status=self.random.choice(list(Status)),
            current_steps=tuple(self.random.sample(NODES, self.random.randint(0, 2))),
            output=self.random.choice([None, b"1"]),
        )

    def a_wait(self, id: str) -> WaitRow:
        pattern = self.random.choice(PATTERNS)
        return wait(
            id,
            self.random.choice(NODES),
            tenant=self.random.choice(TENANTS),
            pattern=pattern,
            is_wildcard="*" in pattern,
            term_paths=self.random.choice(["", "p"]),
            term_values=self.random.choice(["", "1"]),
            looked_back=self.random.random() < 0.5,
            arm=self.random.choice(ARMS),
            position=self.random.randint(0, 2),
        )

    def a_delivery(self, id: str) -> Delivery:
        event_id = f"e{self.random.randint(0, 9)}"
        node, outcome = self.random.choice(NODES), self.random.choice(OUTCOMES)
        arm, reason = self.random.choice(ARMS), self.random.choice([None, "because"])
        key = (id, node, arm, event_id)
        if key in self.settled:
            outcome = "matched"
        elif outcome != "matched":
            self.settled.add(key)
        return Delivery(event_id, id, node, "", outcome, arm, reason)

    def a_mail(self) -> Mail:
        return mail(f"m{self.random.randint(0, 9)}", self.an_id())

    def an_event(self, id: str) -> Event:
        return event(
            id,
            pattern=self.random.choice(PATTERNS[:2]),
            payload=self.random.choice([1, 2]),
            received_at=moment(self.random.randint(0, 5)),
            chain=self.random.randint(0, 2),
        )

    def a_match(self, stored: list[str]) -> MatchWrite:
        # Who stores an event hears what is known of it, and matches it in a later turn.
        return MatchWrite(
            event_id=self.random.choice([f"e{n}" for n in range(10) if f"e{n}" not in stored]),
            mail=self.some(self.a_mail),
            deliveries=self.some(lambda: self.a_delivery(self.an_id())),
            resumed=self.random.randint(0, 3),
            cancelled=self.random.randint(0, 3),
            started=self.random.randint(0, 3),
            matched_at=NOON,
            is_done=self.random.random() < 0.8,
        )

    async def commit(self) -> None:
        if self.turns_to_resend and self.random.random() < 0.1:
            turn = self.random.choice(self.turns_to_resend[-5:])
        else:
            self.settled.clear()
            ids = sorted(self.random.sample(IDS, self.random.randint(0, 6)))
            event_ids = [f"e{number}" for number in self.random.sample(range(10), 2)]
            if self.random.random() < 0.6:
                event_ids = []
            turn = Turn(
                id=f"t{self.turns}",
                process_id=f"p{self.processes}",
                at=NOON,
                writes=tuple(self.write(id) for id in ids),
                events=tuple(self.an_event(id) for id in event_ids),
                matches=self.some(lambda: self.a_match(event_ids)),
                looked_back=self.some(
                    lambda: LookedBack(*self.wait_key(self.an_id())[:3], self.random.randint(1, 2))
                ),
            )
            self.turns += 1
            self.turns_to_resend.append(turn)
        await self.both(lambda store: store.turns.commit(turn))
        for id in IDS:
            self.versions[id] = len(await self.memory.instances.entries(id))

    async def act(self) -> None:
        action = self.random.choices(
            [self.commit, self.send, self.claim, self.define, self.restart, self.page],
            weights=[60, 10, 10, 5, 5, 10],
        )[0]
        await action()

    async def send(self) -> None:
        sent = self.some(self.a_mail, most=5)
        await self.both(lambda store: store.mailbox.send(sent))

    async def claim(self) -> None:
        limit = self.random.randint(0, 5)
        await self.both(lambda store: store.members.claim_orphans(limit))

    async def define(self) -> None:
        content = self.random.choice([b"1", b"2"])
        triggers = [
            wait(
                "",
                "d1",
                iteration="default",
                arm=str(number),
                position=number,
                pattern=self.random.choice(PATTERNS[:2]),
                looked_back=True,
            )
            for number in range(self.random.randint(0, 2))
        ]
        await self.both(
            lambda store: store.definitions.save(
                "default", "d1", content, content, NOON, triggers=triggers
            )
        )
        await self.both(lambda store: store.waits.of(""))

    async def page(self) -> None:
        choose = self.random.choice
        query = InstanceQuery(
            statuses=choose([(), (Status.RUNNING,), (Status.RUNNING, Status.FAILED)]),
            definition_id=choose([None, "d1"]),
            correlation_id=choose([None, None, "c1"]),
            current_step=choose([None, None, "a"]),
            ids=choose([(), (), ("i1", "i2", "i3")]),
            created_from=choose([None, moment(2)]),
            created_before=choose([None, moment(4)]),
            tenant=choose(TENANTS),
            limit=choose([1, 2, 100]),
        )
        if query.definition_id is not None:
            terms = choose(
                [(), (SearchTerm("x", "1"),), (SearchTerm("y", "2"), SearchTerm("x", "1"))]
            )
            query = msgspec.structs.replace(query, terms=terms)
        page = await self.both(lambda store: store.instances.page(query))
        if page.next_after is not None:
            following = msgspec.structs.replace(query, after=page.next_after)
            await self.both(lambda store: store.instances.page(following))
        # Of any definition.
        marked = InstanceQuery(
            mark=SearchTerm(choose(["@x", "@y"]), ""),
            statuses=query.statuses,
            tenant=query.tenant,
            limit=query.limit,
        )
        await self.both(lambda store: store.instances.page(marked))

    async def compare(self) -> None:
        """Every verb that reads."""
        await self.both(lambda store: store.turns.load(IDS))
        await self.both(lambda store: store.timers.due(moment(4), 5))
        await self.both(lambda store: store.mailbox.claim(100))
        await self.both(lambda store: store.waits.unlooked(100))
        await self.both(lambda store: store.inbox.unmatched(100))
        await self.both(lambda store: store.definitions.get("default", "d1"))
        for pattern in (None, "order.paid"):
            latest = partial(_latest_events, pattern=pattern)
            await self.both(latest)
        await self.both(lambda store: _inbox(store, None))
        await self.both(lambda store: _inbox(store, "order.paid"))
        for id in IDS:
            await self.compare_instance(id)
        for tenant in TENANTS:
            await self.compare_tenant(tenant)

    async def compare_instance(self, id: str) -> None:
        await self.both(lambda store: store.instances.entries(id))
        await self.both(lambda store: store.waits.of(id))
        await self.both(lambda store: store.inbox.deliveries_to(id))
        event_id = f"e{IDS.index(id)}"
        await self.both(lambda store: store.inbox.deliveries_of("default", event_id))
        await self.both(lambda store: _event(store, event_id))

    async def compare_tenant(self, tenant: str) -> None:
        await self.both(lambda store: store.dead_letters.page(tenant))
        for pattern in PATTERNS:
            await self.both(partial(_found_waits, tenant=tenant, pattern=pattern))


async def _found_waits(store: Store, *, tenant: str, pattern: str) -> list[Any]:
    terms = await store.waits.terms(tenant, pattern)
    wanted = [term._replace(term_values=value) for term in terms for value in ("", "1")]
    after = WaitKey("i1", "a", "", "one")
    near = await store.waits.near(tenant, terms, limit=2)
    return [terms, await store.waits.matching(tenant, wanted, limit=3, after=after), near]


async def _latest_events(store: Store, *, pattern: str | None) -> list[Any]:
    return [each[1:] for each in await store.inbox.latest("default", pattern, moment(1), limit=3)]


async def _event(store: Store, id: str) -> Any:
    found = await store.inbox.get("default", id)
    return None if found is None else found[1:]


async def _inbox(store: Store, pattern: str | None) -> list[Any]:
    return [each for _, each in await inbox(store, pattern, moment(1), limit=2)]


@pytest.mark.parametrize("seed", range(breadth(8, 20)))
@pytest.mark.asyncio
async def test_memory_and_sqlite_agree(seed: int, tmp_path: Path) -> None:
    await compare_on(Scenario(seed, SqliteStore(tmp_path / "tenuto.db", threads=Inline)))


@pytest.mark.parametrize(
    "seed", [20, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(21, LAST_SEED))]
)
@pytest.mark.asyncio
async def test_memory_and_postgres_agree(seed: int) -> None:
    """I47: "SQLite, Postgres and oracle logs equal"."""
    await compare_on(Scenario(seed, TestedStore(await fresh_database(), [])))


async def compare_on(scenario: Scenario, operations: int = OPERATIONS) -> None:
    await scenario.start()
    for number in range(operations):
        await scenario.act()
        if number % 10 == 9:
            await scenario.compare()
    scenario.leave()
