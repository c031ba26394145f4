"""Methods of the client for programs without an event loop: each call waits for its answer."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from tenuto.client.client import Client
from tenuto.client.instance import RemoteInstance
from tenuto.model.errors import TenutoError

if TYPE_CHECKING:
    from tenuto.client.sync import SyncInstance

P = ParamSpec("P")
T = TypeVar("T")
Behind = TypeVar("Behind")


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self, instances: type[SyncInstance]) -> None:
        self.instances = instances
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="tenuto-client", daemon=True
        )
        self._thread.start()

    @property
    def has_stopped(self) -> bool:
        return self._loop.is_closed()

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run it in the loop and wait for its result."""
        # Made here, so that no coroutine is begun that is never awaited.
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


class Face(Generic[Behind]):
    """An object of the client, called without an event loop."""

    def __init__(self, loop: Loop, behind: Behind) -> None:
        self._loop = loop
        self._behind = behind


class ClientFace(Face[Client]):
    """A client with a loop of its own."""

    def __init__(self, client: Client, instances: type[SyncInstance]) -> None:
        super().__init__(Loop(instances), client)

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
        """Close the connections, and end the thread behind them; for good. Safe to repeat."""
        if not self._loop.has_stopped:
            self._loop.run(self._behind.close)
            self._loop.stop()

    def at(self, id: str) -> SyncInstance:
        """A reference to an instance, without a look-up; its methods raise NotFound."""
        return self._loop.instances(self._loop, self._behind.at(id))


def waited(
    method: Callable[Concatenate[Behind, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Face[Behind], P], T]:
    """The same method, which waits for its result."""

    @wraps(method)
    def waiting(self: Face[Behind], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(lambda: method(self._behind, *args, **kwargs))

    return waiting


def giving(
    method: Callable[Concatenate[Behind, P], Coroutine[Any, Any, RemoteInstance]],
) -> Callable[Concatenate[Face[Behind], P], SyncInstance]:
    """The same for a method that gives a reference to an instance."""

    @wraps(method)
    def waiting(self: Face[Behind], /, *args: P.args, **kwargs: P.kwargs) -> SyncInstance:
        found = self._loop.run(lambda: method(self._behind, *args, **kwargs))
        return self._loop.instances(self._loop, found)

    return _returning(waiting, method, "SyncInstance")


def giving_many(
    method: Callable[
        Concatenate[Behind, P], Coroutine[Any, Any, list[RemoteInstance | TenutoError]]
    ],
) -> Callable[Concatenate[Face[Behind], P], list[SyncInstance | TenutoError]]:
    """The same for a method that gives several references, or errors in their places."""

    @wraps(method)
    def waiting(
        self: Face[Behind], /, *args: P.args, **kwargs: P.kwargs
    ) -> list[SyncInstance | TenutoError]:
        found = self._loop.run(lambda: method(self._behind, *args, **kwargs))
        return [
            each if isinstance(each, TenutoError) else self._loop.instances(self._loop, each)
            for each in found
        ]

    return _returning(waiting, method, "list[SyncInstance | TenutoError]")


def iterating(
    method: Callable[Concatenate[Behind, P], AsyncIterator[T]],
) -> Callable[Concatenate[Face[Behind], P], Iterator[T]]:
    """The same for a method that yields."""

    @wraps(method)
    def waiting(self: Face[Behind], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items = method(self._behind, *args, **kwargs)
        try:
            while True:
                try:
                    item = self._loop.run(lambda: anext(items))
                except StopAsyncIteration:
                    return
                yield item
        finally:
            if inspect.isasyncgen(items) and not self._loop.has_stopped:
                self._loop.run(items.aclose)

    result = str(inspect.signature(method).return_annotation)
    inner = result.partition("[")[2].removesuffix("]").partition(",")[0]
    return _returning(waiting, method, f"Iterator[{inner}]")


def _returning(waiting: T, method: Callable[..., object], result: str) -> T:
    said = inspect.signature(method).replace(return_annotation=result)
    waiting.__signature__ = said  # type: ignore[attr-defined]
    return waiting


class InstanceFace(Face[RemoteInstance]):
    """One instance, by its id, with the methods of `InstanceRef`."""

    @property
    def id(self) -> str:
        """Its id."""
        return self._behind.id

    def __repr__(self) -> str:
        return f"SyncInstance({self.id!r})"
