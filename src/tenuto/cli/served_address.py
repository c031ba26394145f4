"""The address of the service that has a store, in a file beside the store: commands find it."""

from __future__ import annotations

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
        _write(file, msgspec.json.encode(address))
    try:
        yield
    finally:
        if _read(file) == address:
            with suppress(OSError):
                file.unlink()


def find_served(store: str) -> ServedAddress | None:
    """The service that has the store now; a file that a killed process left is passed over."""
    file = address_file(store)
    found = None if file is None else _read(file)
    return found if found is not None and has_engine(store) else None


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


def _write(file: Path, text: bytes) -> None:
    """Whole or not at all, and for its owner alone from the first moment on."""
    made = file.with_name(f"{file.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        made.unlink()
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, text)
    finally:
        os.close(handle)
    made.replace(file)


def _read(file: Path) -> ServedAddress | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=ServedAddress)
    except (OSError, msgspec.MsgspecError):
        return None
