"""The address of the service that has a store, in a file beside the store: commands find it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from tenuto.compose import SQLITE, has_engine, sqlite_path
from tenuto.model.errors import StoreUnavailable

IN_USE: Final = "TEN-4002"


class ServedAddress(msgspec.Struct, frozen=True, kw_only=True):
    """What a service says of itself to the commands of its machine."""

    url: str
    process: int
    needs_key: bool = False
    """Whether it asks for a credential, as far as it knew when it started."""


def address_file(store: str) -> Path | None:
    """The file for a store; None where the store is no file."""
    if not store.startswith(SQLITE) or store == SQLITE:
        return None
    path = sqlite_path(store)
    return path.with_name(f"{path.name}.server")


@contextmanager
def announced(store: str, url: str, *, needs_key: bool) -> Iterator[None]:
    """Commands find the service inside of this context; it works without the file, too."""
    file = address_file(store)
    if file is None:
        yield
        return
    address = ServedAddress(url=url, process=os.getpid(), needs_key=needs_key)
    with suppress(OSError):
        os.close(_write(file, address))
    try:
        yield
    finally:
        _remove(file, address)


@contextmanager
def kept_announced(store: str) -> Iterator[None]:
    """A service stays announced inside, while its process ends and the next one begins.

    Commands would take the store for free otherwise. Their requests wait at the socket, which this
    process has open; the lock on the file says that it lives.
    """
    file, found = address_file(store), find_served(store)
    if file is None or found is None:
        yield
        return
    address = msgspec.structs.replace(found, process=os.getpid())
    handle = None
    with suppress(OSError):
        handle = _write(file, address)
    try:
        yield
    finally:
        _remove(file, address)
        if handle is not None:
            os.close(handle)


def find_served(store: str) -> ServedAddress | None:
    """The service that has the store now; a file that a killed process left is passed over."""
    file = address_file(store)
    found = None if file is None else _read(file)
    if file is None or found is None:
        return None
    return found if _is_held(file) or has_engine(store) else None


def reachable(url: str) -> str:
    """The address for clients on this machine: one of all its networks is none to connect to."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def with_address(error: StoreUnavailable, store: str, words: Sequence[str]) -> StoreUnavailable:
    """The refusal of a store that is in use, with the command that asks its service instead."""
    found = find_served(store) if error.code == IN_USE else None
    if found is None:
        return error
    import shlex

    said = [*_without_store(words), "--server", found.url]
    credential = ", with an API key in TENUTO_KEY" if found.needs_key else ""
    where = "" if found.url in error.message else f"; it serves {found.url}"
    return StoreUnavailable(
        f"{error.message}{where}",
        code=error.code,
        advice=f"Ask that service{credential}: tenuto {shlex.join(said)}",
    )


def _without_store(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    is_value = False
    for word in words:
        if is_value or word == "--store":
            is_value = not is_value
        elif not word.startswith("--store="):
            kept.append(word)
    return kept


def _write(file: Path, address: ServedAddress) -> int:
    """The file, open and locked: whole or not at all, and for its owner alone from the first."""
    made = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        made.unlink()
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, msgspec.json.encode(address))
        made.replace(file)
    except OSError:
        os.close(handle)
        raise
    return handle


def _is_held(file: Path) -> bool:
    """Whether the process that wrote it holds its lock, which ends with the process."""
    try:
        with file.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _remove(file: Path, address: ServedAddress) -> None:
    """Unless another process has written its own since."""
    if _read(file) == address:
        with suppress(OSError):
            file.unlink()


def _read(file: Path) -> ServedAddress | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=ServedAddress)
    except (OSError, msgspec.MsgspecError):
        return None
