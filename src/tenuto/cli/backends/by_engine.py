"""Methods that need an engine: one is opened for the length of each call."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from tenuto.cli.backends.store_instance import StoreInstance
    from tenuto.cli.backends.store_workspace import StoreWorkspace
    from tenuto.workspace.protocol import Instance

P = ParamSpec("P")
T = TypeVar("T")


class Lent(Protocol):
    """An object of this back end, which has its counterpart in the workspace of an engine."""

    @property
    def space(self) -> StoreWorkspace: ...

    def lent(self, *, is_new: bool = False) -> AbstractAsyncContextManager[object]:
        """The counterpart, with an engine behind it; `is_new`: the store may have to be made."""
        ...


def by_engine(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]], *, is_new: bool = False
) -> Callable[Concatenate[Lent, P], Coroutine[Any, Any, T]]:
    """A method of the protocol, called on the counterpart."""

    @wraps(method)
    async def called(self: Lent, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async with self.lent(is_new=is_new) as there:
            found: T = await getattr(there, method.__name__)(*args, **kwargs)
        return found

    return called


def starting(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, Instance]],
) -> Callable[Concatenate[Lent, P], Coroutine[Any, Any, StoreInstance]]:
    """The same for a method that starts an instance: other processes run its steps."""
    start = by_engine(method)

    @wraps(method)
    async def called(self: Lent, /, *args: P.args, **kwargs: P.kwargs) -> StoreInstance:
        self.space.is_worked_on = False
        return self.space.at((await start(self, *args, **kwargs)).id, is_known=True)

    return called
