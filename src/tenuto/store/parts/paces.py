"""Starts that become one (`debounce`) and rates of starts: scripts of a pass of admission.

A debounced request is `settling` until its time has come. Those of one key are one group, of which
the newest stays; the group is a row of `paces` with the moment at which it begins. Requests that
came before that moment are collapsed, however late a pass looks: the moments of the requests
decide, and no clock of a pass.

A rate has a row of `paces` with the moments at which its instances began. A request beyond it is
parked on its key, and `next_at` is when the next one may begin. At most `MOST_MOMENTS` moments are
kept: the nearest two become the later one of them, so that never more begin than may, and one
waits at most the 64th part of the time longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from tenuto.model.slots import DEBOUNCE, Debounced, Paced
from tenuto.store.cold.port import Ask, Insert, Row, Script, Value

MOST_MOMENTS = 64
MOST_FORGOTTEN = 100
"""The most rows without meaning that a pass deletes."""

_encode = msgspec.json.Encoder().encode


class Pace(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request says of its pace; the keys are whole ones."""

    debounce: Debounced | None = None
    rate: Paced | None = None


read_pace = msgspec.json.Decoder(Pace).decode


class Group(Struct, frozen=True, kw_only=True):
    """Debounced requests of one key that came one after the other."""

    first_at: int
    newest: str
    newest_at: int
    period: int
    max: int | None = None

    @property
    def begins_at(self) -> int:
        """When the newest begins, if no other follows."""
        quiet = self.newest_at + self.period
        return quiet if self.max is None else min(quiet, self.first_at + self.max)


_read_group = msgspec.json.Decoder(Group).decode


class Settled(NamedTuple):
    """What became of debounced requests."""

    begun: set[str]
    """Instances whose time has come."""
    collapsed: dict[str, str]
    """Instances that end, each with the newer one."""
    is_done: bool


class Settling:
    """Puts debounced requests into groups, and lets those begin whose time has come."""

    def __init__(self, now: int, most: int) -> None:
        self._now = now
        self._most = most
        self._groups: dict[str, Group | None] = {}
        self._begun: set[str] = set()
        self._collapsed: dict[str, str] = {}

    def script(self) -> Script[Settled]:
        """All of it, under the lock of the limits."""
        new = yield Ask("slots_settling", {"limit": self._most})
        due = yield from paces_due(self._now, DEBOUNCE, self._most)
        by_key: dict[str, list[tuple[int, str, Debounced]]] = {key: [] for (key,) in due}
        for instance_id, asked_at, pace in new:
            debounce = read_pace(pace).debounce
            if debounce is None:
                self._begun.add(instance_id)  # it has no time to wait for
            else:
                by_key.setdefault(debounce.key, []).append((asked_at, instance_id, debounce))
        if by_key:
            for key, document in (yield Ask("paces_of", {"keys": sorted(by_key)})):
                self._groups[key] = _read_group(document)
        for key, requests in by_key.items():
            self._settle(key, sorted(requests, key=lambda each: each[:2]))
        yield from self._write(new)
        is_done = max(len(new), len(due)) < self._most
        return Settled(self._begun, self._collapsed, is_done)

    def _settle(self, key: str, requests: Iterable[tuple[int, str, Debounced]]) -> None:
        group = self._groups.get(key)
        for asked_at, id, debounce in requests:
            if group is not None and asked_at < group.begins_at:
                if id != group.newest:
                    group = self._joined(group, asked_at, id)
                continue
            if group is not None:
                self._begun.add(group.newest)
            group = Group(
                first_at=asked_at,
                newest=id,
                newest_at=asked_at,
                period=debounce.period,
                max=debounce.max,
            )
        if group is not None and group.begins_at <= self._now:
            self._begun.add(group.newest)
            group = None
        self._groups[key] = group

    def _joined(self, group: Group, asked_at: int, id: str) -> Group:
        first_at = min(group.first_at, asked_at)
        if (asked_at, id) < (group.newest_at, group.newest):
            self._collapsed[id] = group.newest
            return msgspec.structs.replace(group, first_at=first_at)
        self._collapsed[group.newest] = id
        return msgspec.structs.replace(group, first_at=first_at, newest=id, newest_at=asked_at)

    def _write(self, new: Sequence[Row]) -> Script[None]:
        ids = {id for id, _, _ in new} | self._begun | self._collapsed.keys()
        if not ids:
            locked: set[str] = set()
        else:
            which = sorted(ids)
            blank = [""] * len(which)
            found = yield Ask(
                "lock_slots", {"instance_ids": which, "nodes": blank, "iterations": blank}
            )
            # Others are being given up by a turn at this moment.
            locked = {row[0] for row in found if row[3] == "settling"}
        moved: list[tuple[Value, ...]] = []
        for id in sorted(locked):
            if id in self._collapsed:
                moved.append((id, "ended", ""))
            elif id in self._begun:
                moved.append((id, "waiting", ""))
        staying = {group.newest: key for key, group in self._groups.items() if group is not None}
        moved += [(id, "settling", key) for id, key in staying.items() if id in locked]
        if moved:
            yield Insert("move_slots", ("instance_id", "state", "blocked_on"), moved)
        self._begun &= locked
        self._collapsed = {id: by for id, by in self._collapsed.items() if id in locked}
        rows: list[tuple[Value, ...]] = []
        over: list[str] = []
        for key, group in self._groups.items():
            if group is None:
                over.append(key)
            else:
                at = group.begins_at
                rows.append((tenant_of(key), key, at, at, _encode(group).decode()))
        yield from put_paces(rows)
        if over:
            yield Ask("drop_paces", {"keys": over})


class Rates:
    """How many may begin now, of the rates that rows of a pass have."""

    def __init__(self, now: int) -> None:
        self._now = now
        self._known: dict[str, list[tuple[int, int]]] = {}
        self._next_at: dict[str, int | None] = {}
        """When a pass looks at the rows that wait for a rate, as it was before this one."""
        self._paced: dict[str, Paced] = {}
        self._changed: set[str] = set()
        self._waited_for: set[str] = set()
        self._done: set[str] = set()

    def script(self, paces: Iterable[Paced]) -> Script[None]:
        """Have these rates at hand."""
        unknown = {each.key: each for each in paces if each.key not in self._known}
        if not unknown:
            return
        self._paced |= unknown
        self._known |= {key: [] for key in unknown}
        for key, next_at, document in (yield Ask("pace_states", {"keys": sorted(unknown)})):
            self._known[key] = msgspec.json.decode(document, type=list[tuple[int, int]])
            self._next_at[key] = next_at

    def is_full(self, rate: Paced) -> bool:
        """Whether as many have begun as may; then rows wait for it."""
        begun = sum(amount for _, amount in self._begun(rate))
        if begun >= rate.limit:
            self._waited_for.add(rate.key)
            return True
        return False

    def begin(self, rate: Paced) -> int:
        """One more begins now; returns the moment at which it counts as begun.

        That is never before those that began earlier, whatever the clocks of processes say.
        """
        begun = self._begun(rate)
        at = max(self._now, begun[-1][0] if begun else 0)
        if begun and begun[-1][0] == at:
            begun[-1] = (at, begun[-1][1] + 1)
        else:
            begun.append((at, 1))
        self._known[rate.key] = _fewer(begun)
        self._changed.add(rate.key)
        return at

    def undo(self, rate: Paced) -> None:
        """One that was to begin does not."""
        begun = self._known[rate.key]
        at, amount = begun[-1]
        begun[-1:] = [(at, amount - 1)] if amount > 1 else []

    def looked_through(self, key: str) -> None:
        """No row waits for a rate any more."""
        self._done.add(key)

    def known(self, rate: Paced) -> list[tuple[int, int]]:
        """The moments of a rate, each with how many began then."""
        return self._known[rate.key]

    def _begun(self, rate: Paced) -> list[tuple[int, int]]:
        kept = [each for each in self._known[rate.key] if each[0] > self._now - rate.per]
        self._known[rate.key] = kept
        return kept

    def _free_at(self, rate: Paced) -> int:
        """When the next one may begin."""
        left = sum(amount for _, amount in self._begun(rate))
        for at, amount in self._begun(rate):
            left -= amount
            if left < rate.limit:
                return at + rate.per
        return self._now

    def write(self, due: Iterable[str]) -> Script[bool]:
        """Write what has changed; `due` are rates whose moment had come. True: there was some."""
        touched = self._changed | self._waited_for
        rows: list[tuple[Value, ...]] = []
        for key in sorted(touched):
            rate = self._paced[key]
            next_at = None
            if key not in self._done:
                # Rows with a lower rate, of another version, may wait where this pass saw none.
                is_seen = key in self._waited_for
                next_at = self._free_at(rate) if is_seen else self._next_at.get(key)
            begun = self._known[key]
            until = max(begun[-1][0] + rate.per if begun else self._now, next_at or 0)
            rows.append((tenant_of(key), key, next_at, until, _encode(begun).decode()))
        yield from put_paces(rows)
        idle = sorted(set(due) & self._done - touched)
        if idle:
            yield Ask("calm_paces", {"keys": idle})
        if rows:
            yield Ask("forget_paces", {"now": self._now, "limit": MOST_FORGOTTEN})
        return bool(rows or idle)


def begun_within(document: str, after: int) -> int:
    """How many instances of a rate have begun after a moment."""
    moments = msgspec.json.decode(document, type=list[tuple[int, int]])
    return sum(amount for at, amount in moments if at > after)


def put_paces(rows: Sequence[tuple[Value, ...]]) -> Script[None]:
    """Set what is known of keys."""
    if rows:
        columns = ("tenant", "pace_key", "next_at", "kept_until", "document")
        yield Insert("put_paces", columns, rows)


def tenant_of(key: str) -> str:
    """The tenant of a key; empty: it is one of the service."""
    _, _, name = key.partition(":")
    return name.partition("/")[0]


def paces_due(now: int, prefix: str, most: int) -> Script[list[Row]]:
    """The keys of one kind whose moment has come, the first ones."""
    which = {"now": now, "first": prefix, "last": prefix + "\U0010ffff", "limit": most}
    return (yield Ask("paces_due", which))


def _fewer(begun: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """So many moments as are kept: the nearest two are counted as the later one."""
    while len(begun) > MOST_MOMENTS:
        place = min(range(len(begun) - 1), key=lambda at: begun[at + 1][0] - begun[at][0])
        (_, amount), (later, more) = begun[place], begun[place + 1]
        begun[place : place + 2] = [(later, amount + more)]
    return begun
