"""Saves a definition, with what is only known of it once it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tenuto.workspace.own_limits import BELOW

if TYPE_CHECKING:
    from tenuto.cli.sources import Source
    from tenuto.workspace.protocol import Workspace


async def deployed_in(space: Workspace, source: Source) -> tuple[int, Source]:
    """The version of a definition that is saved, and the same source with further warnings."""
    if source.flow is not None:
        return await space.deploy(source.flow), source
    saved = await space.save(source.as_object)
    lowered = tuple(each for each in saved.problems if each.code == BELOW)
    return saved.version, replace(source, problems=(*source.problems, *lowered))
