"""What a command says of its place, and the store that it reads instead of a killed service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tenuto.cli.backends.place import Place, StoreUrl

if TYPE_CHECKING:
    from tenuto.cli.backends.backend import Backend
    from tenuto.model.errors import StoreUnavailable

_READING: Final = frozenset({"list", "show", "history", "logs", "explain", "usage", "rules"})
_READING_ALONE: Final = _READING | {"stats"}
_SAID_ANYWAY: Final = frozenset({"run", "send", "stats", "doctor"})
"""These have the place in what they print."""


@contextmanager
def saying_place(place: str, backend: Backend, output: str) -> Iterator[None]:
    """One line on stderr, on a pipe too: which store or server was found need not be seen there.

    It comes with the first answer of a server, which names its environment. Programs ask for JSON
    or ids.
    """

    def tell() -> None:
        from tenuto.cli.views.terminal import say

        if output != "table" or not isinstance(place, Place) or place.command in _SAID_ANYWAY:
            return
        word = "from" if place.command in _READING else "in"
        say(f"{word} {backend.described}", style="dim")

    with backend.once_known(tell):
        yield


def store_instead(place: str, error: StoreUnavailable) -> StoreUrl | None:
    """The store of a service of this folder that was killed; only for commands that read.

    A service that is slow, or that asks for a credential, has its store: it is not passed over.
    """
    if not isinstance(place, Place) or (url := place.store_beside) is None:
        return None
    if place.command not in _READING_ALONE or not _is_refused(error):
        return None
    from tenuto.cli.backends.reader import described
    from tenuto.cli.views.terminal import say

    where = described(url)
    say(f"the service of this folder does not answer; read from {where}", style="yellow")
    return StoreUrl.of_tenant(url, place.tenant)


def _is_refused(error: BaseException) -> bool:
    """Whether a refused connection is behind an error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return True
        if isinstance(getattr(cause, "os_error", None), ConnectionRefusedError):
            return True
        cause = cause.__cause__
    return False
