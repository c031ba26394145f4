"""Definitions that `tenuto run` and `tenuto dev` deploy with an engine of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenuto.cli.backends.recorded import recorded_here

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.cli.sources import Source
    from tenuto.workspace.engine_workspace import EngineWorkspace


async def deployed(
    app: Tenuto, space: EngineWorkspace, source: Source, *, reason: str | None = None
) -> int:
    """The version of a definition, deployed if it is not.

    A new version has lines in the audit log; the same content again has none, as after a reload.
    """
    if await source.is_saved(space):
        return await space.deploy(source.deployable)
    return await recorded_here(
        app,
        space.tenant,
        "put_workflow",
        source.checked().id,
        lambda: space.deploy(source.deployable),
        reason=reason,
    )
