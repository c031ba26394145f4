"""The client for programs that have no event loop: each call waits until it is answered."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from tenuto.client.client import Client
from tenuto.client.connection import NEXT_AFTER, PATIENCE
from tenuto.client.dead_letters import DeadLetters
from tenuto.client.instance import RemoteInstance
from tenuto.client.keys import RemoteKeys
from tenuto.client.listeners import RemoteSubscriptions, RemoteWebhooks
from tenuto.model.errors import TenutoError
from tenuto.workspace.values import Start

P = ParamSpec("P")
T = TypeVar("T")
Behind = TypeVar("Behind")


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="tenuto-client", daemon=True
        )
        self._thread.start()

    @property
    def has_stopped(self) -> bool:
        return self._loop.is_closed()

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        # Made here, so that nothing is begun that nobody would wait for.
        if self.has_stopped:
            raise RuntimeError("the client is closed")

        async def working() -> T:
            return await work()

        running = asyncio.run_coroutine_threadsafe(working(), self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Face(Generic[Behind]):
    """What is called without an event loop, and what is behind it."""

    def __init__(self, loop: _Loop, behind: Behind) -> None:
        self._loop = loop
        self._behind = behind


def _waited(
    method: Callable[Concatenate[Behind, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Face[Behind], P], T]:
    """The same method, which returns what the other one is waited for."""

    @wraps(method)
    def waiting(self: _Face[Behind], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(lambda: method(self._behind, *args, **kwargs))

    return waiting


def _giving(
    method: Callable[Concatenate[Behind, P], Coroutine[Any, Any, RemoteInstance]],
) -> Callable[Concatenate[_Face[Behind], P], SyncInstance]:
    """The same for a method that gives a reference."""
    waiting = _waited(method)

    @wraps(method)
    def giving(self: _Face[Behind], /, *args: P.args, **kwargs: P.kwargs) -> SyncInstance:
        return SyncInstance(self._loop, waiting(self, *args, **kwargs))

    said = inspect.signature(method).replace(return_annotation="SyncInstance")
    giving.__signature__ = said  # type: ignore[attr-defined]
    return giving


class SyncInstance(_Face[RemoteInstance]):
    """One instance, by its id; what it can be asked has the names of `InstanceRef`."""

    status = _waited(RemoteInstance.status)
    state = _waited(RemoteInstance.state)
    details = _waited(RemoteInstance.details)
    context = _waited(RemoteInstance.context)
    waits = _waited(RemoteInstance.waits)
    undo_plan = _waited(RemoteInstance.undo_plan)
    explain = _waited(RemoteInstance.explain)
    widget = _waited(RemoteInstance.widget)
    history = _waited(RemoteInstance.history)
    result = _waited(RemoteInstance.result)
    cancel = _waited(RemoteInstance.cancel)
    pause = _waited(RemoteInstance.pause)
    resume = _waited(RemoteInstance.resume)
    retry = _waited(RemoteInstance.retry)
    retry_compensation = _waited(RemoteInstance.retry_compensation)
    decide = _waited(RemoteInstance.decide)
    rerun = _giving(RemoteInstance.rerun)

    @property
    def id(self) -> str:
        """Its id."""
        return self._behind.id

    def __repr__(self) -> str:
        return f"SyncInstance({self.id!r})"


class SyncWebhooks(_Face[RemoteWebhooks]):
    """Addresses that are told of events for as long as they are there."""

    add = _waited(RemoteWebhooks.add)
    change = _waited(RemoteWebhooks.change)
    list = _waited(RemoteWebhooks.list)
    get = _waited(RemoteWebhooks.get)
    remove = _waited(RemoteWebhooks.remove)
    enable = _waited(RemoteWebhooks.enable)


class SyncSubscriptions(_Face[RemoteSubscriptions]):
    """Addresses that somebody outside has named, until they expire."""

    add = _waited(RemoteSubscriptions.add)
    list = _waited(RemoteSubscriptions.list)
    get = _waited(RemoteSubscriptions.get)
    remove = _waited(RemoteSubscriptions.remove)
    enable = _waited(RemoteSubscriptions.enable)


class SyncDeadLetters(_Face[DeadLetters]):
    """What could not be done."""

    list = _waited(DeadLetters.list)
    get = _waited(DeadLetters.get)
    retry = _waited(DeadLetters.retry)
    discard = _waited(DeadLetters.discard)


class SyncKeys(_Face[RemoteKeys]):
    """Who may ask a service for what."""

    create = _waited(RemoteKeys.create)
    list = _waited(RemoteKeys.list)
    revoke = _waited(RemoteKeys.revoke)


class SyncClient(_Face[Client]):
    """`Client` for programs without an event loop: `with SyncClient(url) as client:`."""

    def __init__(
        self,
        url: str | Sequence[str],
        key: str | None = None,
        *,
        tenant: str | None = None,
        patience: float = PATIENCE,
        next_after: float = NEXT_AFTER,
    ) -> None:
        client = Client(url, key, tenant=tenant, patience=patience, next_after=next_after)
        super().__init__(_Loop(), client)
        self.webhooks = SyncWebhooks(self._loop, client.webhooks)
        self.subscriptions = SyncSubscriptions(self._loop, client.subscriptions)
        self.dead_letters = SyncDeadLetters(self._loop, client.dead_letters)
        self.keys = SyncKeys(self._loop, client.keys)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections, and of the thread behind them; for good. Safe to repeat."""
        if not self._loop.has_stopped:
            self._loop.run(self._behind.close)
            self._loop.stop()

    deploy = _waited(Client.deploy)
    definition = _waited(Client.definition)
    definition_ids = _waited(Client.definition_ids)
    remove_definition = _waited(Client.remove_definition)
    start = _giving(Client.start)
    instance = _giving(Client.instance)
    instances = _waited(Client.instances)
    publish = _waited(Client.publish)
    publish_all = _waited(Client.publish_all)
    event = _waited(Client.event)

    def start_many(self, asked: Sequence[Start]) -> list[SyncInstance | TenutoError]:
        """Start up to 1,000 at once; what is wrong with one is in its place and keeps no other."""
        return [
            each if isinstance(each, TenutoError) else SyncInstance(self._loop, each)
            for each in self._loop.run(lambda: self._behind.start_many(asked))
        ]
