"""A lane commits turns, one after the other. Each is one transaction; only lanes write logs.

A turn is never delayed to fill up: it has the inputs that arrived during the previous commit.
Nothing is answered, started or armed before its turn is durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from tenuto.core import Rejection
from tenuto.engine.definitions.start_checks import key_conflict
from tenuto.engine.meters import TurnMeter
from tenuto.engine.outage import Outage
from tenuto.engine.turns.batch import Batch
from tenuto.engine.turns.draft import Draft
from tenuto.engine.turns.drafter import Drafter
from tenuto.engine.turns.intake import Intake
from tenuto.engine.turns.requests import Answer, EventRequest, Request
from tenuto.engine.turns.sharing import LONGEST_REST, REST_TIMES
from tenuto.model.errors import NotFound, StoreUnavailable, TenutoError, may_be_written
from tenuto.model.failure import NOT_STORABLE, Failure
from tenuto.model.inputs import EventMatched, TaskFailed, TaskSucceeded
from tenuto.ports import Clock
from tenuto.store.errors import CommitUnknown, DataRefused, Fenced
from tenuto.store.parts.slot_rows import Admission
from tenuto.store.parts.turns import EventResult, Outcome, Turn, TurnResult, WriteResult
from tenuto.store.protocol import Store

log = logging.getLogger("tenuto.lane")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0


class Process(Protocol):
    """The process that a lane works for."""

    @property
    def process_id(self) -> str:
        """The id under which the process owns instances."""

    def concluded(self, drafts: Sequence[Draft]) -> None:
        """Called when the entries of drafts are durable: perform their effects."""

    def stored(self, requests: Sequence[EventRequest], results: Mapping[str, EventResult]) -> None:
        """Called when events are in the inbox, now or before; `results` are by event id."""

    def hint(self, owners: Collection[str]) -> None:
        """Notify other processes of new input for instances that they own."""

    def admitted(self, admission: Admission) -> None:
        """Follow a pass of admission that was made with a turn."""

    def later(self, request: Request) -> None:
        """Retry an input later: the store refused even the record of its refusal."""

    async def fenced(self, process_id: str) -> None:
        """The store has declared `process_id` dead: continue under a new id."""


class Lane:
    """Commits turns serially for the instances whose ids hash to this lane."""

    def __init__(
        self,
        *,
        number: int,
        store: Store,
        intake: Intake,
        drafter: Drafter,
        clock: Clock,
        outage: Outage,
        process: Process,
        meter: TurnMeter,
    ) -> None:
        self._number = number
        self._store = store
        self._intake = intake
        self._drafter = drafter
        self._clock = clock
        self._outage = outage
        self._process = process
        self._meter = meter
        self._name = f"lane {number}"
        self._turns = 0
        self._pause = _FIRST_PAUSE
        self._is_available = True
        self._rested: Callable[[], None] | None = None
        """Ends the rest that began with the turn under way."""

    def project(self) -> int:
        """Update the rows of all running instances."""
        return self._woken_up_for(self._drafter.project())

    def next_stretch(self) -> int:
        """Update rows that lag. Called at intervals; a row lags by at most `STRETCHES` of them."""
        return self._woken_up_for(self._drafter.next_stretch())

    def _woken_up_for(self, lagging: int) -> int:
        if lagging:
            self._intake.wake_up()
        return lagging

    def let_all_go(self) -> None:
        """Forget all instances: the process does not own them any more."""
        self._drafter.forget_all()

    def leave_costly(self, error: TenutoError) -> None:
        """Refuse new requests of tenants whose decisions take long."""
        self._intake.refuse_new_of(self._drafter.costly, error)

    async def idle(self) -> None:
        """Return once nothing waits and no turn is under way."""
        await self._intake.is_idle.wait()

    async def run(self) -> None:
        """Take turns until cancelled."""
        while True:
            # Inputs of tenants that rest wake it up, too.
            while not (self._intake.has_turn or self._drafter.has_work):
                if not self._is_available:
                    self._outage.rests(self._name)
                await self._intake.sleep()
            await self.run_once()

    async def run_once(self) -> int:
        """One turn; returns how many instances were written."""
        batch = self._intake.take()
        began = self._clock.ticks()
        try:
            return await self._turn_over(batch)
        except asyncio.CancelledError:
            # The engine stops, and the store has not answered: the outcome is unknown.
            batch.refuse(may_be_written("the engine stopped before the store had answered"))
            raise
        except Exception as error:
            # A bug in the engine: this lane ends, and every sender is answered.
            batch.refuse(TenutoError(f"the engine's lane died: {error!r}"))
            raise
        finally:
            self._intake.turn_ended()
            if self._rested is not None:
                rested, self._rested = self._rested, None
                seconds = min(REST_TIMES * (self._clock.ticks() - began), LONGEST_REST)
                if seconds > 0:
                    self._clock.call_later(seconds, rested)
                else:
                    rested()

    async def _turn_over(self, batch: Batch) -> int:
        drafts: list[Draft] = []
        process_id = self._process.process_id
        try:
            intake = self._intake
            drafts, left = await self._drafter.draft(
                batch.requests,
                most_rows=intake.most_rows,
                most_steps=intake.most_steps,
                most_bytes=intake.most_bytes,
                most_seconds=intake.most_seconds,
                most_entries=intake.most_entries,
            )
            # A bounded turn keeps the loop and the store responsive; the rest comes first next
            # time. Neither the rest nor settled requests depend on the outcome of this turn.
            if left:
                self._intake.go_first(left)
            if sum([len(draft.requests) for draft in drafts]) < len(batch.requests):
                drafted = {id(request) for draft in drafts for request in draft.requests}
                batch.requests[:] = [each for each in batch.requests if id(each) in drafted]
            turn = self._turn(process_id, drafts, batch)
            if self._intake.sharing.is_shared:
                self._let_rest(drafts, batch)
            result = TurnResult({}, {}) if turn is None else await self._commit(turn)
        except StoreUnavailable as error:
            self._drafter.forget(drafts)
            self._intake.put_back(batch, error)
            await self._wait_for_store(error)
            return 0
        except Fenced:
            self._intake.put_back(batch)
            await self._enter_anew(process_id)
            return 0
        except DataRefused as error:
            self._drafter.forget(drafts)
            if batch.size == 1 and len(drafts) > len(batch.requests):
                # The turn also updates rows of other instances, which may be the cause.
                self._intake.try_apart([batch])
            else:
                self._take_apart(batch, error)
            return 0
        if not self._is_available:
            self._is_available, self._pause = True, _FIRST_PAUSE
            self._outage.worked(self._name)
        if batch.events:
            self._process.stored(batch.events, result.events)
        batch.noted()
        self._follow(drafts, result, process_id)
        owners = self._drafter.owners_to_hint()
        if owners:
            self._process.hint(owners)
        return len(drafts)

    def _follow(self, drafts: Sequence[Draft], result: TurnResult, process_id: str) -> None:
        """The turn of this process id is durable."""
        if process_id == self._process.process_id:
            self._conclude(drafts, result)
        else:
            self._conclude_for_others(drafts, result)
        if result.admission is not None:
            self._process.admitted(result.admission)

    def _let_rest(self, drafts: Sequence[Draft], batch: Batch) -> None:
        """While others are at work, tenants with long inputs, or many, have a quarter of it.

        An instance of another tenant has several turns, and waits for one of theirs at most. They
        rest from now on, so that no other lane takes a turn of theirs meanwhile. A backlog of
        results does not rest while the limit of the service has no room and keeps none for others:
        it is of instances whose slots others wait for, and that limit bounds it.
        """
        sharing, backlogs = self._intake.sharing, self._intake.backlogs
        resting = self._intake.new_backlogs if self._drafter.is_service_full else backlogs
        tenants = {draft.held.tenant for draft in drafts if draft.is_costly}
        tenants |= {each.event.tenant for each in batch.events if each.is_large}
        tenants |= {each.match.tenant for each in batch.matches if each.is_large}
        if resting:
            tenants |= resting - {""}
        took = self._clock.ticks() - self._drafter.began
        if tenants and sharing.has_light_beside(tenants | backlogs, took):
            self._rested = sharing.rest(tenants)

    def _turn(self, process_id: str, drafts: Sequence[Draft], batch: Batch) -> Turn | None:
        writes = tuple([write for draft in drafts if (write := draft.write()) is not None])
        if not (writes or batch.events or batch.matches or batch.looked_back):
            return None
        self._turns += 1
        return Turn(
            id=f"{process_id}.{self._number}.{self._turns}",
            process_id=process_id,
            at=self._clock.now(),
            writes=writes,
            events=tuple(request.event for request in batch.events),
            matches=tuple(pending.match for pending in batch.matches),
            looked_back=tuple(pending.key for pending in batch.looked_back),
            slots=self._drafter.room(writes),
            admits=True,
            keeps_slots=self._intake.sharing.was_shared_lately,
        )

    async def _commit(self, turn: Turn) -> TurnResult:
        """Commit a turn; while the outcome is unknown, send the same turn again."""
        began = self._meter.under_way[self._number] = self._clock.ticks()
        try:
            result = await self._committed(turn)
        finally:
            del self._meter.under_way[self._number]
        self._meter.committed(turn, self._clock.ticks() - began)
        return result

    async def _committed(self, turn: Turn) -> TurnResult:
        is_unknown = False
        pause = _FIRST_PAUSE
        while True:
            try:
                return await self._store.turns.commit(turn, self._number)
            except CommitUnknown:
                is_unknown = True
            except StoreUnavailable as error:
                if not is_unknown:
                    raise
                # Requests of this turn cannot be answered yet; later ones are refused.
                self._intake.turn_away(error)
            except DataRefused:
                if not turn.admits:
                    raise
                # Its pass of admission may be the cause, by rows of instances that wait: that is
                # left to the loop, and held against no instance of this turn.
                turn = replace(turn, admits=False)
                continue
            await self._clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _conclude(self, drafts: Sequence[Draft], result: TurnResult) -> None:
        """The turn is durable: winners advance, losers are decided again."""
        won: list[Draft] = []
        for draft in drafts:
            outcome = result.writes.get(draft.instance_id, _WON)
            if outcome.outcome is Outcome.WON:
                self._drafter.won(draft)
                if draft.answers:
                    for request, answer in draft.answers:
                        request.answer(answer)
                draft.is_admitted = result.is_admitted
                if result.events:
                    draft.stored = result.events
                won.append(draft)
            elif outcome.outcome is Outcome.LOST:
                self._drafter.lost(draft)
                self._intake.go_first([_again(request) for request in draft.requests])
            elif outcome.outcome is Outcome.FULL:
                self._drafter.full(draft)
                self._intake.go_first(draft.requests)
            elif outcome.outcome is Outcome.REMOVED:
                self._drafter.not_taken(draft)
                self._removed(draft)
            else:
                self._drafter.not_taken(draft)
                self._repeated(draft, outcome)
        if won:
            self._process.concluded(won)

    def _conclude_for_others(self, drafts: Sequence[Draft], result: TurnResult) -> None:
        """The turn is durable, and its process was declared dead meanwhile.

        Senders are answered; the effects are for the successors.
        """
        for draft in drafts:
            outcome = result.writes.get(draft.instance_id, _WON)
            if outcome.outcome is Outcome.WON:
                for request, answer in draft.answers:
                    request.answer(answer)
            elif outcome.outcome is Outcome.LOST:
                self._intake.go_first([_again(request) for request in draft.requests])
            elif outcome.outcome is Outcome.FULL:
                self._intake.go_first(draft.requests)
            elif outcome.outcome is Outcome.REMOVED:
                self._removed(draft)
            else:
                self._repeated(draft, outcome)

    def _removed(self, draft: Draft) -> None:
        """The definition was removed before the start: refuse it, and drop its mailbox message."""
        first, *rest = draft.requests
        error = NotFound(f"there is no workflow {draft.state.definition_id}", code="TEN-2002")
        first.refuse(error)
        if first.mail_id is not None:
            first.drops_if_gone = True
            first.refusal = Rejection(code=error.code, message=error.message)
            self._intake.report(_again(first))
        for request in rest:
            self._intake.report(_again(request))

    def _repeated(self, draft: Draft, outcome: WriteResult) -> None:
        assert outcome.existing_id is not None
        first, *rest = draft.requests
        if first.mail_id is not None:
            self._repeated_message(first, outcome.existing_id)
        elif outcome.outcome is Outcome.DUPLICATE:
            first.answer(
                Answer(
                    instance_id=outcome.existing_id,
                    status=draft.state.status,
                    version=0,
                    is_repeat=True,
                )
            )
        else:
            first.refuse(key_conflict(outcome.existing_id))
        for request in rest:
            self._intake.report(_again(request))

    def _repeated_message(self, request: Request, existing_id: str) -> None:
        """A start by a mailbox message whose key is in use: the message is removed.

        Where the instance is the message's own, which came twice, it says so itself.
        """
        if existing_id != request.instance_id:
            error = key_conflict(existing_id)
            request.drops_if_gone = True
            request.refusal = Rejection(code=error.code, message=error.message)
        self._intake.report(_again(request))

    def _take_apart(self, batch: Batch, error: DataRefused) -> None:
        """Split a batch that the store refuses, until the input that is the cause is alone."""
        if batch.size > 1:
            self._intake.try_apart(batch.parts())
            return
        for request in batch.requests:
            self._refused(request, error)
        batch._replace(requests=[]).refuse(_as_answer(error))

    def _refused(self, request: Request, error: DataRefused) -> None:
        """The store refuses the consequences of one input.

        A new request is refused. An input that was promised is not dropped: a task result becomes a
        failure, and for other inputs the instance is quarantined. If the store refuses even that,
        the input is retried with growing pauses.
        """
        kind = type(request.input).__name__
        reason = _reason(error)
        log.error("instance=%s: the store refused %s: %s", request.instance_id, kind, reason)
        if request.is_new and not isinstance(request.input, EventMatched):
            request.refuse(_as_answer(error))
        elif request.refusal is not None:
            request.refuse(_as_answer(error))
            if request.refusal.code == _REFUSED:
                request.refusal = None  # the store may accept the consequences next time
            self._process.later(request)
        elif (failed := _failed_instead(request, error)) is not None:
            self._intake.report(failed)
        else:
            message = f"the store refused the consequences of {kind}: {reason}"
            request.refusal = Rejection(code=_REFUSED, message=message)
            self._intake.report(request)

    async def _enter_anew(self, process_id: str) -> None:
        try:
            await self._process.fenced(process_id)
        except StoreUnavailable as error:
            await self._wait_for_store(error)

    async def _wait_for_store(self, error: StoreUnavailable) -> None:
        self._outage.noticed(self._name, error)
        self._is_available = False
        await self._clock.sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)


_WON = WriteResult(Outcome.WON)
_REFUSED = "TEN-2004"
_LONGEST_REASON = 500


def _failed_instead(request: Request, error: DataRefused) -> Request | None:
    """A failure instead of a refused task result; None if the refused result is that failure."""
    report = request.input
    if not isinstance(report, TaskSucceeded | TaskFailed):
        return None
    if isinstance(report, TaskFailed) and report.error.code == NOT_STORABLE:
        return None
    message = f"the store refused the result: {_reason(error)}"
    failed = TaskFailed(
        node=report.node,
        iteration=report.iteration,
        attempt=report.attempt,
        error=Failure(
            code=NOT_STORABLE,
            message=message,
            retryable=False,
            was_done=isinstance(report, TaskSucceeded),
        ),
    )
    return Request(request.instance_id, failed, mail_id=request.mail_id, lease=request.lease)


def _reason(error: DataRefused) -> str:
    """The store's message, cleaned: it may quote the refused data."""
    text = str(error)[:_LONGEST_REASON].replace("\0", "")
    return text.encode("utf-8", "replace").decode()


def _as_answer(error: DataRefused) -> TenutoError:
    return TenutoError(f"the store refused the data: {_reason(error)}", code=_REFUSED)


def _again(request: Request) -> Request:
    """A request to decide again; a start that lost is now an input of an existing instance."""
    request.start = None
    return request
