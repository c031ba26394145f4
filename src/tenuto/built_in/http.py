"""Executes http nodes: a request through the egress client, within the limits of its host.

An attempt that waits for its host has not begun: its time-out does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tenuto.built_in.http_request import request_of
from tenuto.built_in.http_response import MOST_OF_A_FAILURE, is_success, is_well, output_of
from tenuto.built_in.protocol import Call
from tenuto.egress import EgressClient
from tenuto.model.graph import Http
from tenuto.model.host_limits import HostLimits, limits_of
from tenuto.model.json import JSON
from tenuto.model.task_definition import BreakerPolicy, TaskLimits
from tenuto.ports import Clock
from tenuto.targets.gate import Gate, Passage
from tenuto.targets.names import Host, host_of, target_key
from tenuto.targets.state import TargetPolicy

_AT_MOST = 2
"""A response has at most so many times the bytes of the largest output."""


class HttpExecutor:
    """Sends the requests of http nodes."""

    queues = True
    calls_of_tenant = None

    def __init__(
        self,
        client: EgressClient,
        gate: Gate,
        clock: Clock,
        *,
        host_limits: Mapping[str, HostLimits],
        output_limit: int,
    ) -> None:
        self._client = client
        self._gate = gate
        self._clock = clock
        self._host_limits = host_limits
        self._limit = output_limit

    async def run(self, call: Call) -> JSON:
        config = call.config
        assert isinstance(config, Http)
        request = request_of(call, config)
        host = host_of(request.url)
        passage = await self._gate.enter(
            target_key(call.tenant, "http", str(host)),
            self._policy(host),
            place=(call.instance_id, call.step_id, call.iteration, call.attempt),
        )
        assert isinstance(passage, Passage)
        began, works = self._clock.ticks(), None
        try:
            call.begin(0.0)
            answer = await self._client.send(
                call.tenant,
                request,
                most=self._most(config),
                cut=lambda status: None if is_success(config, status) else MOST_OF_A_FAILURE,
                follows=lambda status: not is_success(config, status),
            )
            works = is_well(answer)
        except asyncio.CancelledError:
            if self._clock.ticks() - began >= call.seconds:
                works = False
            raise
        finally:
            self._gate.leave(passage, is_well=works)
        return output_of(config, answer, self._clock.now())

    async def close(self) -> None:
        await self._client.close()

    def _policy(self, host: Host) -> TargetPolicy:
        limits = limits_of(host.name, self._host_limits)
        return TargetPolicy(
            TaskLimits(concurrency=limits.concurrency, rate_per_second=limits.rate_per_second),
            BreakerPolicy(
                failures=limits.breaker_failures, open_for=limits.breaker_open_for * 1000
            ),
        )

    def _most(self, config: Http) -> int | None:
        if config.response_type == "none":
            return None
        return min(config.max_bytes or self._limit, self._limit * _AT_MOST)
