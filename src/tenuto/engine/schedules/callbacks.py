"""Callbacks of schedules: a workflow of one step, whose built-in task posts to the address."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from tenuto.engine.outbox.signatures import PREFIX, signed_headers
from tenuto.model.durations import iso
from tenuto.model.errors import TaskError
from tenuto.model.json import JSON, Object
from tenuto.model.own_names import CALLBACK_TASK, CALLBACKS
from tenuto.ports import Clock, Sender
from tenuto.schedules import CallbackRetry, CallbackTarget
from tenuto.tasks.context import Context
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.registry import Registry

KEPT_AS = "schedule callbacks"
"""The name, in the store, of the secret that those of tenants follow from."""
_RETRYABLE = frozenset({408, 425, 429})
_LONGEST_DELAY = 3_600.0


def workflow_of_callback(retry: CallbackRetry) -> Object:
    """The workflow that sends callbacks with a policy of retries: one for each policy."""
    policy: Object = {
        "maxAttempts": retry.max_retries + 1,
        "initialDelay": f"PT{retry.initial_delay.total_seconds():.3f}S",
        "multiplier": retry.backoff_multiplier,
        "maxDelay": f"PT{max(_LONGEST_DELAY, retry.initial_delay.total_seconds()):.0f}S",
    }
    digest = hashlib.sha256(msgspec.json.encode(policy, order="deterministic")).hexdigest()
    return {
        "id": f"{CALLBACKS}{digest[:12]}",
        "name": "Callback of a schedule",
        "steps": [{"stepId": "call", "type": "TASK", "taskId": CALLBACK_TASK, "retry": policy}],
    }


def callback_input(
    target: CallbackTarget, schedule_id: str, execution_time: str, payload: JSON
) -> Object:
    """The input of an instance that sends a callback; its readers see what it is about."""
    return {
        "callbackUrl": target.callback_url,
        "scheduleId": schedule_id,
        "executionTime": execution_time,
        "payload": payload,
    }


class Origin(Struct, frozen=True, kw_only=True):
    """What has started an instance."""

    tenant: str
    schedule_id: str | None
    """None: no schedule has."""
    at: datetime


class CallbackTask(Registry):
    """The tasks of a program, and the one that sends callbacks, which no list shows."""

    def __init__(
        self,
        behind: Registry,
        *,
        sender: Sender | None,
        clock: Clock,
        seconds: float,
        secret: Callable[[str], Awaitable[str]],
        origin: Callable[[str], Awaitable[Origin]],
    ) -> None:
        """`seconds`: how long an answer may take. `secret`: what signs callbacks of a tenant.

        `origin`: what has started an instance.
        """
        super().__init__(behind)
        self._others = behind
        self._sender = sender
        self._clock = clock
        self._seconds = seconds
        self._secret = secret
        self._origin = origin
        self.address: Callable[[str, str, str], Awaitable[str]] | None = None
        """Gives the address of a callback as it is called, by its tenant, its schedule and the
        address that was saved: a service signs those that lead to itself."""
        self._callback = TaskFunction(self._send, name=CALLBACK_TASK)

    def get(self, name: str) -> TaskFunction[..., Any] | None:
        if name == CALLBACK_TASK:
            return None if self._sender is None else self._callback
        return self._others.get(name)

    def add(self, task: TaskFunction[..., Any]) -> None:
        self._others.add(task)

    async def _send(self, input: dict[str, Any], ctx: Context) -> Object:
        """Post a callback; 2xx is success, no answer and 408, 429 and 5xx are tried again."""
        assert self._sender is not None
        # What the instance says, and not its input: anybody may run this task.
        origin = await self._origin(ctx.instance_id)
        if origin.schedule_id is None:
            raise TaskError(
                "CALLBACK_WITHOUT_SCHEDULE",
                "no schedule has started this instance: nothing is signed for it",
                retryable=False,
            )
        body = msgspec.json.encode(
            {
                "scheduleId": origin.schedule_id,
                "executionTime": iso(origin.at),
                "payload": input.get("payload"),
            }
        )
        secret = await self._secret(origin.tenant)
        headers = {
            "content-type": "application/json",
            "idempotency-key": ctx.idempotency_key,
            **signed_headers(secret, ctx.idempotency_key, self._clock.now(), body),
        }
        url = str(input.get("callbackUrl"))
        if self.address is not None:
            url = await self.address(origin.tenant, origin.schedule_id, url)
        reply = await self._sender.post(url, headers, body, self._seconds, tenant=origin.tenant)
        if reply.status is None:
            raise TaskError("CALLBACK_NOT_ANSWERED", reply.error or "no answer")
        if reply.status in range(200, 300):
            return {"status": reply.status}
        raise TaskError(
            "CALLBACK_REFUSED",
            f"the callback was answered with {reply.status}",
            retryable=reply.status in _RETRYABLE or reply.status >= 500,
        )


def secret_of(kept: bytes, tenant: str) -> str:
    """The secret that signs the callbacks of a tenant."""
    digest = hmac.digest(kept, b"callbacks of " + tenant.encode(), "sha256")
    return PREFIX + base64.b64encode(digest).decode()
