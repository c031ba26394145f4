"""Definitions, and records such as schedules, that `run` and `dev` save with their own engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tenuto.cli.backends.recorded import recorded_here

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.cli.records import Record
    from tenuto.cli.sources import Source
    from tenuto.workspace.engine_workspace import EngineWorkspace

_ACTIONS: Final[Mapping[str, str]] = {
    "schedule": "put_schedule",
    "calendar": "put_calendar",
    "data source": "put_data_source",
    "data query": "put_data_query",
}


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


async def saved_record(app: Tenuto, space: EngineWorkspace, record: Record) -> tuple[str, int]:
    """The id and version of a record, saved if it is not; Located.

    A change has lines in the audit log; the same content again has none, as after a reload.
    """
    if await _is_saved(app, space, record):
        return await record.saved_in(space)
    with record.located():
        saved = await recorded_here(
            app, space.tenant, _ACTIONS[record.kind], record.id, lambda: record.save_in(space)
        )
    return saved.id, saved.version


async def _is_saved(app: Tenuto, space: EngineWorkspace, record: Record) -> bool:
    match record.kind:
        case "calendar":
            return await app.engine.calendars.is_saved(space.tenant, record.document)
        case "data source":
            return await space.data_sources.is_saved(record.document)
        case "data query":
            return await space.data_queries.is_saved(record.document)
        case _:
            return await app.engine.schedules.is_saved(space.tenant, record.document)
