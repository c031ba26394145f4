"""`tenuto events send --dry-run`: what events would do, beside whoever works on the store."""

from __future__ import annotations

from tenuto.cli import exits
from tenuto.cli.near_lines import near_wait_line, place, place_line
from tenuto.cli.places import ServerUrl, tenant_of
from tenuto.cli.publishing import done, show_results, view
from tenuto.cli.servers import connected
from tenuto.cli.stores import Reader, reading
from tenuto.cli.terminal import one_line, show, show_json
from tenuto.engine.events.event_intake import EventIntake
from tenuto.engine.events.inspector import DryRun
from tenuto.engine.events.recipients import key_of
from tenuto.model.errors import StoreUnavailable, TenutoError
from tenuto.model.events import Event
from tenuto.model.json import JSON
from tenuto.model.policy import Limits
from tenuto.ports import SystemIds


async def dry_run_events(url: str, document: JSON, *, is_json: bool) -> int:
    """Tell what each event of a document would do, if it came now and alone."""
    from tenuto.published import dry_published

    if isinstance(url, ServerUrl):
        return await _there(url, document, is_json=is_json)
    async with reading(url) as reader:
        taken = EventIntake(reader.clock, SystemIds(), Limits(), tenant_of(url)).events(document)
        found = [await _tried(reader, each) for each in taken]
    if is_json:
        results = [
            each if isinstance(each, TenutoError) else dry_published(*each) for each in found
        ]
        views: list[JSON] = [view(each) for each in results]
        show_json(views if isinstance(document, list) else views[0])
        return exits.first_failure(results)
    if len(found) == 1 and isinstance(found[0], TenutoError):
        raise found[0]
    for number, tried in enumerate(found, start=1):
        if isinstance(tried, TenutoError):
            show_results([tried], number, len(found))
        else:
            _tell(*tried)
    return exits.first_failure(found)


async def _there(url: ServerUrl, document: JSON, *, is_json: bool) -> int:
    async with connected(url) as client:
        results = await client.publish_all(document, dry_run=True)
    if is_json:
        views: list[JSON] = [view(each) for each in results]
        show_json(views if isinstance(document, list) else views[0])
        return exits.first_failure(results)
    for number, result in enumerate(results, start=1):
        if isinstance(result, TenutoError):
            show_results([result], number, len(results))
            continue
        would = done(result.resumed, result.cancelled, result.started) or "nobody would take it"
        show(f"{result.event_id} would be stored: {would}")
        for each in (*result.targets, *result.near_misses):
            show(f"  {'' if each in result.targets else 'nearly '}{place_line(each)}")
    return exits.first_failure(results)


async def _tried(reader: Reader, taken: Event | TenutoError) -> tuple[Event, DryRun] | TenutoError:
    if isinstance(taken, TenutoError):
        return taken
    try:
        return taken, await reader.inspector.dry_run(taken)
    except StoreUnavailable:
        raise
    except TenutoError as error:
        return error


def _tell(event: Event, dry: DryRun) -> None:
    result, targets = dry.result, dry.targets
    if targets is None:
        show(f"{event.pattern} {event.id} was sent before; nothing would be done twice")
        return
    would = done(result.resumed, result.cancelled, result.started) or "nobody would take it"
    show(f"{event.pattern} would be stored: {would}")
    for wait in (*targets.waits, *targets.later):
        show(f"  resumed  {place(key_of(wait))}")
    for wait in targets.cancelling:
        show(f"  cancelled  {wait.instance_id}")
    for start in targets.starts.deliveries:
        reason = f": {one_line(start.reason)}" if start.reason else ""
        show(f"  {'refused' if start.reason else 'started'}  {start.node}{reason}")
    for near in dry.near:
        show(f"  {near_wait_line(near)}")
