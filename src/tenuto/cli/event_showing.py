"""`tenuto events show`: one event, whom it reached, and whom nearly."""

from __future__ import annotations

from datetime import datetime

from tenuto.cli import exits
from tenuto.cli.moments import ago
from tenuto.cli.near_lines import near_wait_line, place, place_line
from tenuto.cli.places import ServerUrl, tenant_of
from tenuto.cli.publishing import done
from tenuto.cli.servers import connected
from tenuto.cli.stores import reading
from tenuto.cli.terminal import one_line, show, show_json
from tenuto.engine.events.event_views import event_view
from tenuto.engine.events.inspector import EventReport
from tenuto.ports import SystemClock
from tenuto.store.parts.inbox import Delivery
from tenuto.store.parts.waits import WaitKey


async def show_event(url: str, id: str, *, is_json: bool) -> int:
    """Print an event of the inbox."""
    if isinstance(url, ServerUrl):
        return await _there(url, id, is_json=is_json)
    async with reading(url) as reader:
        report = await reader.inspector.event(tenant_of(url), id)
        now = reader.clock.now()
    if is_json:
        show_json(event_view(report))
        return exits.DONE
    found, event = report.found, report.found.event
    show(f"{event.pattern}  {event.id}")
    facts = [
        ("received", ago(event.received_at, now)),
        ("payload", one_line(event.payload)),
        ("correlates", event.correlation_id),
        ("did", done(found.resumed, found.cancelled, found.started) or _nothing(report)),
    ]
    for name, value in facts:
        if value is not None:
            show(f"  {name:<10}  {value}")
    if report.deliveries:
        show("")
    for delivery in report.deliveries:
        show(f"  {_delivery(delivery, is_start=delivery in report.starts)}")
    if report.near:
        show("")
    for near in report.near:
        show(f"  {near_wait_line(near)}")
    return exits.DONE


async def _there(url: ServerUrl, id: str, *, is_json: bool) -> int:
    async with connected(url) as client:
        event = await client.event(id)
    if is_json:
        show_json(event)
        return exits.DONE
    counts = [int(str(event[name])) for name in ("resumed", "cancelled", "started")]
    show(f"{event['pattern']}  {event['eventId']}")
    facts = [
        ("received", ago(datetime.fromisoformat(str(event["receivedAt"])), SystemClock().now())),
        ("payload", one_line(event["payload"])),
        ("correlates", event["correlationId"]),
        ("did", done(*counts) or ("nothing" if event["matched"] else "not matched yet")),
    ]
    for name, value in facts:
        if value is not None:
            show(f"  {name:<10}  {value}")
    for name, word in (("deliveries", ""), ("nearMisses", "nearly ")):
        found = event[name]
        assert isinstance(found, list)
        for each in found:
            assert isinstance(each, dict)
            show(f"  {word}{place_line(each)}")
    return exits.DONE


def _nothing(report: EventReport) -> str:
    return "nothing" if report.found.matched else "not matched yet"


def _delivery(delivery: Delivery, *, is_start: bool) -> str:
    outcome = delivery.outcome
    if is_start:
        instance = "" if outcome == "refused" else f"  {delivery.instance_id}"
        where = f"{delivery.node}{instance}"
    elif delivery.node:
        key = WaitKey(delivery.instance_id, delivery.node, delivery.iteration, delivery.arm)
        where = place(key)
    else:
        where = delivery.instance_id
    reason = f": {one_line(delivery.reason)}" if delivery.reason else ""
    return f"{outcome}  {where}{reason}"
