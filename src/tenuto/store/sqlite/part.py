"""How a part's verbs reach the file: each is written as plain statements of one connection."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from tenuto.store.looking import looked_for
from tenuto.store.sqlite.file import File
from tenuto.store.sqlite.session import Session

P = ParamSpec("P")
T = TypeVar("T")


class SqlitePart:
    """Some verbs of a store, over its file."""

    def __init__(self, file: File) -> None:
        self._file = file


S = TypeVar("S", bound=SqlitePart)
Statements: TypeAlias = Callable[Concatenate[S, Session, P], T]
Verb: TypeAlias = Callable[Concatenate[S, P], Coroutine[Any, Any, T]]


def looks(verb: Statements[S, P, T]) -> Verb[S, P, T]:
    """One statement that reads."""

    @wraps(verb)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._file.look(lambda session: verb(self, session, *args, **kwargs))

    return called


def looks_for(
    nothing: Callable[[], Any],
) -> Callable[[Statements[S, P, T]], Verb[S, P, T]]:
    """One statement that reads; `nothing` where it asks for text that no store can keep."""

    def decorate(verb: Statements[S, P, T]) -> Verb[S, P, T]:
        @wraps(verb)
        def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            found = self._file.look(lambda session: verb(self, session, *args, **kwargs))
            return looked_for(found, nothing=nothing())

        return called

    return decorate


def seeks(
    nothing: Callable[[], Any],
) -> Callable[[Statements[S, P, T]], Verb[S, P, T]]:
    """Several statements that read; `nothing` as for `looks_for`."""

    def decorate(verb: Statements[S, P, T]) -> Verb[S, P, T]:
        @wraps(verb)
        def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            found = self._file.read(lambda session: verb(self, session, *args, **kwargs))
            return looked_for(found, nothing=nothing())

        return called

    return decorate


def reads(verb: Statements[S, P, T]) -> Verb[S, P, T]:
    """Several statements that read, all of the same moment."""

    @wraps(verb)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._file.read(lambda session: verb(self, session, *args, **kwargs))

    return called


def writes(verb: Statements[S, P, T]) -> Verb[S, P, T]:
    """One transaction, by the engine."""

    @wraps(verb)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._file.write(lambda session: verb(self, session, *args, **kwargs))

    return called


def writes_durable_later(verb: Statements[S, P, T]) -> Verb[S, P, T]:
    """One transaction, by the engine, of what is done again where a power cut takes it back."""

    @wraps(verb)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._file.write_durable_later(lambda session: verb(self, session, *args, **kwargs))

    return called


def writes_beside(verb: Statements[S, P, T]) -> Verb[S, P, T]:
    """One transaction, also by a process beside the engine."""

    @wraps(verb)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._file.write_beside(lambda session: verb(self, session, *args, **kwargs))

    return called


def commits(verb: Statements[S, P, T]) -> Verb[S, P, T]:
    """One transaction, by the engine; CommitUnknown when the answer was lost."""

    @wraps(verb)
    def called(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return self._file.transaction(lambda session: verb(self, session, *args, **kwargs))

    return called


def none() -> None:
    """Nothing was found."""
