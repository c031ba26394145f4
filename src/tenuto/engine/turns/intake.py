"""The queues before a lane: admission, and the order of inputs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TypeVar

from tenuto.engine.bounds import DEFAULT_BOUNDS, Bounds
from tenuto.engine.turns.batch import Batch, PendingLookBack, PendingMatch
from tenuto.engine.turns.requests import EventRequest, Request
from tenuto.model.errors import Overloaded, StoreUnavailable, TenutoError
from tenuto.store.parts.waits import LookedBack

MOST_BYTES = 4_000_000
"""The most bytes of mailbox messages that matchings may write in one turn."""

_T = TypeVar("_T")


class Intake:
    """The queues before one lane; promised inputs precede new ones."""

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self._most_messages = bounds.turn_messages
        self._most_taken = bounds.turn_requests
        self._most_waiting = bounds.waiting
        self._finish: deque[Request] = deque()
        self._begin: deque[Request] = deque()
        self._events: deque[EventRequest] = deque()
        self._matches: deque[PendingMatch] = deque()
        self._looked_back: deque[PendingLookBack] = deque()
        self._suspects: deque[Batch] = deque()
        """Parts of a turn that the store refused, tried apart."""
        self._sleeping: asyncio.Future[None] | None = None
        self._ended: TenutoError | None = None
        """Why no more turns will be taken."""
        self.is_idle = asyncio.Event()
        """Set while nothing waits and no turn is under way."""
        self.is_idle.set()

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
        if len(self._begin) >= self._most_waiting:
            raise Overloaded(f"{len(self._begin)} starts and commands are waiting")
        self._begin.append(request)
        self.wake_up()

    def store_event(self, request: EventRequest) -> None:
        """Take an event for the inbox; Overloaded when too much is waiting."""
        self._refuse_when_ended()
        if len(self._events) >= self._most_waiting:
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
        self.is_idle.set()

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

    # -- for the lane

    def wake_up(self) -> None:
        """Wake the lane up, or keep it awake."""
        self.is_idle.clear()
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    def sleep(self) -> asyncio.Future[None]:
        """Wait until the lane is woken up; there is nothing to do."""
        self.is_idle.set()
        self._sleeping = asyncio.get_running_loop().create_future()
        return self._sleeping

    @property
    def is_empty(self) -> bool:
        return not (
            self._finish
            or self._begin
            or self._events
            or self._matches
            or self._looked_back
            or self._suspects
        )

    def take(self) -> Batch:
        """The next batch: results before new work."""
        if self._suspects:
            return self._suspects.popleft()
        requests = list(self._finish)
        self._finish.clear()
        room = max(self._most_taken - len(requests), self._most_taken // 10)
        return Batch(
            requests + _drained(self._begin, room),
            self._taken_events(),
            self._taken_matches(),
            _drained(self._looked_back, self._most_taken),
        )

    def _taken_events(self) -> list[EventRequest]:
        """Events up to the first whose id is among them: a turn has each id once."""
        taken: dict[str, EventRequest] = {}
        while (
            self._events and len(taken) < self._most_taken and self._events[0].event.id not in taken
        ):
            request = self._events.popleft()
            taken[request.event.id] = request
        return list(taken.values())

    def _taken_matches(self) -> list[PendingMatch]:
        """As many matchings as fit a turn with their messages, and at least one."""
        taken: list[PendingMatch] = []
        messages = size = 0
        while self._matches and len(taken) < self._most_taken // 10:
            mail = self._matches[0].match.mail
            messages += len(mail)
            size += sum(len(message.input) for message in mail)
            if taken and (messages > self._most_messages or size > MOST_BYTES):
                break
            taken.append(self._matches.popleft())
        return taken

    def go_first(self, requests: Sequence[Request]) -> None:
        """Requests that were taken already, and go before all others next time."""
        self._finish.extendleft(reversed(requests))

    def try_apart(self, parts: Sequence[Batch]) -> None:
        """Parts of a turn that the store refused: each is a turn by itself, before all others."""
        self._suspects.extendleft(reversed(parts))

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
            self._events.extendleft(reversed(batch.events))
        else:
            self.go_first([request for request in batch.requests if not request.is_new])
            for request in batch.requests:
                if request.is_new:
                    request.refuse(error)
            for event in batch.events:
                if not event.future.done():
                    event.future.set_exception(error)
        self._matches.extendleft(reversed(batch.matches))
        self._looked_back.extendleft(reversed(batch.looked_back))


def _drained(queue: deque[_T], most: int) -> list[_T]:
    return [queue.popleft() for _ in range(min(len(queue), most))]
