"""Definitions, schedules and calendars that `run` and `dev` save with an engine of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenuto.cli.backends.recorded import recorded_here

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.cli.records import Record
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


async def saved_record(app: Tenuto, space: EngineWorkspace, record: Record) -> tuple[str, int]:
    """The id and version of a schedule or a calendar, saved if it is not; Located.

    A change has lines in the audit log; the same content again has none, as after a reload.
    """
    is_calendar = record.kind == "calendar"
    part = app.engine.calendars if is_calendar else app.engine.schedules
    if await part.is_saved(space.tenant, record.document):
        return await record.saved_in(space)
    action = "put_calendar" if is_calendar else "put_schedule"
    with record.located():
        saved = await recorded_here(
            app, space.tenant, action, record.id, lambda: record.save_in(space)
        )
    return saved.id, saved.version
