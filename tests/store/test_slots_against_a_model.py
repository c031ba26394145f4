"""Admission against a plain model of it: what is held, and in which order it was granted.

H6 (dbos-transact-py #211 #696 #727), "Global / per-worker / per-partition concurrency and rate
limits computed on a stale or wrong set": limits, processes and keys. I32, I34: the order is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec
import pytest

from tenuto.store.parts.slot_rows import (
    PROMOTED,
    SERVICE,
    USUAL,
    WOKEN,
    KnownRoom,
    SlotKey,
    SlotRow,
)
from tenuto.store.protocol import Store
from tests.kit.breadth import breadth
from tests.store.conftest import Place
from tests.store.situations import NOON, begin, moment, step, turn
from tests.store.test_slots import asked, limit

pytestmark = pytest.mark.asyncio

SEEDS = breadth(1, 200)
STEPS = 60


@dataclass
class Model:
    """What admission promises, row by row: no parking, no counts, no pages."""

    service: dict[str, Any] = field(default_factory=dict)
    waiting: dict[str, SlotRow] = field(default_factory=dict)
    held: dict[str, SlotRow] = field(default_factory=dict)
    on_hold: dict[str, SlotRow] = field(default_factory=dict)

    def admit(self) -> None:
        """In their order, each that fits under every limit."""
        for row in sorted(self.waiting.values(), key=_place):
            if all(self._taken(key) < self.limit_of(key, row) for key in row.keys):
                self.held[row.instance_id] = self.waiting.pop(row.instance_id)

    def _taken(self, key: str) -> int:
        return sum(key in row.keys for row in self.held.values())

    def limit_of(self, key: str, row: SlotRow) -> float:
        if key == row.own_key:
            return row.own_limit
        if key == "global":
            return float(self.service.get("globalMaxConcurrent", math.inf))
        if key.startswith("tenant:"):
            return float(self.service.get("tenantLimits", {}).get("*", math.inf))
        return math.inf


def _place(row: SlotRow) -> tuple[object, ...]:
    return row.rank_class, row.rank, row.slot_key


async def test_admission_grants_what_its_model_grants(shared_place: Place) -> None:
    stores = [await shared_place.opened(name, shared=True) for name in ("p1", "p2")]
    for seed in range(SEEDS):
        await _Play(seed, stores).run()


class _Play:
    """Random requests, releases, cancels, promotions and limits, by two processes."""

    def __init__(self, seed: int, stores: list[Store]) -> None:
        self._seed = seed
        self._random = Random(f"slots {seed}")
        self._stores = stores
        self._model = Model()
        self._versions: dict[str, int] = {}
        self._number = 0

    async def run(self) -> None:
        for number in range(STEPS):
            act = self._random.choice(
                (
                    *(self._ask, self._ask, self._ask, self._release, self._withdraw),
                    *(self._change, self._promote, self._hold, self._let_go),
                )
            )
            await act()
            await self._admit(f"seed {self._seed}, step {number}, {act.__name__}")
        await self._set({})
        while self._model.held or self._model.waiting or self._model.on_hold:
            await self._let_go()
            await self._release()
            await self._admit("the end")
        assert await self._stores[0].slots.counts(["global", "tenant:default"]) == {}

    async def _admit(self, when: str) -> None:
        store = self._random.choice(self._stores)
        while not (await store.slots.admit(NOON, most=self._random.choice((1, 3, 500)))).is_done:
            pass
        self._model.admit()
        held = {slot.instance_id for slot in await store.slots.held("default")}
        assert held == set(self._model.held), when
        waiting = {slot.instance_id for slot in await store.slots.waiting("default")}
        assert waiting == {*self._model.waiting, *self._model.on_hold}, when

    async def _ask(self) -> None:
        random = self._random
        self._number += 1
        row = asked(
            f"s{self._seed}-{self._number:03}",
            at=self._number,
            rank=int(moment(self._number).timestamp() * 1000),
            limit=random.choice((0, 1, 2)),
            key=random.choice("xy"),
            rank_class=random.choice((WOKEN, USUAL, USUAL, USUAL)),
        )
        if row.own_key is not None:
            # All that have a key have the same limit.
            row = msgspec.structs.replace(row, own_limit=1 if row.own_key.endswith("x") else 2)
        room = None
        if random.random() < 0.5:
            row, room = await self._parked(row)
        await self._commit(
            msgspec.structs.replace(begin(row.instance_id, tenant="default"), slots_asked=(row,)),
            room,
        )
        self._model.waiting[row.instance_id] = row
        self._versions[row.instance_id] = 1

    async def _parked(self, row: SlotRow) -> tuple[SlotRow, KnownRoom]:
        """A request that is parked on one of its limits, which may have room."""
        limits = {key: self._model.limit_of(key, row) for key in row.keys}
        known = {key: int(most) for key, most in limits.items() if most < math.inf}
        changes = (await self._stores[0].slots.mark()).changes - self._random.choice((0, 0, 1))
        key = self._random.choice(sorted(known) or row.keys)
        return msgspec.structs.replace(row, blocked_on=key), KnownRoom(changes, {}, known)

    async def _release(self) -> None:
        await self._give_up(self._model.held)

    async def _withdraw(self) -> None:
        await self._give_up(self._model.waiting)

    async def _give_up(self, rows: dict[str, SlotRow]) -> None:
        if rows:
            id = self._random.choice(sorted(rows))
            del rows[id]
            await self._commit(step(id, self._versions[id], slots_released=(SlotKey(id),)))
            self._versions[id] += 1

    async def _promote(self) -> None:
        if self._model.waiting:
            id = self._random.choice(sorted(self._model.waiting))
            at = moment(1_000 + self._number)
            done = await self._random.choice(self._stores).slots.promote("default", id, at)
            row = self._model.waiting[id]
            assert done == (row.rank_class != WOKEN)
            if done:
                rank = int(at.timestamp() * 1000)
                self._model.waiting[id] = msgspec.structs.replace(
                    row, rank_class=PROMOTED, rank=rank
                )

    async def _hold(self) -> None:
        if self._model.waiting:
            id = self._random.choice(sorted(self._model.waiting))
            assert await self._random.choice(self._stores).slots.hold("default", id)
            self._model.on_hold[id] = self._model.waiting.pop(id)

    async def _let_go(self) -> None:
        if self._model.on_hold:
            id = self._random.choice(sorted(self._model.on_hold))
            assert await self._random.choice(self._stores).slots.let_go("default", id)
            self._model.waiting[id] = self._model.on_hold.pop(id)

    async def _change(self) -> None:
        config: dict[str, Any] = {}
        if self._random.random() < 0.6:
            config["globalMaxConcurrent"] = self._random.choice((0, 1, 2, 4))
        if self._random.random() < 0.4:
            config["tenantLimits"] = {"*": self._random.choice((1, 2, 3))}
        await self._set(config)

    async def _set(self, config: dict[str, Any]) -> None:
        store = self._stores[0]
        [version] = [row.version for row in await store.slots.configs() if row.tenant == SERVICE]
        await limit(store, version=version + 1, **config)
        self._model.service = config

    async def _commit(self, write: Any, room: KnownRoom | None = None) -> None:  # noqa: ANN401
        """Some turns grant what they give back, where a store has one writer."""
        number = self._random.randrange(2)
        made = turn(f"t{self._seed}-{self._random.random()}", write, process_id=f"p{number + 1}")
        admits = self._random.random() < 0.5
        await self._stores[number].turns.commit(
            msgspec.structs.replace(made, slots=room, admits=admits)
        )
