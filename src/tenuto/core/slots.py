"""The slot of an instance: asked for at its start, given back at rest, asked for when it is woken.

While it has none nothing of the instance begins, as if it were paused; an end needs no slot. The
slot is a fact of the log: `SYSTEM_SET` with what is asked for, and whether it is there.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime, timedelta

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from tenuto.core.deciding import STALE, Deciding, Rejection
from tenuto.core.moments import Moments, UnknownCalendar
from tenuto.core.plan import Plan
from tenuto.core.queue_rules import Judged, matching
from tenuto.core.state import InstanceState
from tenuto.expr import CountedScope, ExpressionError, Steps, Undefined
from tenuto.model.durations import iso
from tenuto.model.effects import AskSlot, ReleaseSlot
from tenuto.model.entries import StatusChanged, SystemSet
from tenuto.model.inputs import Admitted, Started
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Policies
from tenuto.model.slots import SLOT, TIMEOUT_AT, Debounced, Paced, SlotRequest, SlotRules
from tenuto.model.status import NodeStatus, Status

NO_KEY = "TEN-2834"
LONGEST_KEY = 500
"""The most characters of a key."""


def slot_of(state: InstanceState) -> SlotRequest | None:
    """The slot that an instance asks for, or has; None: no limit counts it."""
    if not state.system:
        return None
    found = state.system.get(SLOT)
    return None if found is None else msgspec.convert(found, SlotRequest)


def wanted(
    plan: Plan, policies: Policies, asked: Started, steps: Steps
) -> SlotRequest | Rejection | None:
    """What a start asks for; None: no limit is in use."""
    parts = wanted_in_parts(plan, policies, asked, steps)
    while True:
        try:
            next(parts)
        except StopIteration as end:
            found: SlotRequest | Rejection | None = end.value
            return found


def wanted_in_parts(
    plan: Plan, policies: Policies, asked: Started, steps: Steps
) -> Generator[None, None, SlotRequest | Rejection | None]:
    """The same, with a pause before each rule of the queue."""
    options = plan.definition.options
    own = options.concurrency
    # A parent waits for each of its children: none of them stands for another.
    debounce = None if asked.parent is not None else options.debounce
    rate = options.rate
    rules = policies.slots
    if rules is not None and rules.wanted is not None:
        return rules.wanted
    is_limited = not (own is None and debounce is None and rate is None)
    is_counted = rules is not None and rules.is_counted
    if plan.rehearsal is not None or not (is_limited or is_counted):
        return None
    user = "" if asked.user is UNSET else asked.user
    keys: dict[str, str] = {}
    for name, option in (("concurrency", own), ("debounce", debounce), ("rate", rate)):
        if option is not None:
            key = key_of(plan, name, option.key, asked.input, steps)
            if isinstance(key, Rejection):
                return key
            keys[name] = key
    request = SlotRequest(user=user)
    if own is not None:
        request = replace(
            request,
            key=keys["concurrency"],
            limit=own.limit,
            keeps=own.hold_while_waiting,
            on_full=own.on_full,
        )
    if debounce is not None:
        most = None if debounce.max is None else _ms(debounce.max)
        held_back = Debounced(key=keys["debounce"], period=_ms(debounce.period), max=most)
        request = replace(request, debounce=held_back)
    if rate is not None:
        paced = Paced(key=keys["rate"], limit=rate.limit, per=_ms(rate.per))
        request = replace(request, rate=paced)
    if rules is None or not rules.rules:
        return request
    return (yield from _ruled(request, rules, plan, asked, steps))


def _ruled(
    request: SlotRequest, rules: SlotRules, plan: Plan, asked: Started, steps: Steps
) -> Generator[None, None, SlotRequest]:
    """What rules of the queue make of a request."""
    judged = Judged(
        workflow=asked.definition_id,
        version=asked.definition_version,
        input=asked.input,
        priority=asked.priority,
        deadline=asked.deadline,
        correlation_id=asked.correlation_id,
        user=request.user,
    )
    for rule in (yield from matching(rules.rules, judged, plan, steps)):
        request = replace(
            request,
            priority=request.priority if rule.priority is None else rule.priority,
            is_on_hold=request.is_on_hold or rule.hold,
        )
    return request


def key_of(
    plan: Plan, option: str, template: str | None, input: JSON, steps: Steps
) -> str | Rejection:
    """The value of `options.<option>.key` for an input; without a template all share one."""
    if template is None:
        return ""
    # Only the input exists yet, as for a deadline.
    roots: Object = {"ctx": {"input": input}, "workflow": {"input": input}, "steps": {}}
    scope = CountedScope(roots, steps)
    place = f"options.{option}.key"
    try:
        value: JSON | Undefined = plan.template("", option, template).render(scope)
    except ExpressionError as error:
        return _no_key(place, f"`{place}`: {error}")
    if value is None or isinstance(value, Undefined) or value == "":
        return _no_key(place, f"`{place}` gives no value for this input")
    key = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if len(key) > LONGEST_KEY:
        return _no_key(place, f"`{place}` gives a text of {len(key):,} characters")
    return key


def _no_key(place: str, message: str) -> Rejection:
    return Rejection(code=NO_KEY, message=message, path=f"$.{place}")


def _ms(span: timedelta) -> int:
    return max(1, span // timedelta(milliseconds=1))


def ask(d: Deciding, slot: SlotRequest, *, is_woken: bool = False) -> None:
    """Ask for a slot; nothing begins until it is granted."""
    _note(d, slot)
    d.order(AskSlot(number=slot.number, request=slot, is_woken=is_woken))


def waits(d: Deciding, slot: SlotRequest | None) -> bool:
    """Whether an instance that starts has to ask for its slot."""
    rules = d.policies.slots
    return slot is not None and (slot.is_held_up or rules is None or not rules.has_room)


def begin(d: Deciding, slot: SlotRequest) -> None:
    """Take the slot of an instance that starts, where there is room; else ask for it."""
    if waits(d, slot):
        ask(d, slot)
        return
    _note(d, replace(slot, state="held"))
    d.emit(StatusChanged(at=d.now, from_=Status.CREATED, to=Status.RUNNING))
    d.order(AskSlot(number=slot.number, request=slot, is_taken=True))


def admitted(d: Deciding, granted: Admitted) -> Rejection | None:
    """The instance has its slot: it begins, or goes on."""
    slot = slot_of(d.state)
    is_over = d.state.status.is_final or d.state.ending is not None
    if slot is None or slot.state != "asked" or slot.number != granted.number or is_over:
        return Rejection(code=STALE, message="this slot is not asked for any more")
    is_first = d.state.status is Status.CREATED
    held = replace(slot, state="held")
    if granted.at is not UNSET:
        held = replace(held, granted_at=granted.at)
    _note(d, held, _timeout_at(d) if is_first else None)
    if is_first:
        d.emit(StatusChanged(at=d.now, from_=Status.CREATED, to=Status.RUNNING))
    return None


def joins(d: Deciding, before: InstanceState) -> bool:
    """Whether an instance has to ask for a slot that started before limits counted it.

    It does when it wakes up, as those that have given their slots back; one that runs goes on.
    `before`: its state before this decision.
    """
    rules = d.policies.slots
    if rules is None or not rules.is_counted or (before.system and SLOT in before.system):
        return False
    is_at_rest = before.version > 0 and not before.status.is_final and _rests(before)
    is_over = d.state.status.is_final or d.state.ending is not None
    return is_at_rest and not is_over and d.plan.rehearsal is None


def join(d: Deciding) -> None:
    """Let limits count it from now on, those of its user left out: it is not known any more."""
    _note(d, SlotRequest(state="released"))


def ask_again(d: Deciding) -> None:
    """Ask for the slot of an instance that had given it back, since something is to begin."""
    slot = slot_of(d.state)
    if slot is not None and slot.state == "released":
        ask(d, replace(slot, state="asked", number=slot.number + 1), is_woken=True)


def retried(d: Deciding) -> None:
    """A failed instance is re-opened: what it held was given back at its end.

    One that started before limits counted it asks for the first time.
    """
    slot = slot_of(d.state)
    rules = d.policies.slots
    if slot is None and rules is not None and rules.is_counted and d.plan.rehearsal is None:
        slot = SlotRequest(number=0)
    if slot is not None:
        ask(d, replace(slot, state="asked", number=slot.number + 1), is_woken=True)


def give_back(d: Deciding) -> None:
    """Give the slot back where nothing is in flight, or the instance ends."""
    state = d.state
    if state.status.is_final:
        return  # given back with the end, however that came
    slot = slot_of(state)
    if slot is None:
        return
    if slot.state == "asked" and state.ending is not None:
        # What is left to do, and to undo, needs no slot.
        _note(d, replace(slot, state="released"))
        d.order(ReleaseSlot())
    elif slot.state == "held" and not slot.keeps and _rests(state):
        _note(d, replace(slot, state="released"))
        d.order(ReleaseSlot())


def _rests(state: InstanceState) -> bool:
    """Whether an instance only waits, sleeps or is paused."""
    if state.running or state.ending is not None or state.is_unsettled:
        return False
    return all(
        ((node := state.nodes[key]).status is NodeStatus.WAITING and node.mutex is None)
        or node.is_loop
        for key in state.open_nodes()
    )


def _timeout_at(d: Deciding) -> datetime | None:
    """When `options.timeout` ends an instance that begins now."""
    timeout = d.plan.definition.options.timeout
    if timeout is None:
        return None
    try:
        return Moments(d).after(timeout)
    except UnknownCalendar:
        return None  # it was removed while the instance waited: no time-out can be computed


def _note(d: Deciding, slot: SlotRequest, timeout_at: datetime | None = None) -> None:
    values: Object = {SLOT: msgspec.to_builtins(slot)}
    if timeout_at is not None:
        values[TIMEOUT_AT] = iso(timeout_at)
    d.emit(SystemSet(at=d.now, values=values))
