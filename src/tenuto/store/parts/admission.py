"""A pass of admission: the transaction that grants slots to waiting rows.

A waiting row that does not fit is parked on a limit that is full (`blocked_on`), and is not looked
at again before a slot of that limit is free: a pass costs what it changes, not what waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import UNSET

from tenuto.model.durations import epoch_ms, from_epoch_ms
from tenuto.model.inputs import Admitted, CancelAsked
from tenuto.model.slots import (
    GLOBAL,
    MOST_AHEAD_MS,
    NO_DEADLINE_MS,
    RATE,
    ConcurrencyConfig,
    QueueConfig,
    kept_of,
    tenant_key,
)
from tenuto.store.cold.port import Ask, Each, Insert, Row, Script, Together, Value
from tenuto.store.cold.rows import records_of
from tenuto.store.parts.limits import Limits
from tenuto.store.parts.load_reports import counts_since
from tenuto.store.parts.paces import Rates, Settling, paces_due
from tenuto.store.parts.slot_rows import (
    LOWEST,
    NO_LIMIT,
    USUAL,
    WOKEN,
    Admission,
    Grant,
    Slot,
    SlotKey,
    tenant_of,
)

MOST_COUNTED = 1_000_000
"""Up to so many waiting rows are counted."""
MOST_RANKED = 500
"""The most waiting rows that are put into another order at once."""
TURN = 1_000
"""How far a grant moves a tenant of weight 1 back, among tenants that take turns."""
_KEPT_MS = 1_000
"""What is kept is looked at again after a second or two."""
_PAGE = 100
_FEW = 10
"""Rows of the first page of a line whose limit its rows have."""
_PLAIN = ("global", "tenant", "user")
"""Kinds of limits that are the same for every row."""
_MOST_TENANTS = 100
"""The most tenants of a line that a pass looks at; the others have their turn in the next one."""
_COLUMNS = ("key", "tenant", "rank_class", "rank", "instance_id", "node", "iteration", "limit")
"""The parameters of a page of a line."""
_MOST_BELOW = 200
"""The most waiting rows of a limit that are looked at for a deadlock."""

_encode = msgspec.json.Encoder().encode


class _Line:
    """The waiting rows of one tenant that are parked on one limit, page by page."""

    def __init__(self, key: str, tenant: str, first: int) -> None:
        """`first`: how many rows its first page has."""
        self.key = key
        self.tenant = tenant
        self.rows: list[Slot] = []
        self.after: tuple[str | int, ...] = (-1, LOWEST, "", "", "")
        self.is_read = False
        self._page = first

    @property
    def is_used_up(self) -> bool:
        """Whether its next page is to be read."""
        return not (self.rows or self.is_read)

    @property
    def page(self) -> tuple[str | int, ...]:
        """The parameters of its next page."""
        return (self.key, self.tenant, *self.after, self._page)

    def take(self, found: Sequence[Row]) -> None:
        """The rows of its next page."""
        self.is_read = len(found) < self._page
        self._page = _PAGE
        self.rows = records_of(Slot, found[::-1])
        if found:
            last = self.rows[0]
            self.after = (last.rank_class, last.rank, *last.slot_key)


def rank_slots(queue: QueueConfig, instance_ids: list[str]) -> Ask:
    """Put waiting instances into the order of a queue."""
    return Ask(
        "rank_slots",
        {
            "instance_ids": instance_ids,
            "order": queue.order,
            "aging": queue.aging_ms,
            "most_ahead": MOST_AHEAD_MS,
            "later": NO_DEADLINE_MS,
            "rank_class": USUAL,
        },
    )


def _rank(document: bytes, after: str | None) -> Script[bool]:
    """Put some waiting rows, those behind an id, into the order that is set; False: not all are."""
    if after is None:
        return True
    queue = msgspec.json.decode(bytes(document), type=ConcurrencyConfig).queue
    page = yield Ask("slots_to_rank", {"after": after, "limit": MOST_RANKED})
    if page:
        yield rank_slots(queue, [id for (id,) in page])
    is_last = len(page) < MOST_RANKED
    yield Ask("put_ranked_to", {"id": None if is_last else page[-1][0]})
    return is_last


class Pass:
    """One pass of admission: reads, decides and writes under the lock."""

    def __init__(
        self,
        now: datetime,
        most: int,
        *,
        process_id: str | None = None,
        is_short: bool = False,
        keeps_slots: bool = False,
        grants: bool = True,
    ) -> None:
        """`most`: how many waiting rows it looks at; a short one puts none into another order.

        `grants`: whether it looks at rows at all, beside what else it has to write.
        `process_id`: who hands over grants of instances without an owner; None: any process.
        `keeps_slots`: some of the service are kept for tenants that hold less than their share.
        """
        self._now = now
        self._process_id = process_id
        self._is_short = is_short
        self._keeps_slots = keeps_slots
        self._grants = grants
        self.looked_at: list[Slot] = []
        self._has_kept = False
        """Whether a row waits only because of that."""
        self._behind: frozenset[str] = frozenset()
        """The limits of the tenants with rows that were looked at."""
        self._most = most
        self._counts: dict[str, int] = {}
        self._before: dict[str, tuple[int, bool]] = {}
        self._waited_for: set[str] = set()
        """Those of the keys in `_counts` on which rows are parked."""
        self._limits = Limits(())
        self._lines: list[_Line] = []
        self._is_calm = True
        """Whether no debounced request has moved."""
        self._read: set[str] = set()
        """The limits whose lines were looked at."""
        self._full: set[str] = set()
        self._more_tenants: set[str] = set()
        """The limits with more tenants in line than a pass looks at."""
        self._granted: list[Slot] = []
        self._parked: dict[SlotKey, str] = {}
        self._parked_before: dict[SlotKey, str] = {}
        self._withdrawn: set[str] = set()
        """The limits of rows that a turn withdraws meanwhile: others were refused for them."""
        self._ended: dict[str, CancelAsked] = {}
        self._below: list[tuple[Slot, str]] = []
        """Children that wait, each with the limit that is full."""
        self._rates = Rates(epoch_ms(now))
        self._begun: dict[SlotKey, datetime] = {}
        """Of granted slots with a rate: the moments at which they count as begun."""

    def script(self) -> Script[Admission]:
        [state], [marks], freed, lines, documents = yield Together(
            (
                Ask("concurrency_state", {}),
                Ask("paces_mark", {}),
                Ask("freed_slots", {"limit": self._most}),
                self._lines_waited_for(["", turn_key("")], freed=self._most),
                Ask("concurrency_documents", {}),
            )
        )
        document, ranked_to, changes = state
        is_ranked = ranked_to is None
        if not self._is_short:
            is_ranked = yield from _rank(document, ranked_to)
        due, next_at, is_settled = yield from self._pace(*marks)
        if not self._is_calm:
            # Settled requests are new ones now.
            old = [row for row in lines if row[0] and row[0] not in due]
            lines = old + (yield self._lines_waited_for(["", *sorted(due)], freed=0))
        yield from self._set_limits(documents)
        self._lines = self._lines_of(lines, freed)
        self._read = {line.key for line in self._lines}
        self._behind = frozenset(tenant_key(line.tenant) for line in self._lines)
        is_done = yield from self._serve()
        yield from self._end_deadlocks()
        owners = yield from self._write([number for number, _, _ in freed])
        is_done = is_done and self._more_tenants <= self._full
        left = self._more_tenants - self._full - {""}
        if not is_done:
            left |= {line.key for line in self._lines if line.key}
        if self._has_kept:
            left.add(GLOBAL)
        if self._withdrawn or left or not is_done:
            keys = _encode(sorted(self._withdrawn | left)).decode()
            yield Ask("free_again", {"keys": keys})
        if (yield from self._rates_followed(due, is_done=is_done)):
            [(next_at,)] = yield Ask("next_pace", {})
        if self._has_kept:
            # To the second, or each pass would move it.
            again = (epoch_ms(self._now) // _KEPT_MS + 2) * _KEPT_MS
            next_at = again if next_at is None else min(next_at, again)
        more = not (is_done and is_ranked and is_settled) or len(freed) == self._most
        return self._admission(owners, changes=changes, next_at=next_at, is_done=not more)

    def _admission(
        self, owners: Mapping[str, str], *, changes: int, next_at: int | None, is_done: bool
    ) -> Admission:
        counts = {
            key: NO_LIMIT if key in self._waited_for else count
            for key, count in self._counts.items()
        }
        kept = (self._limits.of(GLOBAL) or 0) - self._counts[GLOBAL] if self._has_kept else 0
        return Admission(
            is_done=is_done,
            has_mail=bool(self._ended),
            counts=counts,
            changes=changes,
            owners=frozenset(owners.values()),
            grants=tuple(
                Grant(
                    instance_id=slot.instance_id,
                    tenant=slot.tenant,
                    mail_id=id,
                    input=granted,
                    at=self._now,
                    owner=owners.get(slot.instance_id),
                )
                for slot, (id, granted) in zip(self._granted, self._messages(), strict=True)
            ),
            next_at=next_at,
            kept=max(kept, 0),
            behind=self._behind if kept > 0 else frozenset(),
            waits=self._waits(),
        )

    def _messages(self) -> list[tuple[str, Admitted]]:
        """The messages to those that are granted slots, with their ids."""
        return [
            (
                f"admitted/{slot.node}/{slot.iteration}/{slot.number}",
                Admitted(
                    number=slot.number,
                    node=slot.node,
                    iteration=slot.iteration,
                    at=self._begun.get(slot.slot_key, UNSET),
                ),
            )
            for slot in self._granted
        ]

    def _waits(self) -> tuple[tuple[str, int], ...]:
        now = epoch_ms(self._now)
        return tuple(
            (slot.blocked_on.partition(":")[0] or "new", max(now - _ms(slot), 0))
            for slot in self._granted
        )

    def _set_limits(self, documents: Sequence[Row]) -> Script[None]:
        self._limits = Limits(documents)
        if self._limits.is_adaptive:
            since = {"since": counts_since(self._now)}
            [(asked,)] = yield Ask("lowest_load_report", since)
            self._limits.adapt(asked)

    def _pace(self, is_new: int, next_at: int | None) -> Script[tuple[set[str], int | None, bool]]:
        """Settle debounced requests, where there are new ones or a moment has come.

        Gives the rates whose moment has come, the moment of the next, and whether all are settled.
        """
        now = epoch_ms(self._now)
        if not is_new and (next_at is None or next_at > now):
            return set(), next_at, True
        self._is_calm = False
        settled = yield from Settling(now, self._most).script()
        for instance_id, newer in settled.collapsed.items():
            self._ended[instance_id] = _cancel(f"instance {newer} is newer", "COLLAPSED")
        due = yield from paces_due(now, RATE, self._most)
        [(next_at,)] = yield Ask("next_pace", {})
        is_all = settled.is_done and len(due) < self._most
        return {key for (key,) in due}, next_at, is_all

    @staticmethod
    def _lines_waited_for(keys: Sequence[str], *, freed: int) -> Ask:
        """Of these limits, and of those of so many rows of freed slots: counts and tenants."""
        which: dict[str, Value] = {"keys": keys, "limit": freed, "most_tenants": _MOST_TENANTS}
        return Ask("lines_waited_for", which)

    def _lines_of(self, found: Sequence[Row], freed: Sequence[Row]) -> list[_Line]:
        """The lines of new rows, of limits with a free slot, and of rates whose moment has come."""
        amounts: list[tuple[list[str], int]] = [(_names(keys), amount) for _, keys, amount in freed]
        # A rate whose moment has come may be one of them: limits have changed, or a pass ended
        # before its line.
        self._counts |= dict.fromkeys(set[str]().union(*(names for names, _ in amounts)), 0)
        tenants: dict[str, list[str]] = {}
        for key, taken, is_waited_for, tenant, turn, *own in found:
            self._take_count(key, taken, is_waited_for)
            if tenant is None:
                continue
            tenants.setdefault(key, []).append(tenant)
            self._counts.setdefault(tenant_key(tenant), 0)
            self._take_count(tenant_key(tenant), *own)
            if self._limits.is_global:
                self._counts.setdefault(turn_key(tenant), 0)
                self._take_count(turn_key(tenant), turn, 0)
        # A turn that parks a row need not say so.
        self._waited_for.update(tenants.keys() - {""})
        for names, amount in amounts:
            for name in names:
                self._counts[name] -= amount
        if self._limits.is_global:
            self._counts.setdefault(turn_key(""), 0)
        served = [key for key in tenants if not (key and self._is_plainly_full(key))]
        self._more_tenants = {key for key in served if len(tenants[key]) == _MOST_TENANTS}
        return [
            _Line(key, tenant, self._room_of(key) if key else _PAGE)
            for key in served
            for tenant in tenants[key]
        ]

    def _is_plainly_full(self, key: str) -> bool:
        """Whether it is, without a look at the rows that wait for it.

        The limit of a key is that of its rows, and children that wait for one may have to end.
        """
        if key.partition(":")[0] not in _PLAIN:
            return False
        limit = self._limits.of(key)
        if limit is None or self._counts[key] < limit:
            return False
        self._full.add(key)
        return True

    def _room_of(self, key: str) -> int:
        """How many rows of a line are granted at once, about."""
        limit = self._limits.of(key)
        if limit is None:
            return _FEW
        return max(1, min(limit - self._counts.get(key, 0), _PAGE))

    def _read_on(self) -> Script[None]:
        """Have a row of each line at hand, and the counts that it is compared with."""
        used_up = [line for line in self._lines if line.is_used_up]
        if not used_up:
            return
        pages = yield Each("slots_in_line", _COLUMNS, [line.page for line in used_up])
        for line, page in zip(used_up, pages, strict=True):
            line.take(page)
        rows = [row for line in used_up for row in line.rows]
        yield from self._count({key for row in rows for key in row.keys})
        yield from self._rates.script([rate for row in rows if (rate := row.rate) is not None])

    def _serve(self) -> Script[bool]:
        """Look at the rows of all lines in their order; False: there are more."""
        for _ in range(self._most if self._grants else 0):
            self._lines = [line for line in self._lines if line.key not in self._full]
            yield from self._read_on()
            self._lines = [line for line in self._lines if line.rows]
            if not self._lines:
                return True
            line = min(self._lines, key=self._place)
            slot = line.rows.pop()
            self.looked_at.append(slot)
            if slot.instance_id in self._ended and not slot.node:
                continue  # it is set aside
            full = next((key for key in slot.keys if self._is_full(key, slot)), None)
            if full is None and (rate := slot.rate) is not None and self._rates.is_full(rate):
                full = rate.key
            if full is None:
                self._grant(slot)
            elif full == line.key:
                self._full.add(full)
                self._note_child(slot, full)
            else:
                self._parked[slot.slot_key] = full
                self._parked_before[slot.slot_key] = line.key
                self._note_child(slot, full)
                is_start = slot.rank_class != WOKEN
                if full == slot.own_key and is_start and slot.on_full != "queue":
                    yield from self._settle_full(slot)
        return False

    def _note_child(self, slot: Slot, full: str) -> None:
        if slot.above:
            self._below.append((slot, full))

    def _end_deadlocks(self) -> Script[None]:
        """End children that wait for a limit of which those above such children hold every slot.

        They would wait for ever: what holds a slot waits for its children. Such a situation comes
        about only when a child is parked, or a limit is lowered.
        """
        if not self._below:
            return
        above = {id for slot, _ in self._below for id in slot.above or ()}
        holding = yield from self._holding(above)
        for slot, key in self._below:
            if not any(key in holding.get(id, ()) for id in slot.above or ()):
                continue
            which = {"key": key, "tenant": slot.tenant, "limit": _MOST_BELOW}
            others = yield Ask("children_in_line", which)
            waiting = {id for (ids,) in others for id in _names(ids)} | set(slot.above or ())
            unknown = waiting - holding.keys()
            if unknown:
                holding |= yield from self._holding(unknown)
            holders = sum(key in holding.get(id, ()) for id in waiting)
            if holders >= self._counts[key]:
                reason = f"every slot of {key} is held by instances that wait for such a child"
                self._ended[slot.instance_id] = _cancel(reason, "DEADLOCK")

    def _holding(self, ids: Iterable[str]) -> Script[dict[str, tuple[str, ...]]]:
        """The limits of which these instances hold slots."""
        found = yield Ask("slots_held_by", {"instance_ids": sorted(ids)})
        holding: dict[str, tuple[str, ...]] = dict.fromkeys(ids, ())
        return holding | {id: tuple(_names(keys)) for id, keys in found}

    def _place(self, line: _Line) -> tuple[object, ...]:
        head = line.rows[-1]
        return (self._turn(line.tenant), head.rank_class, head.rank, head.slot_key)

    def _turn(self, tenant: str) -> int:
        """When a tenant has its turn, in a time that passes with each grant."""
        if not self._limits.is_global:
            return 0
        return max(self._counts[turn_key(tenant)], self._counts.get(turn_key(""), 0))

    def _is_full(self, key: str, slot: Slot) -> bool:
        limit = slot.own_limit if key == slot.own_key else self._limits.of(key)
        if limit is None or self._counts[key] >= limit:
            return limit is not None
        if key != GLOBAL or not self._keeps_slots:
            return False
        others = limit - kept_of(limit)
        if self._counts[key] < others:
            return False
        # Tenants with rows have equal shares of what is not kept.
        is_kept = self._counts[tenant_key(slot.tenant)] >= max(1, others // len(self._behind))
        self._has_kept = self._has_kept or is_kept
        return is_kept

    def _grant(self, slot: Slot) -> None:
        self._granted.append(slot)
        for key in slot.keys:
            self._counts[key] += 1
        if (rate := slot.rate) is not None:
            self._begun[slot.slot_key] = from_epoch_ms(self._rates.begin(rate))
        if self._limits.is_global and GLOBAL in slot.keys:
            turn = self._turn(slot.tenant)
            self._counts[turn_key("")] = turn
            self._counts[turn_key(slot.tenant)] = turn + TURN // self._limits.weight(slot.tenant)

    def _settle_full(self, slot: Slot) -> Script[None]:
        """What a definition says for a start that finds its own limit full."""
        match slot.on_full:
            case "reject":
                reason = "the limit of its workflow was reached"
                self._ended[slot.instance_id] = _cancel(reason, "REJECTED")
            case "replace-oldest":
                # Each start before it that still waits has taken the place of one, which is
                # about to end.
                waiting = yield from self._others_of_key(slot, slot.own_limit)
                mine = (_ms(slot), slot.instance_id)
                before = [id for id, at in waiting if (at, id) < mine]
                which = {"own_key": slot.own_key, "limit": slot.own_limit}
                oldest = yield Ask("oldest_of_key", which)
                for (instance_id,) in oldest[len(before) :][:1]:
                    reason = f"instance {slot.instance_id} takes its place"
                    self._ended[instance_id] = _cancel(reason, "COLLAPSED")
            case _:
                older = yield from self._others_of_key(slot, MOST_COUNTED)
                newest = max([*((at, id) for id, at in older), (_ms(slot), slot.instance_id)])
                for instance_id in [id for id, _ in older] + [slot.instance_id]:
                    if instance_id != newest[1]:
                        reason = f"instance {newest[1]} is newer"
                        self._ended[instance_id] = _cancel(reason, "COLLAPSED")

    def _others_of_key(self, slot: Slot, most: int) -> Script[list[Row]]:
        """The id and the moment of other starts that wait with the same key, oldest first."""
        granted = {each.instance_id for each in self._granted}
        which: dict[str, Value] = {
            "own_key": slot.own_key,
            "state": "waiting",
            "instance_id": slot.instance_id,
            "limit": most + len(granted),
        }
        found = yield Ask("others_of_key", which)
        return [row for row in found if row[0] not in granted]

    def _count(self, keys: Iterable[str]) -> Script[None]:
        """Have the counts of these limits at hand."""
        unknown = sorted(set(keys) - self._counts.keys())
        if not unknown:
            return
        self._counts |= dict.fromkeys(unknown, 0)
        for row in (yield Ask("counts_of", {"keys": unknown})):
            self._take_count(*row)

    def _take_count(self, key: str, taken: int | None, is_waited_for: int | None) -> None:
        """How many slots of a limit are taken, before this pass; None: there is no row."""
        if taken is None:
            return
        self._counts[key] = taken
        self._before[key] = (taken, bool(is_waited_for))
        if is_waited_for:
            self._waited_for.add(key)

    def _rates_followed(self, due: set[str], *, is_done: bool) -> Script[bool]:
        """Write what is known of rates; whether moments have changed."""
        if is_done:
            for key in due - self._full - set(self._parked.values()):
                self._rates.looked_through(key)
        return (yield from self._rates.write(due))

    def _write(self, freed: Sequence[int]) -> Script[dict[str, str]]:
        """Write what was decided; returns the owners of instances that get messages.

        `freed`: the numbers of rows that were taken back.
        """
        ended = {SlotKey(instance_id) for instance_id in self._ended}
        locked: set[SlotKey] = set()
        if self._parked or ended:
            found = yield Ask("lock_slots", _columns(sorted(self._parked.keys() | ended)))
            locked = {SlotKey(*row[:3]) for row in found if row[3] == "waiting"}
        before = self._parked_before
        self._withdrawn = {key for row, key in before.items() if row not in locked and key}
        waits = locked - ended
        parked = [(*key, full) for key, full in self._parked.items() if key in waits]
        statements: list[Ask | Insert] = []
        if freed:
            statements.append(Ask("forget_freed", {"numbers": list(freed)}))
        if parked:
            where = ("instance_id", "node", "iteration", "blocked_on")
            statements.append(Insert("park_slots", where, parked))
        if aside := sorted(ended & locked):
            # They are cancelled by what they are sent: no later pass grants them a slot before.
            statements.append(Ask("set_slots_aside", _columns(aside)))
        if self._granted:
            held = {
                **_columns([slot.slot_key for slot in self._granted]),
                "numbers": [slot.number for slot in self._granted],
                "now": epoch_ms(self._now),
            }
            statements.append(Ask("hold_slots", held))
        statements += yield from self._put_counts(key for *_, key in parked)
        mail = self._mail()
        if mail:
            columns = ("id", "instance_id", "input", "created_at", "claimed_by")
            statements.append(Insert("insert_grants", columns, mail))
        if not statements:
            return {}
        names = [each.name for each in statements]
        answers = dict(zip(names, (yield Together(statements)), strict=True))
        held_now = {SlotKey(*row) for row in answers.get("hold_slots", ())}
        yield from self._take_back(held_now, [key for *_, key in parked])
        return {id: owner for id, owner in answers.get("insert_grants", ()) if owner is not None}

    def _take_back(self, held: set[SlotKey], parked_on: Sequence[str]) -> Script[None]:
        """Grant nothing to requests that a turn has given up, or is giving up at this moment."""
        lost = [slot for slot in self._granted if slot.slot_key not in held]
        if not lost:
            return
        ids = {
            slot.slot_key: id for slot, (id, _) in zip(self._granted, self._messages(), strict=True)
        }
        for slot in lost:
            self._granted.remove(slot)
            self._withdrawn.update(slot.keys)
            if slot.blocked_on:
                self._withdrawn.add(slot.blocked_on)
            for key in slot.keys:
                self._counts[key] -= 1
            if (rate := slot.rate) is not None:
                self._rates.undo(rate)
        counts = yield from self._put_counts(parked_on)
        withdrawn: dict[str, Value] = {
            "ids": [ids[slot.slot_key] for slot in lost],
            "instance_ids": [slot.instance_id for slot in lost],
        }
        yield Together([Ask("withdraw_grants", withdrawn), *counts])

    def _mail(self) -> list[tuple[Value, ...]]:
        """The rows of all messages; this process hands over those that are for any."""
        at = epoch_ms(self._now)
        mail: list[tuple[Value, ...]] = [
            (id, slot.instance_id, _encode(granted), at, self._process_id)
            for slot, (id, granted) in zip(self._granted, self._messages(), strict=True)
        ]
        return mail + [
            (f"ended/{cancel.source}", instance_id, _encode(cancel), at, None)
            for instance_id, cancel in self._ended.items()
        ]

    def _put_counts(self, parked_on: Iterable[str]) -> Script[list[Ask | Insert]]:
        """Statements for the counts that have changed, and which of their limits rows wait for."""
        # Of a line that was read to its end no row is left. From others rows may be gone since they
        # were parked.
        open_again = self._waited_for - self._full
        left = {line.key for line in self._lines} | self._more_tenants
        unknown = sorted(open_again - self._read)
        self._waited_for -= open_again
        self._waited_for |= open_again & left
        if unknown:
            found = yield Ask("keys_waited_for", {"keys": unknown})
            self._waited_for.update(key for (key,) in found)
        self._waited_for.update(parked_on)
        now = {key: (count, key in self._waited_for) for key, count in self._counts.items()}
        changed = [key for key in sorted(now) if self._before.get(key, (0, False)) != now[key]]
        self._before |= {key: now[key] for key in changed}
        unused = [key for key in changed if now[key] == (0, False)]
        statements: list[Ask | Insert] = []
        if unused:
            statements.append(Ask("forget_counts", {"keys": unused}))
        rows = [
            (tenant_of(key), key, now[key][0], int(now[key][1]))
            for key in changed
            if now[key] != (0, False)
        ]
        if rows:
            columns = ("tenant", "limit_key", "taken", "is_waited_for")
            statements.append(Insert("put_counts", columns, rows))
        return statements


def _cancel(reason: str, source: Literal["COLLAPSED", "REJECTED", "DEADLOCK"]) -> CancelAsked:
    return CancelAsked(by="system", reason=reason, source=source)


def _columns(keys: Sequence[SlotKey]) -> dict[str, Value]:
    return {
        "instance_ids": [key.instance_id for key in keys],
        "nodes": [key.node for key in keys],
        "iterations": [key.iteration for key in keys],
    }


def turn_key(tenant: str) -> str:
    """Under this key the turn of a tenant is kept; without a tenant, that of the newest grant."""
    return f"turn:{tenant}"


def _ms(slot: Slot) -> int:
    return epoch_ms(slot.asked_at)


_names = msgspec.json.Decoder(list[str]).decode
