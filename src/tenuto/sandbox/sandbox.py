"""Runs the JavaScript of users in confined processes, and checks it.

    sandbox = Sandbox()
    outcome = await sandbox.run("return ctx.input.items.length", tenant="acme", ctx={…})

A call never raises because of its code: it has an outcome or a failure.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenuto.model.failure import (
    JAVASCRIPT_SYNTAX,
    MEMORY_EXCEEDED,
    NOT_JSON,
    TIMEOUT,
    Failure,
)
from tenuto.model.json import JSON
from tenuto.ports import Clock, SystemClock
from tenuto.sandbox.bounds import PoolBounds
from tenuto.sandbox.confined_process import ConfinedProcess
from tenuto.sandbox.failures import code_problem, failure_of, lines_of, of_death
from tenuto.sandbox.messages import (
    Asked,
    Check,
    Checked,
    Confinement,
    Ended,
    Fetched,
    FromChild,
    Ready,
    Run,
    Thrown,
)
from tenuto.sandbox.outcomes import (
    CodeProblem,
    FailedCall,
    Fetch,
    FetchRefused,
    FetchRequest,
    FetchResponse,
    Figures,
    Limits,
    Outcome,
)
from tenuto.sandbox.pool import NotStarted, Pool
from tenuto.tasks.failures import PROCESS_DIED
from tenuto.tasks.output import Unusable, to_json

log = logging.getLogger("tenuto.sandbox")

_GRACE = 0.25
"""Seconds after which a process that should have stopped by itself is killed."""
_CHECK = Limits(time=timedelta(seconds=2))
_OVERHEAD = 100_000
"""Bytes of a message beside its result and lines."""
_MOST_MEMORY = 1 << 30

DEFAULT_LIMITS = Limits()
_requests = msgspec.json.Decoder(list[FetchRequest]).decode


class Sandbox:
    """Processes that run code, and those who wait for one."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        bounds: PoolBounds | None = None,
        namespaces: bool = True,
        own_user: bool = True,
        call_filter: bool = True,
        most_memory: int = _MOST_MEMORY,
    ) -> None:
        """The protections that are False are not even tried; `most_memory` bounds all limits."""
        self._clock = clock or SystemClock()
        self._most_memory = most_memory
        confinement = Confinement(
            namespaces=namespaces,
            own_user=own_user,
            filter=call_filter,
            memory=most_memory,
        )
        self._pool = Pool(self._clock, bounds or PoolBounds(), confinement)
        self._calls = 0
        self._killed = 0
        self._seconds = 0.0
        self._failures: Counter[str] = Counter()

    def start(self) -> None:
        """Start processes ahead; else the first call does."""
        self._pool.fill()

    async def run(  # noqa: PLR0913 - what a call sees, and what bounds it
        self,
        code: str,
        *,
        tenant: str = "",
        ctx: JSON = None,
        input: JSON = None,
        steps: JSON = None,
        scope: Callable[[], Mapping[str, JSON]] | None = None,
        limits: Limits = DEFAULT_LIMITS,
        fetch: Fetch | None = None,
        begun: Callable[[], None] | None = None,
    ) -> Outcome | FailedCall:
        """Call an async function of `(ctx, input, steps)` with this body.

        Its requests go to `fetch`, which decides about each; without it none is sent. `begun` is
        called when a process has it, and so is `scope`, for `ctx` and `steps`: a call that waits
        has no copy of what it will see.
        """
        limits = replace(limits, memory=min(limits.memory, self._most_memory))
        if (problem := code_problem(code)) is not None:
            return self._noted(Ended(code=JAVASCRIPT_SYNTAX, thrown=problem), 0.0, limits)
        try:
            process = await self._pool.lease(tenant)
        except NotStarted as error:
            return self._noted(_dead(str(error)), 0.0, limits)
        try:
            seen = {"ctx": ctx, "steps": steps} if scope is None else scope()
            order = Run(
                code=code,
                ctx=msgspec.json.encode(seen.get("ctx")),
                input=msgspec.json.encode(input),
                steps=msgspec.json.encode(seen.get("steps")),
                seconds=limits.time.total_seconds(),
                memory=limits.memory,
                output=limits.output,
                console=limits.console,
                fetches=limits.fetches if fetch is not None else 0,
                at_once=limits.fetches_at_once,
            )
        except BaseException:
            self._pool.give_back(process, is_usable=True)
            raise
        if begun is not None:
            begun()
        began = self._clock.ticks()
        self._pool.watch(process)
        call = _Call(process, self._clock, limits, fetch)
        is_usable = False
        try:
            ended = await call.answer(order, limits.output + 8 * limits.console + _OVERHEAD)
            is_usable = isinstance(ended, Ended) and ended.code not in _USED_UP
        finally:
            call.end()
            self._killed += not is_usable
            self._pool.give_back(process, is_usable=is_usable)
        if not isinstance(ended, Ended):
            ended = _dead("it gave another answer")
        return self._noted(ended, self._clock.ticks() - began, limits)

    async def check(self, code: str, *, tenant: str = "") -> tuple[CodeProblem, ...]:
        """Why code does not parse; it is parsed by a process, and nothing of it is run."""
        if (problem := code_problem(code)) is not None:
            return (_problem(problem),)
        try:
            process = await self._pool.lease(tenant)
        except NotStarted as error:
            raise RuntimeError(f"the code cannot be checked: {error}") from None
        call = _Call(process, self._clock, _CHECK, None)
        is_usable = False
        try:
            seconds = _CHECK.time.total_seconds()
            checked = await call.answer(
                Check(code=code, seconds=seconds, memory=_CHECK.memory), _OVERHEAD
            )
            is_usable = isinstance(checked, Checked)
        finally:
            call.end()
            self._pool.give_back(process, is_usable=is_usable)
        if isinstance(checked, Checked):
            return () if checked.problem is None else (_problem(checked.problem),)
        text = "the code cannot be parsed within the limits"
        return (CodeProblem(message=text, line=None, column=None),)

    async def protections(self) -> Ready:
        """What its processes are protected by, and what they did not get; RuntimeError."""
        if self._pool.ready is None:
            try:
                self._pool.give_back(await self._pool.lease(""), is_usable=True)
            except NotStarted as error:
                raise RuntimeError(str(error)) from None
        assert self._pool.ready is not None
        return self._pool.ready

    @property
    def ready(self) -> Ready | None:
        """What its processes are protected by; None before the first has started."""
        return self._pool.ready

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of its processes."""
        return self._pool.pids

    def figures(self) -> Figures:
        pool = self._pool
        return Figures(
            calls=self._calls,
            failures=dict(self._failures),
            started=pool.started,
            killed=self._killed,
            replaced=pool.replaced,
            busy=pool.busy,
            idle=pool.idle,
            spare=pool.spare,
            waiting=pool.waiting,
            seconds=self._seconds,
        )

    async def close(self) -> None:
        """Kill every process and wait until they are gone; calls that run fail."""
        await self._pool.close()

    def _noted(self, ended: Ended, seconds: float, limits: Limits) -> Outcome | FailedCall:
        self._calls += 1
        self._seconds += seconds
        took = timedelta(seconds=seconds)
        console, dropped = lines_of(ended, limits.console)
        failure: Failure
        if ended.value is not None:
            try:
                # The process has checked it too, and is not trusted.
                value = to_json(msgspec.json.decode(ended.value), limits.output, "the result")
                return Outcome(value=value, console=console, took=took, dropped=dropped)
            except Unusable as error:
                failure = Failure(code=error.code, message=error.message, retryable=False)
            except (msgspec.MsgspecError, RecursionError, ValueError) as error:
                # The engine writes any other text whole.
                half = b"\\ud" in ended.value
                what = "it has half a character (a lone surrogate)" if half else str(error)
                failure = Failure(
                    code=NOT_JSON, message=f"the result is not JSON: {what}", retryable=False
                )
        else:
            failure = failure_of(ended, limits)
        self._failures[failure.code] += 1
        return FailedCall(failure=failure, console=console, took=took, dropped=dropped)


class _Call:
    """One call in a process: its answer, its requests, its deadline."""

    def __init__(
        self, process: ConfinedProcess, clock: Clock, limits: Limits, fetch: Fetch | None
    ) -> None:
        self._process = process
        self._clock = clock
        self._limits = limits
        self._fetch = fetch
        self._answer: asyncio.Future[Ended | Checked] = asyncio.get_running_loop().create_future()
        self._requests: set[asyncio.Task[None]] = set()
        self._count = 0
        self._is_late = False

    async def answer(self, order: Run | Check, most: int) -> Ended | Checked:
        """What the process makes of it, or how it ended."""
        process = self._process
        process.expect(most, self._hear)
        seconds = self._limits.time.total_seconds() + _GRACE
        late = self._clock.call_later(seconds, self._end_late)
        process.ended.add_done_callback(self._died)
        try:
            process.send(order)
            return await self._answer
        finally:
            late.cancel()
            process.ended.remove_done_callback(self._died)

    def end(self) -> None:
        """Nothing is sent for it any more."""
        for each in self._requests:
            each.cancel()

    def _hear(self, message: FromChild) -> None:
        if self._answer.done():
            self._process.kill()
            return
        match message:
            case Ended() | Checked():
                self._answer.set_result(message)
            case Asked(requests=requests) if self._fetch is not None:
                self._send_on(self._fetch, requests)
            case _:
                self._process.kill()

    def _send_on(self, fetch: Fetch, asked: bytes) -> None:
        try:
            requests = _requests(b"[" + asked + b"]")
        except (msgspec.MsgspecError, RecursionError):
            self._process.kill()
            return
        # Messages without a request count as well: they cost the service as much.
        self._count += max(len(requests), 1)
        if self._count > self._limits.fetches:
            self._process.kill()
            return
        for each in requests:
            task = asyncio.get_running_loop().create_task(self._fetched(fetch, each))
            self._requests.add(task)
            task.add_done_callback(self._requests.discard)

    async def _fetched(self, fetch: Fetch, request: FetchRequest) -> None:
        answer: _Answer
        try:
            response = await fetch(request)
            answer = _Answer.of(response)
            if len(response.body) > self._limits.answer:
                answer = _Answer(error=f"the response has more than {self._limits.answer:,} bytes")
        except FetchRefused as error:
            answer = _Answer(error=str(error))
        except Exception:
            log.exception("a request of JavaScript code has failed")
            answer = _Answer(error="the request has failed")
        self._process.send(Fetched(id=request.id, answer=msgspec.json.encode(answer)))

    def _end_late(self) -> None:
        self._is_late = True
        self._process.kill()
        # Its end is certain, and is not waited for.
        if not self._answer.done():
            self._answer.set_result(Ended(code=TIMEOUT))

    def _died(self, ended: asyncio.Future[str]) -> None:
        if not self._answer.done():
            self._answer.set_result(of_death(ended.result()))


class _Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to a request, as the code's engine reads it."""

    error: str | None = None
    status: int = 0
    url: str = ""
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    status_text: str = ""

    @classmethod
    def of(cls, response: FetchResponse) -> _Answer:
        return cls(
            status=response.status,
            url=response.url,
            body=response.body,
            headers=response.headers,
            status_text=response.status_text,
        )


def _dead(reason: str) -> Ended:
    return Ended(code=PROCESS_DIED, thrown=Thrown(name="", message=reason))


def _problem(thrown: Thrown) -> CodeProblem:
    place = thrown.place
    return CodeProblem(
        message=thrown.message,
        line=None if place is None else place.line,
        column=None if place is None else place.column,
    )


_USED_UP = frozenset({MEMORY_EXCEEDED, TIMEOUT, PROCESS_DIED})
"""After these a process is not used again."""
