"""Limits, rebuilt from the logs: I31, I32, I34.

A limit counts an instance from the row that says it has its slot to the row that gives it back, or
to its end; a mutex counts a step from its grant to its final outcome.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tests.kit.checker.invariants.judgement import Whole
from tests.kit.checker.picture import FINAL
from tests.kit.checker.record import Fields, Instance, Row, Run, row_of
from tests.kit.checker.violation import Violation

Place: TypeAlias = tuple[int, int]
"""When a row was written, and what goes first of rows that were written together."""


def no_limit_is_exceeded(whole: Whole) -> Iterator[Violation]:
    """I31: Rebuilt from the log, running count <= every limit at every instant."""
    run = whole.ledgers.run
    order = _Order.of(run)
    if order is None:
        return
    changes = sorted(
        (change for instance in run.instances for change in _changes(instance, order)),
        key=lambda change: change.place,
    )
    held: Counter[str] = Counter()
    for change in changes:
        for key in change.keys:
            held[key] += change.amount
            limit = change.limits.get(key, math.inf)
            limit = min(limit, _limit_between(run, key, change.asked, change.place[0]))
            if change.amount > 0 and held[key] > limit:
                message = f"{held[key]} of {key} run at once, and {limit} may"
                yield Violation("I31", change.instance, change.seq, message)


def nothing_runs_without_a_slot(whole: Whole) -> Iterator[Violation]:
    """I31: what needs a slot dispatches nothing without one, and what a limit counts needs one.

    One that began when no limit counted it needs one from its first request on.
    """
    run = whole.ledgers.run
    for instance in run.instances:
        rows = [row_of(item) for item in instance.history]
        needs = _concurrency(instance.document) is not None
        needs |= _is_always_counted(run, instance, rows)
        is_held = False
        steps = {str(each["stepId"]) for each in instance.document.get("compensationSteps", ())}
        for row in rows:
            needs |= _slot(row) is not None
            is_held = _holds(row, before=is_held)
            is_begun = row.type == "NODE_DISPATCHED" and row.node not in steps
            if needs and is_begun and not is_held:
                message = f"{row.node} was dispatched without a slot"
                yield Violation("I31", instance.id, row.seq, message)


def one_step_has_a_mutex(whole: Whole) -> Iterator[Violation]:
    """I31: a mutex is a limit of one: from its grant to the final outcome of the step."""
    run = whole.ledgers.run
    order = _Order.of(run)
    if order is None:
        return
    written = sorted(
        (
            (order.place(instance.id, row, is_grant=row.type == "MUTEX_GRANTED"), instance, row)
            for instance in run.instances
            for row in map(row_of, instance.history)
            if row.type in _ABOUT_MUTEXES
        ),
        key=lambda found: found[0],
    )
    asked: dict[tuple[str, str, str], str] = {
        (instance.id, str(row.node), row.iteration): _mutex(instance, row)
        for _, instance, row in written
        if row.type == "MUTEX_REQUESTED"
    }
    held: dict[str, tuple[str, str, str]] = {}
    for _, instance, row in written:
        place = (instance.id, str(row.node), row.iteration)
        if row.type == "MUTEX_REQUESTED":
            asked[place] = _mutex(instance, row)
        elif row.type == "MUTEX_GRANTED":
            mutex = asked[place]
            if mutex in held and held[mutex] != place:
                message = f"{place} and {held[mutex]} have the mutex {mutex}"
                yield Violation("I31", instance.id, row.seq, message)
            held[mutex] = place
        else:
            for mutex, holder in list(held.items()):
                if _gives_back(row, place, holder):
                    del held[mutex]
    if run.at_rest:
        final = {each.id for each in whole.summaries if each.status in FINAL}
        for mutex, (id, node, _) in held.items():
            if id in final:
                yield Violation("I31", id, 0, f"{node} has the mutex {mutex} after the end")


def mutexes_come_in_order(whole: Whole) -> Iterator[Violation]:
    """I34: who asked for a mutex in an earlier commit has it before, unless it gave up."""
    run = whole.ledgers.run
    order = _Order.of(run)
    if order is None:
        return
    requests: dict[str, list[_Request]] = {}
    for instance in run.instances:
        open_ones: dict[tuple[str, str], _Request] = {}
        for row in map(row_of, instance.history):
            if row.type not in _ABOUT_MUTEXES:
                continue
            place = (str(row.node), row.iteration)
            when = order.place(instance.id, row, is_grant=False)[0]
            if row.type == "MUTEX_REQUESTED":
                made = _Request(instance.id, row.seq, when, row.at)
                open_ones[place] = made
                requests.setdefault(_mutex(instance, row), []).append(made)
            elif row.type == "MUTEX_GRANTED":
                open_ones.pop(place).granted = when
            else:
                ended = [place] if row.type != "STATUS_CHANGED" else list(open_ones)
                if row.type == "STATUS_CHANGED" and row.payload["to"] not in FINAL:
                    continue
                for each in ended:
                    if each in open_ones:
                        open_ones.pop(each).given_up = when
    for mutex, of_mutex in requests.items():
        yield from _out_of_order(f"the mutex {mutex}", of_mutex)


def slots_come_in_order(whole: Whole) -> Iterator[Violation]:
    """I34: of those that count for the same limits, who asked in an earlier commit begins before.

    Of a queue by arrival, first requests, and a limit of one: of several that are granted together,
    each begins when its message has come. What waits for more than a slot is left out.
    """
    run = whole.ledgers.run
    order = _Order.of(run)
    if order is None:
        return
    lines: dict[tuple[str, ...], list[_Request]] = {}
    for instance in run.instances:
        keys, request = _first_request(instance, order)
        if request is not None:
            lines.setdefault(keys, []).append(request)
    for keys, of_line in lines.items():
        yield from _out_of_order(f"a slot of {keys[0]}", of_line)


def _first_request(instance: Instance, order: _Order) -> tuple[tuple[str, ...], _Request | None]:
    """The limits that an instance counts for, and its request for its first slot."""
    rows = [row_of(item) for item in instance.history]
    is_child = any(row.payload.get("parent") for row in rows[:1])
    keys: tuple[str, ...] = ()
    made: _Request | None = None
    for row in rows:
        slot = _slot(row)
        when = order.place(instance.id, row, is_grant=False)[0]
        if slot is not None and made is None:
            if slot.get("limit") != 1 or slot.keys() & {"debounce", "rate"}:
                break
            keys, _ = _counted_for(instance, slot, is_child=is_child)
            made = _Request(instance.id, row.seq, when, row.at)
        if made is None:
            continue
        if slot is not None and slot.get("state") == "held":
            made.granted = when
            break
        if row.type == "STATUS_CHANGED" and row.payload["to"] in FINAL:
            made.given_up = when
    return keys, made


def slots_are_counted(whole: Whole) -> Iterator[Violation]:
    """I31: what is counted as taken = what is held + what was given back since; zero at rest."""
    run = whole.ledgers.run
    if run.slots is None:
        return
    real: Counter[str] = Counter()
    for slot in run.slots:
        if slot["state"] == "held":
            real.update(slot["keys"])
    for freed in run.slots_freed or ():
        for key in freed["keys"]:
            real[key] += int(freed["amount"])
    counted = {key: n for key, n in (run.slot_counts or {}).items() if not _is_turn(key)}
    for key in sorted(real.keys() | counted.keys()):
        if real[key] != counted.get(key, 0):
            message = f"{counted.get(key, 0)} of {key} are counted, and {real[key]} are taken"
            yield Violation("I31", "", 0, message)
    if run.at_rest and any(freed["amount"] for freed in run.slots_freed or ()):
        yield Violation("I31", "", 0, f"given back, and nobody took it: {run.slots_freed}")


def what_waits_waits_for_a_full_limit(whole: Whole) -> Iterator[Violation]:
    """I32: at rest nothing waits that could run: the limit that it is parked on is full."""
    run = whole.ledgers.run
    if run.slots is None or not run.at_rest:
        return
    for slot in run.slots:
        if slot["state"] != "waiting":
            continue
        key, id = str(slot["blockedOn"]), str(slot["instance"])
        limit = slot["ownLimit"] if key == slot["ownKey"] else _limit_now(run, key)
        taken = (run.slot_counts or {}).get(key, 0)
        if not key:
            yield Violation("I32", id, 0, f"{slot['keys']}: no pass has looked at it")
        elif taken < limit:
            message = f"it waits for {key}, of which {taken} are taken and {limit} may be"
            yield Violation("I32", id, 0, message)


@dataclass(slots=True)
class _Request:
    """A request for a mutex."""

    instance: str
    seq: int
    asked: int
    at: int
    granted: int | None = None
    given_up: int | None = None


def _out_of_order(what: str, made: list[_Request]) -> Iterator[Violation]:
    for later in made:
        if later.granted is None:
            continue
        for earlier in made:
            # A clock that was set back puts a later request first.
            is_first = earlier.asked < later.asked and earlier.at < later.at
            is_gone = earlier.given_up is not None and earlier.given_up <= later.granted
            is_served = earlier.granted is not None and earlier.granted <= later.granted
            if is_first and not is_gone and not is_served:
                message = f"it has {what} before {earlier.instance}, which asked before"
                yield Violation("I34", later.instance, later.seq, message)
                return


class _Order(NamedTuple):
    """In which turn each row was written."""

    moments: dict[tuple[str, int], int]

    @staticmethod
    def of(run: Run) -> _Order | None:
        if run.commits is None:
            return None
        turns: dict[object, int] = {}
        moments: dict[tuple[str, int], int] = {}
        for commit in run.commits:
            number = int(commit["gseq"])
            number = turns.setdefault(commit.get("turn", number), number)
            for seq in range(int(commit["first"]), int(commit["last"]) + 1):
                moments[str(commit["instance"]), seq] = number
        return _Order(moments)

    def place(self, instance: str, row: Row, *, is_grant: bool) -> Place:
        """What is granted in the turn of a release was granted before it."""
        return self.moments.get((instance, row.seq), 0), int(not is_grant)


class _Change(NamedTuple):
    """An instance gets its slot, or gives it back."""

    place: Place
    instance: str
    seq: int
    keys: tuple[str, ...]
    amount: int
    limits: dict[str, float]
    """Of limits of its own."""
    asked: int
    """When it asked for it."""


def _changes(instance: Instance, order: _Order) -> Iterator[_Change]:
    is_held = False
    keys: tuple[str, ...] = ()
    limits: dict[str, float] = {}
    asked: int | None = None
    is_child = False
    for row in map(row_of, instance.history):
        is_child |= bool(row.payload.get("parent"))
        slot = _slot(row)
        if slot is not None:
            now = order.place(instance.id, row, is_grant=False)[0]
            if slot.get("state", "asked") == "asked" or asked is None:
                asked = now
            if not is_held:
                keys, limits = _counted_for(instance, slot, is_child=is_child)
        holds = _holds(row, before=is_held)
        if holds != is_held:
            is_held = holds
            place = order.place(instance.id, row, is_grant=holds)
            amount = 1 if holds else -1
            yield _Change(place, instance.id, row.seq, keys, amount, limits, asked or 0)
            asked = None


def _counted_for(
    instance: Instance, slot: Fields, *, is_child: bool
) -> tuple[tuple[str, ...], dict[str, float]]:
    """The limits that count an instance, and those among them that its definition sets."""
    tenant, workflow = instance.tenant, instance.document["id"]
    keys = [f"type:{tenant}/{workflow}"]
    limits: dict[str, float] = {}
    if slot.get("key") is not None:
        own = f"key:{tenant}/{workflow}/{slot['key']}"
        keys.append(own)
        limits[own] = int(slot["limit"])
    if not is_child:
        keys += ["global", f"tenant:{tenant}"]
        if slot.get("user"):
            keys.append(f"user:{tenant}/{slot['user']}")
    return tuple(keys), limits


def _limit_between(run: Run, key: str, since: int, until: int) -> float:
    """The highest limit of a key that may have been set between two moments."""
    changes = run.limits or []
    found: list[float] = []
    ends: float = math.inf
    for change in reversed(changes):
        if int(change["asked"]) <= until and ends >= since:
            found.append(_limit_of(change["limits"], key))
        if change["done"] is not None:
            # From then on those before it are over; of one that was not answered nobody knows.
            ends = int(change["done"])
    if ends >= since and not (changes and changes[0]["asked"] == 0):
        found.append(math.inf)
    return max(found, default=math.inf)


def _limit_now(run: Run, key: str) -> float:
    if not run.limits:
        return 1 if key.startswith("mutex:") else math.inf
    return _limit_of(run.limits[-1]["limits"], key)


def _limit_of(limits: Fields, key: str) -> float:
    """Of the limits of all names, those of the service under the empty one."""
    kind, _, name = key.partition(":")
    if kind == "mutex":
        return 1
    service = dict(limits.get("") or {})
    if kind == "global":
        found = service.get("globalMaxConcurrent")
    elif kind == "tenant":
        found = _named(service.get("tenantLimits"), name)
    elif kind in ("type", "user"):
        tenant, _, which = name.partition("/")
        own = dict(limits.get(tenant) or {})
        found = _named(own.get("workflowTypeLimits" if kind == "type" else "userLimits"), which)
    else:
        found = None
    return math.inf if found is None else int(found)


def _named(limits: Fields | None, name: str) -> object:
    given = limits or {}
    return given.get(name, given.get("*"))


def _is_always_counted(run: Run, instance: Instance, rows: list[Row]) -> bool:
    """Whether a limit was set before the run began, and counts this instance to its end."""
    is_child = any(row.payload.get("parent") for row in rows[:1])
    keys = [f"type:{instance.tenant}/{instance.document['id']}"]
    if not is_child:
        keys += ["global", f"tenant:{instance.tenant}"]
    changes = run.limits or []
    return (
        bool(changes)
        and changes[0]["asked"] == 0
        and any(
            all(_limit_of(change["limits"], key) < math.inf for change in changes) for key in keys
        )
    )


_ABOUT_MUTEXES = frozenset(
    {"MUTEX_REQUESTED", "MUTEX_GRANTED", "NODE_COMPLETED", "NODE_FAILED", "NODE_CANCELLED"}
    | {"STATUS_CHANGED"}
)


def _mutex(instance: Instance, row: Row) -> str:
    return f"{instance.tenant}/{row.payload['mutex']}"


def _gives_back(row: Row, place: tuple[str, str, str], holder: tuple[str, str, str]) -> bool:
    if row.type == "STATUS_CHANGED":
        return holder[0] == place[0] and row.payload["to"] in FINAL
    return holder == place and row.payload.get("then") != "retry"


def _concurrency(document: Fields) -> Fields | None:
    options = document.get("options") or document.get("workflowOptions") or {}
    found = options.get("concurrency")
    return None if found is None else dict(found)


def _slot(row: Row) -> Fields | None:
    if row.type != "SYSTEM_SET":
        return None
    found = row.payload.get("values", {}).get("slot")
    return None if found is None else dict(found)


def _holds(row: Row, *, before: bool) -> bool:
    slot = _slot(row)
    if slot is not None:
        return bool(slot.get("state") == "held")
    return before and not (row.type == "STATUS_CHANGED" and row.payload["to"] in FINAL)


def _is_turn(key: str) -> bool:
    """Whether a count is no limit's, and says which tenant has its turn."""
    return key.startswith("turn:")
