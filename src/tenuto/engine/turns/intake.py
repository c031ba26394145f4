"""The queues before a lane: admission, and the order of inputs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import TypeAlias

from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.turns.batch import Batch, PendingLookBack, PendingMatch
from tenuto.engine.turns.fair_queue import FairQueue
from tenuto.engine.turns.requests import EventRequest, Request
from tenuto.engine.turns.sharing import MOST_LIGHT, Sharing
from tenuto.model.errors import Overloaded, ProcessStops, StoreUnavailable, TenutoError
from tenuto.store.parts.waits import LookedBack

MOST_BYTES = 4_000_000
"""The most bytes of mailbox messages that matchings may write in one turn."""

_LEAST_MATCHES = 20

_NONE: frozenset[str] = frozenset()
_LEFT = ProcessStops("the engine stopped before it was decided on")
_Queue: TypeAlias = (
    FairQueue[Request]
    | FairQueue[EventRequest]
    | FairQueue[PendingMatch]
    | FairQueue[PendingLookBack]
)


class Intake:
    """The queues before one lane; promised inputs precede new ones, and tenants take turns."""

    def __init__(
        self,
        bounds: Bounds = DEFAULT_BOUNDS,
        tenant_of: Callable[[str], str] = lambda _: "",
        sharing: Sharing | None = None,
    ) -> None:
        """`tenant_of`: the tenant of an instance, where that is known at once, else empty.

        `sharing`: what all lanes of the process know together.
        """
        self.sharing = Sharing() if sharing is None else sharing
        self.sharing.join(self.wake_up)
        self._most_messages = bounds.turn_messages
        self._bounds = bounds
        self._most_taken = bounds.turn_requests
        self.most_rows = bounds.turn_rows
        """With more rows of the log the turn that was taken last takes no further instance."""
        self.most_steps = bounds.turn_steps
        """The same for steps of expressions and schemas."""
        self.most_bytes = bounds.turn_bytes
        """The same for bytes of the log."""
        self.most_seconds = bounds.turn_seconds
        """The same for the time that decisions take."""
        self.most_entries = bounds.decision_entries
        """The most entries of a decision in the turn that was taken last."""
        self.backlogs: frozenset[str] = frozenset()
        """The tenants with a backlog in the turn that was taken last, while tenants share."""
        self.new_backlogs: frozenset[str] = frozenset()
        """Those of them with more than results, timers and mail in it."""
        self._most_waiting = bounds.waiting
        self._tenant_of = tenant_of
        self._finish: FairQueue[Request] = FairQueue(self._tenant_of_request)
        self._begin: FairQueue[Request] = FairQueue(self._tenant_of_request)
        self._events: FairQueue[EventRequest] = FairQueue(lambda request: request.event.tenant)
        self._matches: FairQueue[PendingMatch] = FairQueue(lambda pending: pending.match.tenant)
        self._looked_back: FairQueue[PendingLookBack] = FairQueue(
            lambda pending: self._tenant_of(pending.key.instance_id)
        )
        self._is_turn_of_large = self._is_turn_of_backlog = False
        self._suspects: deque[Batch] = deque()
        """Parts of a turn that the store refused, tried apart."""
        self._sleeping: asyncio.Future[None] | None = None
        self._ended: TenutoError | None = None
        """Why no more turns will be taken."""
        self.is_idle = asyncio.Event()
        """Set while nothing waits and no turn is under way."""
        self._is_idle = True
        """The same, for every input: an event would be asked for each."""
        self.is_idle.set()
        self.turn_over = asyncio.Event()
        """Set while no turn is under way: to wait for it is to wait for the end of that turn."""
        self.turn_over.set()

    # -- for senders

    def report(self, request: Request) -> None:
        """Take a promised input: results, timers, mail. Never refused for lack of room."""
        if self._ended is not None:
            request.refuse(self._ended)
            return
        self._finish.append(request)
        self.wake_up()

    def ask(self, request: Request) -> None:
        """Take a new input; Overloaded when too much is waiting."""
        self._refuse_when_ended()
        if self._begin.is_full_for(request, self._most_waiting):
            raise Overloaded(f"{len(self._begin)} starts and commands are waiting")
        self._begin.append(request)
        self.wake_up()

    def store_event(self, request: EventRequest) -> None:
        """Take an event for the inbox; Overloaded when too much is waiting."""
        self._refuse_when_ended()
        if self._events.is_full_for(request, self._most_waiting):
            raise Overloaded(f"{len(self._events)} events are waiting")
        self._events.append(request)
        self.wake_up()

    def store_match(self, pending: PendingMatch) -> None:
        """Record an event's targets."""
        self._refuse_when_ended()
        self._matches.append(pending)
        self.wake_up()

    def looked_back(self, key: LookedBack) -> asyncio.Future[None]:
        """Record that a wait's look-back found nothing."""
        self._refuse_when_ended()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._looked_back.append(PendingLookBack(key, future))
        self.wake_up()
        return future

    def abandon(self, error: TenutoError) -> None:
        """Refuse every waiting request, and all later ones: no more turns will be taken.

        Refused requests are removed: a lane that is still alive does not execute them after all.
        """
        self._ended = error
        for suspect in self._suspects:
            suspect.refuse(error)
        Batch(
            [*self._finish, *self._begin],
            list(self._events),
            list(self._matches),
            list(self._looked_back),
        ).refuse(error)
        for queue in (
            self._finish,
            self._begin,
            self._events,
            self._matches,
            self._looked_back,
            self._suspects,
        ):
            queue.clear()
        self._is_idle = True
        self.is_idle.set()

    def _tenant_of_request(self, request: Request) -> str:
        start = request.start
        if start is not None:
            return start.tenant
        return request.tenant or self._tenant_of(request.instance_id)

    def _refuse_when_ended(self) -> None:
        if self._ended is not None:
            raise self._ended

    # -- for metrics

    @property
    def promised(self) -> int:
        """How many results, timers and messages wait."""
        return len(self._finish)

    @property
    def new(self) -> int:
        """How many starts, commands and events wait."""
        return len(self._begin) + len(self._events)

    @property
    def before_another(self) -> int:
        """How many inputs go before that of a tenant which has none here.

        Tenants take turns: the backlog of one of several delays itself, and not the others.
        """
        share = self._bounds.turn_share
        queues = (self._finish, self._begin, self._events)
        return sum(min(len(items), share) for each in queues for items in each.tenants.values())

    @property
    def before_next(self) -> int:
        """How many inputs go before the next one, as far as is known of other tenants."""
        return self.before_another if self.sharing.is_shared else self.promised + self.new

    def has_backlog(self, tenant: str) -> bool:
        """Whether more inputs of a tenant wait here than a turn has of each of several."""
        queues = (self._finish, self._begin, self._events)
        waiting = sum(len(each.tenants.get(tenant, ())) for each in queues)
        return waiting > self._bounds.turn_share

    # -- for the lane

    def wake_up(self) -> None:
        """Wake the lane up, or keep it awake."""
        if self._is_idle:
            self._is_idle = False
            self.is_idle.clear()
        sleeping = self._sleeping
        if sleeping is not None:
            self._sleeping = None
            if not sleeping.done():
                sleeping.set_result(None)

    def sleep(self) -> asyncio.Future[None]:
        """Wait until the lane is woken up; there is nothing that it may do."""
        self.sharing.give_up(self)
        if self.is_empty:
            self._is_idle = True
            self.is_idle.set()
        elif self.sharing.is_left_to_another(self) and self._has_awake_backlog:
            # It is woken up when it may work on it. Of a tenant that rests, it is woken up after
            # that: lanes with nothing to do would wake each other up all the while.
            self.sharing.may_work_off(self, self.wake_up)
        self._sleeping = sleeping = asyncio.get_running_loop().create_future()
        return sleeping

    @property
    def _has_awake_backlog(self) -> bool:
        return not self._heavy_in(self._queues) <= self.sharing.resting.keys()

    @property
    def is_empty(self) -> bool:
        return not (
            self._finish.tenants
            or self._begin.tenants
            or self._events.tenants
            or self._matches.tenants
            or self._looked_back.tenants
            or self._suspects
        )

    @property
    def has_turn(self) -> bool:
        """Whether there is anything that the next turn may take."""
        if self._suspects:
            return True
        resting = self.sharing.resting
        is_left = self.sharing.is_left_to_another(self)
        if not (resting or is_left):
            return not self.is_empty
        heavy = self._heavy_in(self._queues) if is_left else frozenset[str]()
        return any(
            tenant not in resting and tenant not in heavy
            for queue in self._queues
            for tenant in queue.tenants
        )

    def take(self) -> Batch:
        """The next batch: results before new work, of which some is always taken.

        While several tenants are at work, every second batch has the inputs of those without a
        backlog alone, and every one while another lane works on a backlog.
        """
        self.turn_over.clear()
        self.backlogs = self.new_backlogs = frozenset()
        if self._suspects:
            return self._suspects.popleft()
        batch = self._chosen()
        # It was the turn of others, which have nothing.
        return batch if batch.size else self._chosen()

    def _chosen(self) -> Batch:
        if self.sharing.resting:
            with ExitStack() as stack:
                for queue in self._queues:
                    stack.enter_context(queue.without(self.sharing.resting))
                return self._next()
        return self._next()

    def _next(self) -> Batch:
        self._size_turn()
        heavy, light = self._weighed() if self.sharing.is_shared else (_NONE, _NONE)
        if not heavy:
            self.sharing.give_up(self)
            return self._taken()
        if not self.sharing.may_work_off(self, self.wake_up):
            return self._taken_without(heavy)
        self._is_turn_of_backlog = not self._is_turn_of_backlog
        if light and not self._is_turn_of_backlog:
            return self._taken_without(heavy)
        _, *new = self._queues
        self.backlogs, self.new_backlogs = heavy, self._heavy_in(new)
        return self._taken()

    def _taken_without(self, heavy: frozenset[str]) -> Batch:
        with ExitStack() as stack:
            for queue in self._queues:
                stack.enter_context(queue.without(heavy))
            return self._taken()

    def _weighed(self) -> tuple[frozenset[str], frozenset[str]]:
        """The tenants with a backlog, and some of those without one that have something to do."""
        heavy = self._heavy_in(self._queues)
        seen = {tenant for queue in self._queues for tenant in islice(queue.tenants, MOST_LIGHT)}
        light = frozenset(seen - heavy - {""})
        self.sharing.weighed(light, heavy)
        return heavy, light

    def _heavy_in(self, queues: Iterable[_Queue]) -> frozenset[str]:
        """The tenants with a backlog in one of these queues."""
        most = self._bounds.turn_share
        return frozenset(tenant for queue in queues for tenant in queue.more_than(most))

    def turn_ended(self) -> None:
        """The turn that was taken last is over."""
        self.turn_over.set()
        self.sharing.ended(self)

    @property
    def _queues(self) -> tuple[_Queue, ...]:
        return self._finish, self._begin, self._events, self._matches, self._looked_back

    def _taken(self) -> Batch:
        """The next inputs. While several tenants are at work, large events have every second turn.

        Others wait until they are stored: one for each turn, and none in a turn with other inputs.
        """
        if not self.sharing.is_shared:
            return self._taken_together()
        events, matches = self._events.first_with(_is_large), self._matches.first_with(_is_large)
        if not (events or matches):
            return self._taken_together()
        self._is_turn_of_large = not self._is_turn_of_large
        if not self._is_turn_of_large:
            with self._events.without(events), self._matches.without(matches):
                return self._taken_together()
        match = self._matches.pop_of(matches)
        event = self._events.pop_of(events) if match is None else None
        return Batch([], [] if event is None else [event], [] if match is None else [match], [])

    def _taken_together(self) -> Batch:
        promised = self._take(self._finish, self._most_taken) if self._finish.tenants else []
        # Each tenant has one new request in, however small the turn is.
        least = max(self._most_taken // 10, len(self._begin.tenants))
        room = max(self._most_taken - len(promised), least)
        return Batch(
            _mixed(promised, self._take(self._begin, room)) if self._begin.tenants else promised,
            self._taken_events() if self._events.tenants else [],
            self._taken_matches() if self._matches.tenants else [],
            self._looked_back.take(self._most_taken) if self._looked_back.tenants else [],
        )

    def _take(self, queue: FairQueue[Request], most: int) -> list[Request]:
        if self.sharing.is_shared:
            return queue.take_of_each(most, self._bounds.turn_share)
        return queue.take(most)

    def take_small_turns(self) -> None:
        """Much background work came at once: requests that come soon shall not wait behind it."""
        self.sharing.begin()

    def _size_turn(self) -> None:
        """Small turns while several tenants are at work: each of them waits for the others."""
        bounds, most = self._bounds, 1
        seen: list[str] = []
        for queue in (self._finish, self._begin, self._events):
            if queue.tenants:
                most = max(most, len(queue.tenants))
                seen += islice(queue.tenants, 3)
        self.sharing.saw(seen)
        self._most_taken, self.most_rows = bounds.turn_requests, bounds.turn_rows
        self.most_steps, self.most_bytes = bounds.turn_steps, bounds.turn_bytes
        self.most_entries = bounds.decision_entries
        if self.sharing.is_ended:
            # What a decision leaves over then is for the next process.
            self.most_entries = min(self.most_entries, bounds.shared_entries)
        if self.sharing.is_shared:
            self._most_taken = min(self._most_taken, bounds.turn_share * most)
            self.most_rows = min(self.most_rows, 2 * bounds.turn_share * most)
            self.most_steps = min(self.most_steps, bounds.shared_steps)
            self.most_bytes = min(self.most_bytes, bounds.shared_bytes)
            self.most_entries = min(self.most_entries, bounds.shared_entries)

    def _taken_events(self) -> list[EventRequest]:
        """Events up to the first whose id is among them: a turn has each id once.

        While several tenants are at work, up to the first large one.
        """
        events = self._events.take(self._most_taken)
        ids: set[str] = set()
        is_shared = self.sharing.is_shared
        for place, request in enumerate(events):
            if request.event.id in ids or (is_shared and request.is_large):
                self._events.put_first(events[place:])
                return events[:place]
            ids.add(request.event.id)
        return events

    def _taken_matches(self) -> list[PendingMatch]:
        """As many matchings as fit a turn with their messages, and at least one."""
        taken: list[PendingMatch] = []
        messages = size = 0
        most = max(self._most_taken // 10, _LEAST_MATCHES)
        if self.sharing.is_shared:
            most = min(most, self._most_taken)
        while self._matches and len(taken) < most:
            mail = self._matches.first.match.mail
            messages += len(mail)
            size += sum(len(message.input) for message in mail)
            if taken and (messages > self._most_messages or size > MOST_BYTES):
                break
            if self._matches.first.is_large and self.sharing.is_shared:
                break
            taken.append(self._matches.popleft())
        return taken

    def go_first(self, requests: Sequence[Request]) -> None:
        """Requests that were taken already, and go before all others next time."""
        self._finish.put_first(requests)

    def try_apart(self, parts: Sequence[Batch]) -> None:
        """Parts of a turn that the store refused: each is a turn by itself, before all others."""
        self._suspects.extendleft(reversed(parts))

    def refuse_new_of(self, tenants: Collection[str], error: TenutoError) -> None:
        """Refuse starts and commands of these tenants that wait."""
        self._refuse(
            lambda request: request.is_new and self._tenant_of_request(request) in tenants, error
        )

    def drop_unawaited(self) -> None:
        """Drop starts and commands whose senders were answered that they may not be written."""
        self._refuse(
            lambda request: request.is_new and request.future is not None and request.future.done(),
            _LEFT,
        )

    def _refuse(self, fits: Callable[[Request], bool], error: TenutoError) -> None:
        for queue in (self._finish, self._begin):
            for request in queue.remove(fits):
                request.refuse(error)
        # Or a lane that waits for a tenant to have rested would not notice that it is idle.
        self.wake_up()

    def turn_away(self, error: StoreUnavailable) -> None:
        """No turn can be taken now: new inputs are refused, promised ones wait."""
        new = Batch(list(self._begin), list(self._events), [], [])
        self._begin.clear()
        self._events.clear()
        new.refuse(error)

    def put_back(self, batch: Batch, error: StoreUnavailable | None = None) -> None:
        """Nothing was written: promised inputs wait; with an error new ones are refused."""
        if error is None:
            self.go_first(batch.requests)
            self._events.put_first(batch.events)
        else:
            self.go_first([request for request in batch.requests if not request.is_new])
            for request in batch.requests:
                if request.is_new:
                    request.refuse(error)
            for event in batch.events:
                if not event.future.done():
                    event.future.set_exception(error)
        self._matches.put_first(batch.matches)
        self._looked_back.put_first(batch.looked_back)


def _is_large(pending: EventRequest | PendingMatch) -> bool:
    return pending.is_large


def _mixed(promised: list[Request], new: list[Request]) -> list[Request]:
    """New requests evenly among promised ones: a turn may have no room for those at its end."""
    if not (promised and new):
        return promised or new
    share = len(promised) // len(new) + 1
    mixed: list[Request] = []
    for place, request in enumerate(new):
        mixed.append(request)
        mixed += promised[place * share : (place + 1) * share]
    return mixed + promised[len(new) * share :]
