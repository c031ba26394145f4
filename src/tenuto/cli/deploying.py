"""`tenuto deploy`: save the definitions of files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from tenuto.cli import exits
from tenuto.cli.backends.mailbox import LOCKED
from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.server import connected
from tenuto.cli.backends.store import make_room
from tenuto.cli.local_run import engine, space_of
from tenuto.cli.sources import Source, read_sources
from tenuto.cli.views.terminal import show, show_json
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import JSON

if TYPE_CHECKING:
    from tenuto.client import Client
    from tenuto.workspace.engine_workspace import EngineWorkspace


async def deploy(url: str, files: Sequence[Path], *, is_json: bool) -> int:
    """Save every definition of the files; none, where one of them has errors."""
    sources = [source for file in files for source in read_sources(file)]
    for source in sources:
        source.checked()
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            versions = [await saved(client, source) for source in sources]
    else:
        make_room(url)
        with redirect_stdout(sys.stderr), unlocked():
            async with engine(url, is_brief=True, is_guest=True) as app:
                versions = [await saved(space_of(app, url), source) for source in sources]
    named = [(each.checked().id, version) for each, version in zip(sources, versions, strict=True)]
    if is_json:
        items: list[JSON] = [{"id": id, "version": version} for id, version in named]
        show_json({"items": items, "nextCursor": None})
    else:
        for id, version in named:
            show(f"✓ {id}@{version}")
    return exits.DONE


async def saved(place: EngineWorkspace | Client, source: Source) -> int:
    """The version under which a definition is there now."""
    if source.flow is not None:
        return await place.deploy(source.flow)
    assert isinstance(source.document, dict)
    return await place.deploy(source.document)


@contextmanager
def unlocked() -> Iterator[None]:
    """What needs the file for itself says whom else to ask while another process has it."""
    try:
        yield
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
        raise StoreUnavailable(
            error.message,
            code=LOCKED,
            advice="Ask that process: --server URL, if it is `tenuto serve` or `tenuto dev`; else "
            "do it in its program, or stop it first.",
        ) from None
