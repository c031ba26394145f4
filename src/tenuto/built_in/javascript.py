"""Executes javascript nodes: their code runs in a confined process of the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tenuto.built_in.protocol import Call, CodeFault, Failed, NotChecked
from tenuto.egress.request import NoAnswer, Request
from tenuto.model.graph import JavaScript
from tenuto.model.json import JSON
from tenuto.sandbox.bounds import PoolBounds
from tenuto.sandbox.outcomes import (
    ConsoleLine,
    FailedCall,
    Fetch,
    FetchRefused,
    FetchRequest,
    FetchResponse,
    Figures,
    Limits,
    Outcome,
)

if TYPE_CHECKING:
    from tenuto.egress.client import EgressClient
    from tenuto.sandbox.messages import Ready
    from tenuto.sandbox.sandbox import Sandbox

_TO_END = 1.0
"""Seconds that the sandbox has to end a call whose time is over, before its attempt does."""
_LIMITS = Limits()
_MEGABYTE = 1 << 20
_USUAL_PORTS = {"http": 80, "https": 443}
_INDIRECT = ("arguments", "eval", "\\u")
"""What code needs to name a parameter without writing its name."""


class JavaScriptExecutor:
    """Runs the code of javascript nodes."""

    queues = True

    def __init__(
        self,
        sandbox: Callable[[PoolBounds], Sandbox],
        *,
        output_limit: int,
        client: EgressClient | None = None,
        bounds: PoolBounds | None = None,
    ) -> None:
        """`sandbox` is made for the first call, within `bounds`; `client` sends what code fetches.

        Where none can be made, it is the calls that fail.
        """
        self._bounds = bounds or PoolBounds()
        self.calls_of_tenant = self._bounds.calls_of_tenant
        self._make = sandbox
        self._made: Sandbox | None = None
        self._limit = output_limit
        self._client = client

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox; its processes start with the first call."""
        if self._made is None:
            self._made = self._make(self._bounds)
        return self._made

    def figures(self) -> Figures:
        """What its sandbox has done, and what it is doing."""
        return Figures() if self._made is None else self._made.figures()

    @property
    def ready(self) -> Ready | None:
        """What its processes are protected by; None before the first has started."""
        return None if self._made is None else self._made.ready

    async def run(self, call: Call) -> JSON:
        config = call.config
        assert isinstance(config, JavaScript)
        limits = Limits(time=timedelta(seconds=call.seconds), output=self._limit)
        if config.memory_limit is not None:
            limits = Limits(
                time=limits.time, output=limits.output, memory=config.memory_limit * _MEGABYTE
            )
        done = await self.sandbox.run(
            config.code,
            tenant=call.tenant,
            input=call.given,
            scope=lambda: call.scope(_named_in(config.code)),
            limits=limits,
            fetch=self._fetch(call, config),
            begun=lambda: call.begin(_TO_END),
        )
        _keep_lines(call, done)
        if isinstance(done, FailedCall):
            raise Failed(done.failure)
        return done.value

    async def check(self, code: str, *, tenant: str) -> Sequence[CodeFault]:
        """Why code does not parse; a process of the sandbox parses it, and runs nothing of it."""
        try:
            found = await self.sandbox.check(code, tenant=tenant)
        except RuntimeError as error:
            raise NotChecked(str(error)) from None
        return [
            CodeFault(message=each.message, line=each.line, column=each.column) for each in found
        ]

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    def _fetch(self, call: Call, config: JavaScript) -> Fetch | None:
        client = self._client
        if client is None or not config.allow_hosts:
            return None

        async def fetch(asked: FetchRequest) -> FetchResponse:
            return await _sent(client, call, config, asked)

        return fetch


async def _sent(
    client: EgressClient, call: Call, config: JavaScript, asked: FetchRequest
) -> FetchResponse:
    def may_call(host: str, port: int) -> bool:
        return is_allowed(host, port, config.allow_hosts)

    request = Request(
        method=asked.method,
        url=asked.url,
        headers=asked.headers,
        body=None if asked.body is None else asked.body.encode(),
    )
    answer = await client.send(
        call.tenant, request, most=_LIMITS.answer, seconds=call.seconds, may_call=may_call
    )
    if isinstance(answer, NoAnswer):
        is_listed = answer.kind != "refused" or may_call(*_host_and_port(asked.url))
        text = answer.message if is_listed else f"{answer.message}: `allowHosts` does not name it"
        raise FetchRefused(text)
    return FetchResponse(
        status=answer.status,
        url=answer.url,
        body=answer.body.decode("utf-8", "replace"),
        headers=answer.headers,
        status_text=answer.reason,
    )


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _USUAL_PORTS.get(parts.scheme, 0)


def is_allowed(host: str, port: int, allowed: tuple[str, ...]) -> bool:
    """Whether a list of hosts names this one; without a port, each of its ports is meant."""
    host = host.lower().rstrip(".")
    return any(_matches(host, port, each.lower()) for each in allowed)


def _matches(host: str, port: int, pattern: str) -> bool:
    if pattern.startswith("["):
        name, _, rest = pattern[1:].partition("]")
        wanted = rest.removeprefix(":")
    else:
        name, _, wanted = pattern.partition(":")
    if wanted and int(wanted) != port:
        return False
    if name.startswith("*."):
        return host.endswith(name[1:])
    return host == name


def _named_in(code: str) -> tuple[str, ...]:
    """The parameters that code can see: the others are not copied for it."""
    if any(each in code for each in _INDIRECT):
        return ("ctx", "steps")
    return tuple(each for each in ("ctx", "steps") if each in code)


def _keep_lines(call: Call, done: Outcome | FailedCall) -> None:
    for line in done.console:
        call.log(line.level, line.text, _ago(line, done))
    if done.dropped:
        noun = "line was" if done.dropped == 1 else "lines were"
        call.log("info", f"… {done.dropped:,} {noun} left out")


def _ago(line: ConsoleLine, done: Outcome | FailedCall) -> float:
    return max((done.took - line.after).total_seconds(), 0.0)
