"""Requests that are never refused, made beside a load: results, heartbeats, cancels, health."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

from tenuto.model.json import Object

PARKED: Object = {
    "id": "parked",
    "steps": [{"stepId": "a", "type": "EVENT_WAIT", "eventPattern": "never.published"}],
}
PULLED: Object = {
    "id": "pulled",
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "elsewhere"}],
}
_TIMEOUT = 120.0


def called(method: str, url: str, content: object = None) -> Any:  # noqa: ANN401 - any JSON
    """The answer to a request; HTTPError if it is refused."""
    body = None if method == "GET" else msgspec.json.encode(content)
    headers = {"content-type": "application/json"}
    with urlopen(
        Request(url, data=body, method=method, headers=headers), timeout=_TIMEOUT
    ) as answer:
        read: bytes = answer.read()
        is_json = "json" in answer.headers["content-type"]
        return msgspec.json.decode(read) if is_json else read.decode()


class Others:
    """Instances to cancel and tasks to do; how long each kind of request took at most."""

    def __init__(self, url: str) -> None:
        self._api = f"{url}/api/v1"
        self._url = url
        self._parked: list[str] = []
        self.worst: dict[str, float] = {}
        """By kind, seconds."""
        self.made = 0
        self.refused: list[str] = []
        """Kinds and statuses of those that were not taken."""
        self.degraded: list[str] = []
        """What the service last said of itself."""

    def prepare(self, rounds: int) -> None:
        """Start what so many rounds need, before there is a load."""
        for _ in range(rounds):
            begun = called("POST", f"{self._api}/workflows/parked/start", {"input": {}})
            self._parked.append(begun["instanceId"])
            called("POST", f"{self._api}/workflows/pulled/start", {"input": {}})

    @contextmanager
    def beside(self) -> Iterator[Callable[[], None]]:
        """A thread makes one request of each kind when asked for them, and is not asked twice."""
        asked, is_over = threading.Event(), threading.Event()

        def make() -> None:
            while asked.wait() and not is_over.is_set():
                asked.clear()
                self._make()

        thread = threading.Thread(target=make, name="other requests")
        thread.start()
        try:
            yield asked.set
        finally:
            is_over.set()
            asked.set()
            thread.join()

    def _make(self) -> None:
        ready = self._made("health", "GET", f"{self._url}/health/ready")
        if ready is not None:
            self.degraded = ready["degraded"] or self.degraded
        if not self._parked:
            return
        at = f"{self._api}/instances/{self._parked.pop()}"
        self._made("read", "GET", at)
        self._made("cancel", "POST", f"{at}/cancel", {})
        claim = {"workerId": "w", "taskIds": ["elsewhere"], "max": 1, "lease": 600}
        claimed = self._made("claim", "POST", f"{self._api}/executions/claim", claim)
        for task in () if claimed is None else claimed["tasks"]:
            at = f"{self._api}/executions/{task['executionId']}"
            said = {"leaseToken": task["leaseToken"]}
            self._made("heartbeat", "POST", f"{at}/heartbeat", said)
            self._made("result", "POST", f"{at}/complete", {**said, "output": 1})

    def _made(self, kind: str, method: str, url: str, content: object = None) -> Any:  # noqa: ANN401 - any JSON
        began = time.monotonic()
        try:
            answer = called(method, url, content)
        except HTTPError as error:
            self.refused.append(f"{kind} {error.code} {error.read(300).decode()}")
            return None
        self.made += 1
        self.worst[kind] = max(self.worst.get(kind, 0.0), time.monotonic() - began)
        return answer
