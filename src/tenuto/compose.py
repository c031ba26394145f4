"""Wiring: the only module that knows which store a URL names and what an engine is made of."""

from __future__ import annotations

from pathlib import Path

from tenuto.engine.engine import Engine, Settings
from tenuto.model.errors import TenutoError
from tenuto.ports import Clock, Ids, SystemClock, SystemIds
from tenuto.store.memory import MemoryStore
from tenuto.store.protocol import Store
from tenuto.tasks.registry import Registry

SQLITE = "sqlite:///"


def open_store(url: str | None) -> Store:
    """The store that `url` names; without one, everything is kept in memory."""
    if url is None or url == "memory://":
        return MemoryStore()
    from tenuto.store.sqlite import SqliteStore  # noqa: PLC0415 - apsw only where it is used

    return SqliteStore(sqlite_path(url), lanes=2)


def open_reader(url: str) -> Store:
    """A store that may be read, and left mail in, while another process has it open."""
    from tenuto.store.sqlite import SqliteStore  # noqa: PLC0415 - apsw only where it is used

    path = sqlite_path(url)
    if not path.exists():
        raise TenutoError(
            f"there is no store at {path}",
            code="TEN-4001",
            advice="Name the right one with --store, or start a workflow first.",
        )
    return SqliteStore.reader(path)


async def migrate_store(url: str) -> list[str]:
    """Create the store that `url` names or bring its schema up to date; what was done."""
    from tenuto.store.sqlite import SqliteStore  # noqa: PLC0415 - apsw only where it is used

    return await SqliteStore(sqlite_path(url)).migrate()


def sqlite_path(url: str) -> Path:
    """`sqlite:///orders.db` is relative to the working folder, `sqlite:////srv/orders.db` not."""
    if not url.startswith(SQLITE) or url == SQLITE:
        raise TenutoError(
            f"{url!r} is not a store",
            code="TEN-4001",
            advice="Write sqlite:///FILE, or leave it out to keep everything in memory.",
        )
    return Path(url.removeprefix(SQLITE))


def build_engine(
    store: Store,
    registry: Registry,
    *,
    settings: Settings | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Engine:
    """An engine with the real clock and ids, unless others are given."""
    return Engine(
        store,
        registry=registry,
        clock=clock or SystemClock(),
        ids=ids or SystemIds(),
        settings=settings,
    )
