"""Slots: who holds one, who waits for one, and the only transaction that grants them.

A turn asks for slots and gives them back: it inserts and deletes rows, and compares nothing. What
is granted is decided by `admit` alone, under one lock: it takes back what turns have released since
the pass before, and grants what fits. So a limit is never exceeded, however many processes ask, and
a crash between a release and the next grant leaves rows that the next pass finds.

A waiting row that does not fit is parked on a limit that is full (`blocked_on`), and is not looked
at again before a slot of that limit is free: a pass costs what it changes, not what waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from tenuto.model.durations import epoch_ms
from tenuto.model.inputs import Admitted, CancelAsked
from tenuto.model.slots import ANY, GLOBAL, NO_DEADLINE_MS, ConcurrencyConfig, OnFull
from tenuto.store.cold.part import ColdPart
from tenuto.store.cold.port import Ask, Insert, Row, Script, Value
from tenuto.store.cold.rows import records_of
from tenuto.store.marks import for_tenants, writes

WOKEN, PROMOTED, USUAL = 0, 1, 2
"""Classes of waiting rows: each goes before the next."""
SERVICE = ""
"""Under this name the limits of the whole service are kept."""
MOST_EXAMINED = 500
"""The most waiting rows that one pass looks at."""
MOST_COUNTED = 1_000_000
"""Up to so many waiting rows are counted."""
_PAGE = 100
_LOWEST = -(1 << 62)
_TURN = 1_000
"""How far a grant moves a tenant of weight 1 back, among tenants that take turns."""

_encode = msgspec.json.Encoder().encode


class SlotKey(NamedTuple):
    """Whose slot: an instance's, or where a node is named, the mutex of a step."""

    instance_id: str
    node: str = ""
    iteration: str = ""


class SlotRow(Struct, frozen=True, gc=False, kw_only=True):
    """A request for a slot."""

    instance_id: str
    node: str = ""
    iteration: str = ""
    tenant: str
    definition_id: str
    keys: tuple[str, ...]
    """The limits that it counts for, most special first."""
    own_key: str | None = None
    """The one among them whose limit is its own."""
    own_limit: int = 0
    on_full: OnFull = "queue"
    number: int
    rank_class: int = USUAL
    rank: int
    """Its place in its class: the lowest goes first."""
    priority: int = 0
    deadline: datetime | None = None
    asked_at: datetime

    @property
    def slot_key(self) -> SlotKey:
        return SlotKey(self.instance_id, self.node, self.iteration)


class Slot(SlotRow, frozen=True, gc=False, kw_only=True):
    """A slot that is held or waited for."""

    state: Literal["waiting", "held", "on-hold"] = "waiting"
    blocked_on: str = ""
    """The limit that is full, as of the newest pass; empty: it was not looked at since."""
    held_at: datetime | None = None


def slot_columns(slot: SlotRow) -> tuple[str | int | None, ...]:
    """The columns of a request, in their order."""
    return (
        slot.instance_id,
        slot.node,
        slot.iteration,
        slot.tenant,
        slot.definition_id,
        _encode(slot.keys).decode(),
        slot.own_key,
        slot.own_limit,
        slot.on_full,
        slot.number,
        slot.rank_class,
        slot.rank,
        slot.priority,
        None if slot.deadline is None else epoch_ms(slot.deadline),
        epoch_ms(slot.asked_at),
    )


class ConcurrencyRow(Struct, frozen=True, gc=False, kw_only=True):
    """The limits of the service, or of a tenant."""

    tenant: str
    document: bytes
    """A `ConcurrencyConfig`, as JSON."""
    version: int
    """Rises with each change."""
    changed_at: datetime
    changed_by: str | None = None


class SlotsMark(NamedTuple):
    """A fingerprint of all limits, and whether there is something for a pass to do."""

    versions: int = 0
    has_work: bool = False


class Admission(NamedTuple):
    """The result of a pass."""

    granted: int = 0
    is_done: bool = True
    """Whether every row that waits now waits for a limit that is full."""
    has_mail: bool = False


class Limits:
    """The limits that are set, by key."""

    def __init__(self, rows: Iterable[Row]) -> None:
        """`rows`: tenant and document of each."""
        self._configs = {
            tenant: msgspec.json.decode(bytes(document), type=ConcurrencyConfig)
            for tenant, document in rows
        }
        self._service = self._configs.get(SERVICE, ConcurrencyConfig())

    def of(self, key: str) -> int | None:
        """The limit of a key; None: there is none."""
        kind, _, name = key.partition(":")
        match kind:
            case "mutex":
                return 1
            case "tenant":
                return _of(self._service.tenant_limits, name)
            case "type" | "user":
                tenant, _, which = name.partition("/")
                config = self._configs.get(tenant)
                if config is None:
                    return None
                by_name = config.workflow_type_limits if kind == "type" else config.user_limits
                return _of(by_name, which)
            case _:
                return self._service.global_max_concurrent if key == GLOBAL else None

    def weight(self, tenant: str) -> int:
        """How often a tenant has its turn."""
        return _of(self._service.queue.per_tenant_share, tenant) or 1

    @property
    def is_global(self) -> bool:
        """Whether tenants share a limit."""
        return self._service.global_max_concurrent is not None


def _of(limits: Mapping[str, int], name: str) -> int | None:
    return limits.get(name, limits.get(ANY))


class Slots(ColdPart):
    """Requests for slots, and limits. Turns insert and delete requests."""

    @writes
    async def admit(self, now: datetime, *, most: int = MOST_EXAMINED) -> Admission:
        """Take back released slots and grant those that fit, in one transaction.

        A granted waiter gets a mailbox message. A pass that is repeated finds what is left.
        """
        return await self._port.transaction(lambda: _Pass(now, most).script())

    @for_tenants
    async def of(self, tenant: str, instance_id: str) -> list[Slot]:
        """The slots that an instance and its steps hold or wait for."""
        return await self._found(Slot, "slots_of", {"tenant": tenant, "instance_id": instance_id})

    @for_tenants
    async def waiting(
        self,
        tenant: str,
        *,
        definition_id: str | None = None,
        after: Slot | None = None,
        limit: int = 100,
    ) -> list[Slot]:
        """The rows of a tenant that wait, in their order."""
        which: dict[str, Value] = {
            "tenant": tenant,
            "definition_id": definition_id or "",
            "rank_class": -1 if after is None else after.rank_class,
            "rank": _LOWEST if after is None else after.rank,
            "instance_id": "" if after is None else after.instance_id,
            "node": "" if after is None else after.node,
            "iteration": "" if after is None else after.iteration,
            "limit": limit,
        }
        return await self._found(Slot, "slots_waiting_of", which)

    @for_tenants
    async def place(self, slot: Slot) -> tuple[int, int]:
        """The place of a waiting row among those of its tenant that wait for the same limit."""
        which: dict[str, Value] = {
            "key": slot.blocked_on,
            "tenant": slot.tenant,
            "rank_class": slot.rank_class,
            "rank": slot.rank,
            "instance_id": slot.instance_id,
            "node": slot.node,
            "iteration": slot.iteration,
            "most": MOST_COUNTED,
        }
        [(before, all_of_them)] = await self._port.rows("place_in_line", which)
        return before + 1, max(all_of_them, before + 1)

    @for_tenants
    async def held(self, tenant: str, *, limit: int = 1_000) -> list[Slot]:
        """The slots that are held for a tenant, the oldest first."""
        return await self._found(Slot, "slots_held", {"tenant": tenant, "limit": limit})

    async def counts(self, keys: Sequence[str]) -> dict[str, int]:
        """How many slots of these limits are taken."""
        found = await self._port.rows("counts_of", {"keys": list(keys)})
        return dict(found)

    async def depth(self, most: int = MOST_COUNTED) -> int:
        """How many instances of all tenants wait, up to so many."""
        [(waiting,)] = await self._port.rows("slots_depth", {"most": most})
        return int(waiting)

    @writes
    @for_tenants
    async def promote(self, tenant: str, instance_id: str, now: datetime) -> bool:
        """Let an instance go before those that were not promoted; False: it does not wait."""
        which = {"tenant": tenant, "instance_id": instance_id, "rank": epoch_ms(now)}
        return bool(await self._port.write("promote_slot", which))

    @writes
    @for_tenants
    async def hold(self, tenant: str, instance_id: str) -> bool:
        """Keep a waiting instance from being admitted; False: it does not wait."""
        which = {"tenant": tenant, "instance_id": instance_id}
        return bool(await self._port.write("hold_back_slot", which))

    @writes
    @for_tenants
    async def let_go(self, tenant: str, instance_id: str) -> bool:
        """Let an instance wait again that was kept back; False: there is none."""
        which = {"tenant": tenant, "instance_id": instance_id}
        return bool(await self._port.write("let_slot_go", which))

    async def mark(self) -> SlotsMark:
        """The fingerprint of all limits."""
        [(versions, has_work)] = await self._port.rows("slots_mark", {})
        return SlotsMark(versions, bool(has_work))

    async def configs(self) -> list[ConcurrencyRow]:
        """The limits of the service and of all tenants that have some."""
        return await self._found(ConcurrencyRow, "concurrency_rows", {})

    @writes
    async def put_config(self, row: ConcurrencyRow) -> bool:
        """Set the limits of a tenant or the service; False unless its version is the next.

        Every row that waits is looked at again by the next pass.
        """

        def script() -> Script[bool]:
            yield Ask("lock_concurrency", {})
            which: dict[str, Value] = {
                "tenant": row.tenant,
                "document": row.document,
                "version": row.version,
                "before": row.version - 1,
                "changed_at": epoch_ms(row.changed_at),
                "changed_by": row.changed_by,
            }
            if not (yield Ask("put_concurrency", which)):
                return False
            yield Ask("unpark_slots", {})
            if row.tenant == SERVICE:
                queue = msgspec.json.decode(row.document, type=ConcurrencyConfig).queue
                yield Ask(
                    "rank_slots",
                    {
                        "order": queue.order,
                        "aging": queue.aging_ms,
                        "later": NO_DEADLINE_MS,
                        "rank_class": USUAL,
                    },
                )
            return True

        return await self._port.transaction(script)


class _Line:
    """The waiting rows of one tenant that are parked on one limit, page by page."""

    def __init__(self, key: str, tenant: str) -> None:
        self.key = key
        self.tenant = tenant
        self.rows: list[Slot] = []
        self.after: tuple[Value, ...] = (-1, _LOWEST, "", "", "")
        self.is_read = False

    def script(self) -> Script[None]:
        """Read the next page where the last one is used up."""
        if self.rows or self.is_read:
            return
        rank_class, rank, instance_id, node, iteration = self.after
        found = yield Ask(
            "slots_in_line",
            {
                "key": self.key,
                "tenant": self.tenant,
                "rank_class": rank_class,
                "rank": rank,
                "instance_id": instance_id,
                "node": node,
                "iteration": iteration,
                "limit": _PAGE,
            },
        )
        self.is_read = len(found) < _PAGE
        self.rows = [_slot(row) for row in reversed(found)]
        if found:
            last = self.rows[0]
            self.after = (last.rank_class, last.rank, *last.slot_key)


class _Pass:
    """One pass of admission: reads, decides and writes under the lock."""

    def __init__(self, now: datetime, most: int) -> None:
        self._now = now
        self._most = most
        self._counts: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._limits = Limits(())
        self._lines: list[_Line] = []
        self._full: set[str] = set()
        self._granted: list[Slot] = []
        self._parked: dict[SlotKey, str] = {}
        self._ended: dict[str, CancelAsked] = {}

    def script(self) -> Script[Admission]:
        yield Ask("lock_concurrency", {})
        freed = yield Ask("freed_slots", {"limit": self._most})
        keys: set[str] = set()
        for _, freed_keys, amount in freed:
            names = _names(freed_keys)
            keys.update(names)
            yield from self._count(names)
            for name in names:
                self._counts[name] -= amount
        self._lines = yield from self._lines_of(keys)
        if self._lines:
            self._limits = Limits((yield Ask("concurrency_documents", {})))
            if self._limits.is_global:
                yield from self._count({_turn_of(each.tenant) for each in self._lines})
        is_done = yield from self._serve()
        if freed:
            yield Ask("forget_freed", {"numbers": [number for number, _, _ in freed]})
        if not is_done:
            left = sorted({line.key for line in self._lines if line.key})
            yield Ask("free_again", {"keys": _encode(left).decode()})
        mail = yield from self._write()
        more = not is_done or len(freed) == self._most
        return Admission(len(self._granted), is_done=not more, has_mail=bool(mail))

    def _lines_of(self, keys: set[str]) -> Script[list[_Line]]:
        """The lines that may move: of rows that are new, and of limits with a free slot."""
        parked: list[Row] = []
        if keys:
            parked = yield Ask("keys_waited_for", {"keys": sorted(keys)})
        lines: list[_Line] = []
        for key in ("", *(key for (key,) in parked)):
            tenants = yield Ask("tenants_in_line", {"key": key})
            lines += [_Line(key, tenant) for (tenant,) in tenants]
        return lines

    def _serve(self) -> Script[bool]:
        """Look at the rows of all lines in their order; False: there are more."""
        for _ in range(self._most):
            self._lines = [line for line in self._lines if line.key not in self._full]
            for line in self._lines:
                if not line.rows:
                    yield from line.script()
                    yield from self._count({key for row in line.rows for key in row.keys})
            self._lines = [line for line in self._lines if line.rows]
            if not self._lines:
                return True
            line = min(self._lines, key=self._place)
            slot = line.rows.pop()
            full = next((key for key in slot.keys if self._is_full(key, slot)), None)
            if full is None:
                self._grant(slot)
            elif full == line.key:
                self._full.add(full)
            else:
                self._parked[slot.slot_key] = full
                if full == slot.own_key and not line.key and slot.on_full != "queue":
                    yield from self._settle_full(slot)
        return False

    def _place(self, line: _Line) -> tuple[object, ...]:
        head = line.rows[-1]
        turn = self._turn(line.tenant) if head.rank_class == USUAL else 0
        return (head.rank_class, turn, head.rank, head.slot_key)

    def _turn(self, tenant: str) -> int:
        """When a tenant has its turn, in a time that passes with each grant."""
        if not self._limits.is_global:
            return 0
        return max(self._counts[_turn_of(tenant)], self._counts.get(_turn_of(""), 0))

    def _is_full(self, key: str, slot: Slot) -> bool:
        limit = slot.own_limit if key == slot.own_key else self._limits.of(key)
        return limit is not None and self._counts[key] >= limit

    def _grant(self, slot: Slot) -> None:
        self._granted.append(slot)
        for key in slot.keys:
            self._counts[key] += 1
        if self._limits.is_global and slot.rank_class == USUAL and GLOBAL in slot.keys:
            turn = self._turn(slot.tenant)
            self._counts[_turn_of("")] = turn
            self._counts[_turn_of(slot.tenant)] = turn + _TURN // self._limits.weight(slot.tenant)

    def _settle_full(self, slot: Slot) -> Script[None]:
        """What a definition says for a start that finds its own limit full."""
        match slot.on_full:
            case "reject":
                reason = "the limit of its workflow was reached"
                self._ended[slot.instance_id] = _cancel(reason, "REJECTED")
            case "replace-oldest":
                oldest = yield Ask("oldest_of_key", {"own_key": slot.own_key})
                for (instance_id,) in oldest:
                    reason = f"instance {slot.instance_id} takes its place"
                    self._ended[instance_id] = _cancel(reason, "COLLAPSED")
            case _:
                older = yield Ask(
                    "older_of_key",
                    {"own_key": slot.own_key, "state": "waiting", "instance_id": slot.instance_id},
                )
                newest = max([*((at, id) for id, at in older), (_ms(slot), slot.instance_id)])
                for instance_id in [id for id, _ in older] + [slot.instance_id]:
                    if instance_id != newest[1]:
                        reason = f"instance {newest[1]} is newer"
                        self._ended[instance_id] = _cancel(reason, "COLLAPSED")

    def _count(self, keys: Iterable[str]) -> Script[None]:
        """Have the counts of these limits at hand."""
        unknown = sorted(set(keys) - self._counts.keys())
        if not unknown:
            return
        self._counts |= dict.fromkeys(unknown, 0)
        if any(each.startswith("turn:") for each in unknown) and "turn:" not in self._counts:
            unknown.append("turn:")
            self._counts["turn:"] = 0
        for key, taken in (yield Ask("counts_of", {"keys": unknown})):
            self._counts[key] = taken
        self._before |= {key: self._counts[key] for key in unknown}

    def _write(self) -> Script[int]:
        """Write what was decided; returns how many messages were sent."""
        touched = sorted({slot.slot_key for slot in self._granted} | self._parked.keys())
        locked: set[SlotKey] = set()
        if touched:
            found = yield Ask("lock_slots", _columns(touched))
            locked = {SlotKey(*row[:3]) for row in found if row[3] == "waiting"}
        for slot in [each for each in self._granted if each.slot_key not in locked]:
            # A turn is giving it up at this moment.
            self._granted.remove(slot)
            for key in slot.keys:
                self._counts[key] -= 1
        parked = [(*key, full) for key, full in self._parked.items() if key in locked]
        if parked:
            yield Insert("park_slots", ("instance_id", "node", "iteration", "blocked_on"), parked)
        if self._granted:
            held = sorted(slot.slot_key for slot in self._granted)
            yield Ask("hold_slots", {**_columns(held), "now": epoch_ms(self._now)})
        changed = {
            key: count for key, count in self._counts.items() if self._before.get(key) != count
        }
        if changed:
            rows = [(_tenant_of(key), key, changed[key]) for key in sorted(changed)]
            yield Insert("put_counts", ("tenant", "limit_key", "taken"), rows)
            if not all(changed.values()):
                yield Ask("drop_counts", {"keys": [key for key, n in changed.items() if not n]})
        at = epoch_ms(self._now)
        mail: list[tuple[Value, ...]] = []
        for slot in self._granted:
            granted = Admitted(number=slot.number, node=slot.node, iteration=slot.iteration)
            id = f"admitted/{slot.node}/{slot.iteration}/{slot.number}"
            mail.append((id, slot.instance_id, _encode(granted), at))
        mail += [
            (f"ended/{cancel.source}", instance_id, _encode(cancel), at)
            for instance_id, cancel in self._ended.items()
        ]
        if mail:
            yield Insert("insert_mail", ("id", "instance_id", "input", "created_at"), mail)
        return len(mail)


def _cancel(reason: str, source: Literal["COLLAPSED", "REJECTED"]) -> CancelAsked:
    return CancelAsked(by="system", reason=reason, source=source)


def _columns(keys: Sequence[SlotKey]) -> dict[str, Value]:
    return {
        "instance_ids": [key.instance_id for key in keys],
        "nodes": [key.node for key in keys],
        "iterations": [key.iteration for key in keys],
    }


def _turn_of(tenant: str) -> str:
    """Under this key the turn of a tenant is kept; without a tenant, that of the newest grant."""
    return f"turn:{tenant}"


def _tenant_of(key: str) -> str:
    """The tenant of a limit; empty: it is one of the service."""
    _, _, name = key.partition(":")
    return name.partition("/")[0]


def _ms(slot: Slot) -> int:
    return epoch_ms(slot.asked_at)


_names = msgspec.json.Decoder(list[str]).decode


def _slot(row: Row) -> Slot:
    [slot] = records_of(Slot, [row])
    return slot
