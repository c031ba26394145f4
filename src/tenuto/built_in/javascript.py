"""Executes javascript nodes: their code runs in a confined process of the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlsplit

from tenuto.built_in.protocol import Call, Failed
from tenuto.built_in.requests import NotSent, Requests
from tenuto.javascript.outcomes import (
    ConsoleLine,
    FailedCall,
    Fetch,
    FetchRefused,
    FetchRequest,
    FetchResponse,
    Limits,
    Outcome,
)
from tenuto.javascript.sandbox import Sandbox
from tenuto.model.graph import JavaScript
from tenuto.model.json import JSON

_TO_END = 1.0
"""Seconds that the sandbox has to end a call whose time is over, before its attempt does."""
_MEGABYTE = 1 << 20
_USUAL_PORTS = {"http": 80, "https": 443}
_INDIRECT = ("arguments", "eval", "\\u")
"""What code needs to name a parameter without writing its name."""


class JavaScriptExecutor:
    """Runs the code of javascript nodes."""

    queues = True

    def __init__(
        self,
        sandbox: Callable[[], Sandbox],
        *,
        output_limit: int,
        requests: Requests | None = None,
    ) -> None:
        """`sandbox` is made for the first call; `requests` sends what code fetches."""
        self._make = sandbox
        self._made: Sandbox | None = None
        self._limit = output_limit
        self._requests = requests

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox; its processes start with the first call."""
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def has_sandbox(self) -> bool:
        """Whether anything was run or checked yet."""
        return self._made is not None

    async def run(self, call: Call) -> JSON:
        config = call.config
        assert isinstance(config, JavaScript)
        limits = Limits(time=timedelta(seconds=call.seconds), output=self._limit)
        if config.memory_limit is not None:
            limits = Limits(
                time=limits.time, output=limits.output, memory=config.memory_limit * _MEGABYTE
            )
        seen = call.scope(_named_in(config.code))
        done = await self.sandbox.run(
            config.code,
            tenant=call.tenant,
            ctx=seen.get("ctx"),
            input=call.given,
            steps=seen.get("steps"),
            limits=limits,
            fetch=self._fetch(call, config),
            begun=lambda: call.begin(_TO_END),
        )
        _keep_lines(call, done)
        if isinstance(done, FailedCall):
            raise Failed(done.failure)
        return done.value

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()

    def _fetch(self, call: Call, config: JavaScript) -> Fetch | None:
        requests = self._requests
        if requests is None or not config.allow_hosts:
            return None

        async def fetch(asked: FetchRequest) -> FetchResponse:
            return await _sent(requests, call, config, asked)

        return fetch


async def _sent(
    requests: Requests, call: Call, config: JavaScript, asked: FetchRequest
) -> FetchResponse:
    def may_call(host: str, port: int) -> bool:
        return is_allowed(host, port, config.allow_hosts)

    try:
        parts = urlsplit(asked.url)
        host, port = parts.hostname or "", parts.port or _USUAL_PORTS.get(parts.scheme, 0)
    except ValueError:
        raise FetchRefused("the URL is none") from None
    if not may_call(host, port):
        raise FetchRefused(f"{host or 'its host'} is not in `allowHosts`")
    try:
        answered = await requests.send(
            asked.method,
            asked.url,
            tenant=call.tenant,
            headers=asked.headers,
            body=None if asked.body is None else asked.body.encode(),
            seconds=call.seconds,
            most=Limits().answer,
            may_call=may_call,
        )
    except NotSent as error:
        raise FetchRefused(str(error)) from None
    return FetchResponse(
        status=answered.status,
        url=answered.url,
        body=answered.body.decode("utf-8", "replace"),
        headers=answered.headers,
        status_text=answered.reason,
    )


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
