"""A store whose verbs tests script: record calls, hold one, fail one, answer in its place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tenuto.store.memory import MemoryDisk, MemoryStore
from tenuto.store.protocol import Store
from tenuto.testing.wrapped_store import Call, WrappedStore

Script = Callable[[Call], Awaitable[object]]


class ScriptedStore(WrappedStore):
    """A memory store, unless another is given, whose calls are recorded and may be scripted.

    A script is a function of a call, which `await call()` passes on: given to `on`, or a method of
    a class that derives from this one, such as `on_turns_commit`.
    """

    def __init__(
        self, inner: Store | MemoryDisk | None = None, *, shared: bool = False, lanes: int = 0
    ) -> None:
        if not isinstance(inner, Store):
            inner = MemoryStore(inner, shared=shared)
        super().__init__(inner)
        self.calls: list[Call] = []
        """In the order in which they were made."""
        self._scripts: dict[str, Script] = {}
        self.lanes = lanes or inner.lanes

    @property
    def disk(self) -> MemoryDisk:
        """Where a memory store keeps everything."""
        assert isinstance(self.inner, MemoryStore)
        return self.inner.disk

    def on(self, verb: str, script: Script) -> None:
        """Let the function decide what comes of a verb, such as `turns.commit`, from now on."""
        self._scripts[verb] = script

    def made(self, verb: str) -> list[Call]:
        """The calls of a verb."""
        return [call for call in self.calls if call.verb == verb]

    async def called(self, call: Call) -> Any:  # noqa: ANN401
        self.calls.append(call)
        of_class: Script | None = getattr(self, f"on_{call.verb.replace('.', '_')}", None)
        script = self._scripts.get(call.verb, of_class)
        return await (call() if script is None else script(call))
