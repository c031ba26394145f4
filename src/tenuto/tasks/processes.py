"""Tasks with isolation="process" run in child processes that can be killed.

A lane is a thread with a child process of its own, which it keeps for the next attempt. Only the
lane's thread touches the child: requests to stop or kill it go to the lane. A child that was
killed, or ended by itself, is replaced for the next attempt.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tenuto.model.failure import Failure
from tenuto.model.inputs import TaskSucceeded
from tenuto.ports import Clock
from tenuto.tasks.address import address_of
from tenuto.tasks.attempt import Attempt, Outcome, checked_handle
from tenuto.tasks.child_process import Child, ChildDied
from tenuto.tasks.failures import PROCESS_DIED, Refused, cancelled
from tenuto.tasks.fair_places import FairPlaces
from tenuto.tasks.frames import (
    Answer,
    AskOutputs,
    AskUndo,
    Beat,
    Begun,
    Done,
    Failed,
    Ready,
    Run,
    Stop,
    Wrote,
    encode,
    from_child,
)

_START_SECONDS = 30.0
"""Seconds that an interpreter may take to start, beyond the time-out of the waiting attempt."""


class Processes:
    """Runs attempts in child processes. Its state is changed only in the event loop."""

    def __init__(
        self,
        clock: Clock,
        begin: Callable[[Attempt, float], None],
        settle: Callable[[Attempt, Outcome], None],
        *,
        output_limit: int,
        most: int | None = None,
    ) -> None:
        self._clock = clock
        self._begin = begin
        self._settle = settle
        self._limit = output_limit
        self._most = most or os.cpu_count() or 1
        self._places = FairPlaces(self._most)
        self._lanes: set[Lane] = set()
        self._idle: list[Lane] = []
        self._busy: dict[Attempt, Lane] = {}
        self._all_closed: asyncio.Future[None] | None = None
        self._numbers = itertools.count(1)

    def add(self, attempt: Attempt) -> None:
        self._places.add(attempt)
        self._hand_out()

    def stop(self, attempt: Attempt, grace: float) -> None:
        lane = self._busy.get(attempt)
        if lane is not None:
            lane.wake()
            self._clock.call_later(grace, lambda: self.abandon(attempt))

    def abandon(self, attempt: Attempt) -> None:
        lane = self._busy.get(attempt)
        if lane is not None:
            lane.kill(attempt)

    async def close(self, patience: float) -> None:
        """End every child; those left after `patience` seconds end with this process."""
        self._places.clear()
        if not self._lanes:
            return
        self._all_closed = asyncio.get_running_loop().create_future()
        for lane in self._lanes:
            lane.close()
        timer = self._clock.call_later(patience, self._end_closing)
        await self._all_closed
        timer.cancel()

    def _hand_out(self) -> None:
        while self._places.has_next:
            lane = self._idle.pop() if self._idle else self._open_lane()
            if lane is None:
                return
            attempt = self._places.take()
            self._busy[attempt] = lane
            # The attempt's own time counts from the start of the child; this bounds that start.
            self._begin(attempt, _START_SECONDS)
            lane.inbox.put(attempt)

    def _open_lane(self) -> Lane | None:
        if len(self._lanes) >= self._most:
            return None
        loop = asyncio.get_running_loop()
        ticks = self._clock.ticks
        lane = Lane(self._limit, self._up, self._take_back, self._closed, loop, ticks=ticks)
        self._lanes.add(lane)
        lane.start(f"tenuto-process-{next(self._numbers)}")
        return lane

    def _up(self, attempt: Attempt) -> None:
        if not attempt.is_settled:
            self._begin(attempt, 0.0)

    def _take_back(self, lane: Lane, attempt: Attempt, outcome: Outcome) -> None:
        del self._busy[attempt]
        self._places.left(attempt)
        self._idle.append(lane)
        self._settle(attempt, outcome)
        self._hand_out()

    def _closed(self, lane: Lane) -> None:
        self._lanes.discard(lane)
        lane.release()
        if not self._lanes:
            self._end_closing()

    def _end_closing(self) -> None:
        if self._all_closed is not None and not self._all_closed.done():
            self._all_closed.set_result(None)


class Lane:
    """A thread that runs one attempt after the other in a child process."""

    def __init__(
        self,
        output_limit: int,
        up: Callable[[Attempt], None],
        back: Callable[[Lane, Attempt, Outcome], None],
        closed: Callable[[Lane], None],
        loop: asyncio.AbstractEventLoop,
        *,
        ticks: Callable[[], float],
    ) -> None:
        self.inbox: queue.SimpleQueue[Attempt | None] = queue.SimpleQueue()
        self._limit = output_limit
        self._ticks = ticks
        self._up = up
        self._back = back
        self._closed = closed
        self._loop = loop
        self._child: Child | None = None
        self._condemned: Attempt | None = None
        self._is_closing = False
        self._hears, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)
        os.set_blocking(self._hears, False)

    def start(self, name: str) -> None:
        threading.Thread(target=self._live, name=name, daemon=True).start()

    def wake(self) -> None:
        """Wake the thread, so that it checks its requests."""
        try:
            os.write(self._wakes, b"!")
        except BlockingIOError:
            # The pipe is full: the thread is going to wake anyway.
            return

    def kill(self, attempt: Attempt) -> None:
        self._condemned = attempt
        self.wake()

    def close(self) -> None:
        self._is_closing = True
        self.inbox.put(None)
        self.wake()

    def release(self) -> None:
        """Close the descriptors that only the loop uses to wake the thread."""
        os.close(self._hears)
        os.close(self._wakes)

    def _live(self) -> None:
        try:
            while (attempt := self.inbox.get()) is not None:
                outcome = self._perform(attempt)
                self._tell(self._back, self, attempt, outcome)
        finally:
            if self._child is not None:
                self._child.end()
            self._tell(self._closed, self)

    def _tell(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            # The loop is closed: the outcome cannot be reported.
            self._is_closing = True

    def _perform(self, attempt: Attempt) -> Outcome:
        try:
            return self._converse(attempt)
        except ChildDied as death:
            self._drop_child()
            if attempt.is_asked_to_stop:
                return attempt.failed(cancelled())
            message = f"the process of the task ended by itself: {death}"
            return attempt.failed(Failure(code=PROCESS_DIED, message=message))
        except Refused as refused:
            # Found before any message to the child, which can be reused.
            return attempt.failed(refused)
        except Exception as error:  # noqa: BLE001 - no child may be left in the middle of something
            self._drop_child()
            return attempt.failed(error)

    def _converse(self, attempt: Attempt) -> Outcome:
        attentive = _Attentive(self, attempt)
        child = self._ordered_child(attempt, attentive)
        while True:
            match from_child(child.receive(attentive)):
                case Beat(details):
                    attempt.beat(msgspec.json.decode(details))
                case Wrote(lines):
                    now = self._ticks()
                    attempt.log.extend([replace(each, ticks=now + each.ticks) for each in lines])
                case AskOutputs():
                    answer = Answer(Raw(encode(attempt.previous_outputs())))
                    child.send(attentive, encode(answer))
                case AskUndo():
                    child.send(attentive, encode(Answer(Raw(encode(attempt.undo())))))
                case Done(output, handle, delay):
                    return _success(attempt, output, handle, delay)
                case Failed(failure, was_told):
                    return attempt.failed(cancelled() if was_told else failure)
                case Ready() | Begun():
                    pass

    def _order(self, attempt: Attempt) -> Run:
        order, facts = attempt.order, attempt.facts
        return Run(
            path=[folder for folder in sys.path if folder],
            address=address_of(attempt.task),
            input=Raw(encode(attempt.given)),
            instance_id=attempt.key[0],
            step_id=order.node,
            attempt=order.attempt,
            idempotency_key=order.idempotency_key,
            correlation_id=facts.correlation_id,
            deadline=facts.deadline,
            output_limit=self._limit,
            traceparent=facts.traceparent,
            keeps_lines=attempt.keeps_lines,
            log_level=logging.getLogger().level,
            secret_values=attempt.secret_values,
        )

    def _ordered_child(self, attempt: Attempt, attentive: _Attentive) -> Child:
        """A child that has taken the order."""
        order = self._order(attempt)
        if self._child is not None:
            try:
                return self._give(self._child, order, attempt, attentive)
            except ChildDied:
                # It ended while it was idle: the attempt has not begun.
                self._drop_child()
                if self.is_to_be_killed(attempt):
                    raise
        self._child = child = Child(self._hears)
        child.receive(attentive)
        return self._give(child, order, attempt, attentive)

    def _give(self, child: Child, order: Run, attempt: Attempt, attentive: _Attentive) -> Child:
        if attempt.is_asked_to_stop:
            raise Refused(cancelled())
        self._tell(self._up, attempt)
        child.send(attentive, encode(order))
        attentive.may_tell = True
        child.receive(attentive)
        return child

    def _drop_child(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None

    def is_to_be_killed(self, attempt: Attempt) -> bool:
        return self._condemned is attempt or self._is_closing


class _Attentive:
    """What a lane does when it is woken while it waits for its child."""

    def __init__(self, lane: Lane, attempt: Attempt) -> None:
        self._lane = lane
        self._attempt = attempt
        self.may_tell = False
        """Whether the child has the order: a stop message before it would refer to no attempt."""

    def __call__(self, child: Child) -> None:
        if self._lane.is_to_be_killed(self._attempt):
            child.kill()
            raise ChildDied("it was killed")
        if self.may_tell and not child.is_sending and self._attempt.is_asked_to_stop:
            self.may_tell = False
            child.send(self, encode(Stop()))


def _success(attempt: Attempt, output: Raw, handle: str, delay: int) -> Outcome:
    order = attempt.order
    try:
        known = checked_handle(handle, order)
    except Exception as error:  # noqa: BLE001 - a refusal, and the only thing it raises
        return attempt.failed(error)
    return TaskSucceeded(
        node=order.node,
        attempt=order.attempt,
        output=msgspec.json.decode(output),
        iteration=order.iteration,
        handle=known,
        execution_time=attempt.execution_time,
        delay=delay,
    )
