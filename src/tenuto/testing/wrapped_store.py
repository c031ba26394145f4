"""A wrapper around a store: every call, of any verb, goes through one method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, NamedTuple

from tenuto.store.marks import Kind, kind_of
from tenuto.store.parts.turns import Turn
from tenuto.store.protocol import PARTS, Parts, Store


class Call(NamedTuple):
    """A call of a verb; calling it passes it on."""

    verb: str
    """The part and its verb, such as `jobs.claim`; of the store itself `open` or `close`."""
    kind: Kind
    proceed: Callable[..., Awaitable[Any]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    async def __call__(self) -> Any:  # noqa: ANN401 - whatever the verb returns
        return await self.proceed(*self.args, **self.kwargs)

    @property
    def turn(self) -> Turn | None:
        """The turn that is committed, where that is the call."""
        turn = self.args[0] if self.verb == "turns.commit" else None
        assert turn is None or isinstance(turn, Turn)
        return turn


class WrappedStore(Store):
    """Passes every call on; subclasses decide what happens to it."""

    def __init__(self, inner: Store) -> None:
        parts: dict[str, Any] = {name: _Part(self, name, getattr(inner, name)) for name in PARTS}
        super().__init__(**parts)
        self.inner = inner
        self.lanes = inner.lanes
        self.is_shared = inner.is_shared
        self.beat_every = inner.beat_every
        self.around = inner.around

    async def called(self, call: Call) -> Any:  # noqa: ANN401 - whatever the verb returns
        """Do the call, and return its result."""
        return await call()

    @property
    def is_pooled(self) -> bool:
        return self.inner.is_pooled

    async def open(self, process_id: str, now: datetime, *, is_guest: bool = False) -> datetime:
        call = Call("open", Kind.WRITE, self.inner.open, (process_id, now), {"is_guest": is_guest})
        opened = await self.called(call)
        assert isinstance(opened, datetime)
        return opened

    async def close(self, now: datetime, *, clean: bool) -> None:
        await self.called(Call("close", Kind.WRITE, self.inner.close, (now,), {"clean": clean}))

    def abandon(self) -> None:
        self.inner.abandon()

    def seen_by(self, tenant: str) -> Parts:
        return self


class _Part:
    """A part whose verbs go through its store's `called`."""

    def __init__(self, store: WrappedStore, name: str, inner: object) -> None:
        self._store = store
        self._name = name
        self._inner = inner

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        proceed = getattr(self._inner, verb)
        kind = kind_of(PARTS[self._name], verb)
        name = f"{self._name}.{verb}"

        async def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the verb takes
            return await self._store.called(Call(name, kind, proceed, args, kwargs))

        return call
