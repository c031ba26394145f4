"""The only writer of logs: turns of whatever waits, each one transaction, one after the other.

A turn is never delayed to fill up: it is what arrived while the one before was being committed.
Nothing is answered, started or armed before the turn that led to it is durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from tenuto.core import Decision, Plan, Rejection, blank, decide
from tenuto.core.deciding import Deciding
from tenuto.core.ending import quarantine
from tenuto.engine.batch import Batch, PendingLookBack, PendingMatch
from tenuto.engine.draft import Draft
from tenuto.engine.held import Cache, Held
from tenuto.engine.loading import Loader
from tenuto.engine.requests import Answer, EventRequest, Request
from tenuto.model.errors import Conflict, NotFound, Overloaded, StoreUnavailable, TenutoError
from tenuto.model.failure import Failure
from tenuto.model.inputs import TaskFailed, TaskSucceeded
from tenuto.ports import Clock
from tenuto.store.protocol import (
    CommitUnknown,
    DataRefused,
    MatchWrite,
    Outcome,
    Store,
    Turn,
    TurnResult,
    WaitKey,
    WriteResult,
)

log = logging.getLogger("tenuto.lane")

MOST_ROWS = 2_000
MOST_BYTES = 4_000_000
MOST_BEGINNING = 10_000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0

_T = TypeVar("_T")


class Lane:
    """Serial turns over the instances that hash to it."""

    def __init__(
        self,
        *,
        number: int,
        store: Store,
        loader: Loader,
        cache: Cache,
        clock: Clock,
        process_id: str,
        concluded: Callable[[Draft], None],
        unreadable: Callable[[Request], None],
    ) -> None:
        self._number = number
        self._store = store
        self._loader = loader
        self._cache = cache
        self._clock = clock
        self._process_id = process_id
        self._concluded = concluded
        self._unreadable = unreadable
        self._finish: deque[Request] = deque()
        self._begin: deque[Request] = deque()
        self._events: deque[EventRequest] = deque()
        self._matches: deque[PendingMatch] = deque()
        self._looked_back: deque[PendingLookBack] = deque()
        self._suspects: deque[Batch] = deque()
        """Parts of a turn that the store refused, tried apart."""
        self._unprojected: set[str] = set()
        self._is_projecting = False
        self._sleeping: asyncio.Future[None] | None = None
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._turns = 0
        self._ended: TenutoError | None = None
        """Why no more turns will be taken."""
        self._pause = _FIRST_PAUSE
        self.is_available = True

    # -- intake

    def report(self, request: Request) -> None:
        """Take what was promised already: results, timers, mail. Always let in."""
        if self._ended is not None:
            request.refuse(self._ended)
            return
        self._finish.append(request)
        self._wake_up()

    def ask(self, request: Request) -> None:
        """Take something new; Overloaded when too much is waiting."""
        self._refuse_when_ended()
        if len(self._begin) >= MOST_BEGINNING:
            raise Overloaded(f"{len(self._begin)} starts and commands are waiting")
        self._begin.append(request)
        self._wake_up()

    def store_event(self, request: EventRequest) -> None:
        """Take an event for the inbox; Overloaded when too much is waiting."""
        self._refuse_when_ended()
        if len(self._events) >= MOST_BEGINNING:
            raise Overloaded(f"{len(self._events)} events are waiting")
        self._events.append(request)
        self._wake_up()

    def store_match(self, match: MatchWrite) -> asyncio.Future[None]:
        """Record an event's targets."""
        self._refuse_when_ended()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._matches.append(PendingMatch(match, future))
        self._wake_up()
        return future

    def looked_back(self, key: WaitKey) -> asyncio.Future[None]:
        """Record that a wait's look-back found nothing."""
        self._refuse_when_ended()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._looked_back.append(PendingLookBack(key, future))
        self._wake_up()
        return future

    def project(self) -> int:
        """Bring the rows of running instances up to where they are; lists lag by a tick at most."""
        if self._unprojected:
            self._is_projecting = True
            self._wake_up()
        return len(self._unprojected)

    def abandon(self, error: TenutoError) -> None:
        """No more turns will be taken: tell everybody who waits, and whoever comes now."""
        self._ended = error
        for suspect in self._suspects:
            suspect.refuse(error)
        Batch(
            [*self._finish, *self._begin],
            list(self._events),
            list(self._matches),
            list(self._looked_back),
        ).refuse(error)
        self._is_idle.set()

    def _refuse_when_ended(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _wake_up(self) -> None:
        self._is_idle.clear()
        if self._sleeping is not None and not self._sleeping.done():
            self._sleeping.set_result(None)

    async def idle(self) -> None:
        """Return once nothing waits and no turn is under way."""
        await self._is_idle.wait()

    # -- turns

    async def run(self) -> None:
        """Take turns until cancelled."""
        while True:
            if not self._has_work:
                self._is_idle.set()
                self._sleeping = asyncio.get_running_loop().create_future()
                await self._sleeping
            await self.run_once()

    @property
    def _has_work(self) -> bool:
        return bool(
            self._finish
            or self._begin
            or self._events
            or self._matches
            or self._looked_back
            or self._suspects
            or (self._is_projecting and self._unprojected)
        )

    async def run_once(self) -> int:
        """One turn; returns how many instances were written."""
        batch = self._take()
        try:
            return await self._turn_over(batch)
        except asyncio.CancelledError:
            # The engine stops, and the store has not answered: nobody knows what became of it.
            batch.refuse(
                StoreUnavailable(
                    "the engine stopped before the store had answered",
                    advice="Ask again when it runs; with the same key or id nothing is done twice.",
                )
            )
            raise
        except Exception as error:
            # A bug of ours, and the end of this lane; nobody is left waiting for an answer.
            batch.refuse(TenutoError(f"the engine's lane died: {error!r}"))
            raise

    async def _turn_over(self, batch: Batch) -> int:
        drafts: list[Draft] = []
        try:
            drafts = await self._draft(batch.requests)
            turn = self._turn(drafts, batch)
            result = TurnResult({}, {}) if turn is None else await self._commit(turn)
        except StoreUnavailable as error:
            self._forget(drafts)
            self._put_back(batch, error)
            await self._wait_for_store(error)
            return 0
        except DataRefused as error:
            self._forget(drafts)
            self._take_apart(batch, error)
            return 0
        self.is_available, self._pause = True, _FIRST_PAUSE
        for event in batch.events:
            if not event.future.done():
                event.future.set_result(result.events[event.event.id])
        for future in batch.notes:
            if not future.done():
                future.set_result(None)
        self._conclude(drafts, result)
        return len(drafts)

    def _take(self) -> Batch:
        """What waits now: results before new work."""
        if self._suspects:
            return self._suspects.popleft()
        requests = list(self._finish)
        self._finish.clear()
        room = max(MOST_ROWS - len(requests), MOST_ROWS // 10)
        return Batch(
            requests + _drained(self._begin, room),
            self._taken_events(),
            _drained(self._matches, MOST_ROWS // 10),
            _drained(self._looked_back, MOST_ROWS),
        )

    def _taken_events(self) -> list[EventRequest]:
        """Events up to the first whose id is among them: a turn has each id once."""
        taken: dict[str, EventRequest] = {}
        while self._events and len(taken) < MOST_ROWS and self._events[0].event.id not in taken:
            request = self._events.popleft()
            taken[request.event.id] = request
        return list(taken.values())

    async def _draft(self, requests: list[Request]) -> list[Draft]:
        """Decide on what a turn can hold, and leave only that in `requests`.

        Nothing is awaited between the first decision and the last.
        """
        grouped: dict[str, list[Request]] = {}
        left: list[Request] = []
        for request in requests:
            together = grouped.setdefault(request.instance_id, [])
            # A start meets the gate by itself: it may turn out to be a repeat.
            if together and (request.start is not None or together[0].start is not None):
                left.append(request)
            else:
                together.append(request)
        if self._is_projecting:
            self._is_projecting = False
            for instance_id in self._unprojected:
                grouped.setdefault(instance_id, [])
        held = await self._hold(grouped)
        now = self._clock.now()
        drafts: list[Draft] = []
        rows = size = 0
        for instance_id in sorted(grouped):
            found = held.get(instance_id)
            waiting = grouped[instance_id]
            if found is None:
                self._unprojected.discard(instance_id)
                continue
            if rows > MOST_ROWS or size > MOST_BYTES:
                left += waiting
                continue
            draft = Draft.of(instance_id, found)
            for request in waiting:
                self._decide(draft, request, now)
            drafts.append(draft)
            rows += len(draft.rows)
            size += draft.size
        if left:
            # A bounded turn keeps the loop and the store responsive; the rest goes first next time,
            # and has no part in what becomes of this turn.
            self._finish.extendleft(reversed(left))
            requests[:] = [request for draft in drafts for request in draft.requests]
        return drafts

    def _decide(self, draft: Draft, request: Request, now: datetime) -> None:
        plan = draft.held.plan
        try:
            draft.take(request, decide(plan, draft.state, request.input, now))
        except Exception as error:  # one bad instance must not stop the others
            log.exception("instance %s cannot be decided on", draft.instance_id)
            draft.take(request, _quarantined(plan, draft, now, error))

    async def _hold(self, grouped: dict[str, list[Request]]) -> dict[str, Held]:
        held: dict[str, Held] = {}
        missing: list[str] = []
        for instance_id, requests in grouped.items():
            start = requests[0].start if requests else None
            if start is None:
                found = self._cache.get(instance_id)
            else:
                found = Held(blank(instance_id), start.plan, start.tenant)
            if found is None:
                missing.append(instance_id)
            else:
                held[instance_id] = found
        if missing:
            loaded = await self._loader.load(missing)
            for instance_id in missing:
                found_or_error = loaded.get(instance_id)
                if isinstance(found_or_error, Held):
                    held[instance_id] = found_or_error
                else:
                    self._refuse_all(grouped[instance_id], instance_id, found_or_error)
        return held

    def _refuse_all(
        self, requests: list[Request], instance_id: str, error: TenutoError | None
    ) -> None:
        for request in requests:
            request.refuse(error or NotFound(f"there is no instance {instance_id}"))
            self._unreadable(request)

    def _turn(self, drafts: Sequence[Draft], batch: Batch) -> Turn | None:
        writes = tuple(write for draft in drafts if (write := draft.write()) is not None)
        if not (writes or batch.events or batch.matches or batch.looked_back):
            return None
        self._turns += 1
        return Turn(
            id=f"{self._process_id}.{self._number}.{self._turns}",
            process_id=self._process_id,
            at=self._clock.now(),
            writes=writes,
            events=tuple(request.event for request in batch.events),
            matches=tuple(pending.match for pending in batch.matches),
            looked_back=tuple(pending.key for pending in batch.looked_back),
        )

    async def _commit(self, turn: Turn) -> TurnResult:
        """Commit; when the outcome is unknown, the same turn is sent until it is known."""
        is_unknown = False
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self._store.commit(turn, self._number)
            except CommitUnknown:
                is_unknown = True
            except StoreUnavailable:
                if not is_unknown:
                    raise
            await self._clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _conclude(self, drafts: Sequence[Draft], result: TurnResult) -> None:
        """The turn is durable: the winners advance, the losers go again."""
        for draft in drafts:
            outcome = result.writes.get(draft.instance_id, _WON)
            if outcome.outcome is Outcome.WON:
                draft.committed()
                self._keep(draft)
                self._answer(draft)
                self._concluded(draft)
            elif outcome.outcome is Outcome.LOST:
                if draft.before.version:
                    self._cache.drop(draft.instance_id)
                self._finish.extendleft(reversed([self._again(r) for r in draft.requests]))
                self._wake_up()
            else:
                self._repeated(draft, outcome)

    def _keep(self, draft: Draft) -> None:
        held = draft.held
        if held.state.version == 0:
            return  # a start that was rejected: there is no such instance
        self._cache.put(draft.instance_id, held)
        if held.is_projected or held.state.status.is_final:
            self._unprojected.discard(draft.instance_id)
        else:
            self._unprojected.add(draft.instance_id)

    def _answer(self, draft: Draft) -> None:
        for request, answer in draft.answers:
            request.answer(answer)

    @staticmethod
    def _again(request: Request) -> Request:
        """A start that lost found its id in use: from now on it is an input like any other."""
        request.start = None
        return request

    def _repeated(self, draft: Draft, outcome: WriteResult) -> None:
        assert outcome.existing_id is not None
        first, *rest = draft.requests
        if outcome.outcome is Outcome.DUPLICATE:
            first.answer(
                Answer(
                    instance_id=outcome.existing_id,
                    status=draft.state.status,
                    version=0,
                    is_repeat=True,
                )
            )
        else:
            first.refuse(
                Conflict(
                    f"this key was used for another start: instance {outcome.existing_id}",
                    code="TEN-3004",
                    advice="Use a new key for a new start, or repeat the first one unchanged.",
                )
            )
        for request in rest:
            self.report(self._again(request))

    def _forget(self, drafts: Sequence[Draft]) -> None:
        """Nothing of these was written: what memory holds of them is read anew."""
        for draft in drafts:
            self._cache.drop(draft.instance_id)
            self._unprojected.add(draft.instance_id)

    def _take_apart(self, batch: Batch, error: DataRefused) -> None:
        """The store refuses something in here: find the guilty input, let the others through."""
        if batch.size > 1:
            self._suspects.extendleft(reversed(batch.parts()))
            return
        for request in batch.requests:
            self._refused(request, error)
        batch.refuse(TenutoError(f"the store refused the data: {error}", code="TEN-2004"))

    def _refused(self, request: Request, error: DataRefused) -> None:
        """One input stands alone with data that no store takes."""
        log.error(
            "instance %s: the store refused %r: %s", request.instance_id, request.input, error
        )
        if isinstance(request.input, TaskSucceeded | TaskFailed) and request.mail_id is None:
            failure = Failure(
                code="NOT_STORABLE",
                message=f"the store refused the result: {error}",
                retryable=False,
            )
            report = request.input
            is_second_time = isinstance(report, TaskFailed) and report.error == failure
            if not is_second_time:
                self.report(
                    Request(
                        request.instance_id,
                        TaskFailed(
                            node=report.node,
                            iteration=report.iteration,
                            attempt=report.attempt,
                            error=failure,
                        ),
                    )
                )

    def _put_back(self, batch: Batch, error: StoreUnavailable) -> None:
        """Nothing was written: what was promised waits, what is new is refused."""
        kept = [request for request in batch.requests if not request.is_new]
        for request in batch.requests:
            if request.is_new:
                request.refuse(error)
        self._finish.extendleft(reversed(kept))
        for event in batch.events:
            if not event.future.done():
                event.future.set_exception(error)
        self._matches.extendleft(reversed(batch.matches))
        self._looked_back.extendleft(reversed(batch.looked_back))

    async def _wait_for_store(self, error: StoreUnavailable) -> None:
        if self.is_available:
            log.error("the store is unavailable, trying again: %s", error)
        self.is_available = False
        await self._clock.sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)


_WON = WriteResult(Outcome.WON)


def _drained(queue: deque[_T], most: int) -> list[_T]:
    return [queue.popleft() for _ in range(min(len(queue), most))]


def _quarantined(plan: Plan, draft: Draft, now: datetime, error: Exception) -> Decision:
    message = f"{type(error).__name__}: {error}"
    if draft.state.version == 0:
        return Decision(state=draft.state, rejection=Rejection(code="TEN-4000", message=message))
    deciding = Deciding(plan, draft.state, now)
    quarantine(deciding, message)
    return deciding.done()
