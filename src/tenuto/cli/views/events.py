"""Events as text and JSON: what became of them, and what would become of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tenuto.cli.views.errors import error_json, show_error
from tenuto.cli.views.near_misses import (
    near_wait_line,
    nearly_reached_lines,
    place_line,
)
from tenuto.cli.views.tables import cell, table_of
from tenuto.cli.views.terminal import ago, one_line, say, show, show_line
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Object
from tenuto.workspace.values import Published

if TYPE_CHECKING:
    from rich.text import Text


def published_json(result: Published | TenutoError) -> Object:
    """What became of an event; of a dry run also what it would reach, and nearly reach."""
    if isinstance(result, TenutoError):
        return error_json(result)
    found: Object = {
        "eventId": result.event_id,
        "duplicate": result.duplicate,
        "resumed": result.resumed,
        "cancelled": result.cancelled,
        "started": result.started,
    }
    if result.is_dry:
        found["targets"] = list(result.targets)
        found["nearMisses"] = list(result.near_misses)
        if result.hint is not None:
            found["hint"] = result.hint
    return found


def nearly_json(would: Published | None) -> Object:
    """What an event that nothing took nearly reached; empty where that was not looked for."""
    if would is None:
        return {}
    hint: Object = {} if would.hint is None else {"hint": would.hint}
    return {"nearMisses": list(would.near_misses), **hint}


def show_published(pattern: str, published: Published, described: str) -> None:
    """What became of an event."""
    if published.duplicate:
        show(f"✓ {published.event_id} was sent before; nothing is done twice")
    elif what := counted(published):
        show(f"✓ {pattern} sent to {described}: {what}")
    else:
        show(f"✓ {pattern} stored in {described}; no wait takes it now")
        say("  A wait that opens later looks back at it.")


def show_all_published(results: Sequence[Published | TenutoError]) -> None:
    """A line for each event of a document; an error names its event."""
    for number, result in enumerate(results, start=1):
        if isinstance(result, TenutoError):
            _show_refused(result, number, len(results))
        elif result.duplicate:
            show(f"✓ {result.event_id} was sent before; nothing is done twice")
        else:
            what = counted(result)
            show(f"✓ {result.event_id} stored: {what or 'no wait takes it now'}")


def show_dry_run(document: JSON, results: Sequence[Published | TenutoError]) -> None:
    """What each event of a document would do, if it came now and alone."""
    events = document if isinstance(document, list) else [document]
    for number, (event, result) in enumerate(zip(events, results, strict=True), start=1):
        if isinstance(result, TenutoError):
            _show_refused(result, number, len(results))
            continue
        pattern = _pattern(event)
        if result.duplicate:
            show(f"{pattern} {result.event_id} was sent before; nothing would be done twice")
            continue
        show(f"{pattern} would be stored: {counted(result) or 'no wait would take it'}")
        for target in result.targets:
            show_line(f"  {place_line(target)}")
        for near in result.near_misses:
            show_line(f"  {near_wait_line(near)}")
        show_hint(result.hint)


def show_nearly_reached(near: Sequence[Object]) -> None:
    """What an event that nothing took nearly reached, and which values are wanted there."""
    for line in nearly_reached_lines(near):
        say(f"  {line}", style="yellow")


def show_hint(hint: str | None) -> None:
    """A hint, as a warning on stderr."""
    if hint is not None:
        say(f"warning  {hint}", style="yellow")


def events_table(found: Sequence[Object], now: datetime) -> Text:
    """Events, a line each."""
    cells: list[list[str | Text]] = [
        [
            ago(datetime.fromisoformat(str(each["receivedAt"])), now),
            str(each["pattern"]),
            str(each["eventId"]),
            str(each["correlationId"] or ""),
            cell(each["payload"], 100),
        ]
        for each in found
    ]
    return table_of(("RECEIVED", "PATTERN", "ID", "CORRELATES", "PAYLOAD"), cells, whole=3)


def show_event(event: Object, now: datetime) -> None:
    """An event of the inbox, what it reached, and what it nearly reached."""
    show(f"{event['pattern']}  {event['eventId']}")
    nothing = "nothing" if event["matched"] else "not matched yet"
    counts = [int(str(event[name])) for name in ("resumed", "cancelled", "started")]
    facts = [
        ("received", ago(datetime.fromisoformat(str(event["receivedAt"])), now)),
        ("payload", one_line(event["payload"])),
        ("correlates", event["correlationId"]),
        ("did", _counted(*counts) or nothing),
    ]
    for name, value in facts:
        if value is not None:
            show_line(f"  {name:<10}  {value}")
    for name, line in (("deliveries", place_line), ("nearMisses", near_wait_line)):
        found = event[name]
        assert isinstance(found, list)
        if found:
            show("")
        for each in found:
            assert isinstance(each, dict)
            show_line(f"  {line(each)}")


def counted(published: Published) -> str:
    """What an event has set going; empty where it did nothing."""
    return _counted(published.resumed, published.cancelled, published.started)


def _counted(resumed: int, cancelled: int, started: int) -> str:
    counts = (
        (resumed, "wait", "resumed"),
        (cancelled, "instance", "cancelled"),
        (started, "instance", "started"),
    )
    return ", ".join(
        f"{count} {what}{'' if count == 1 else 's'} {is_done}"
        for count, what, is_done in counts
        if count
    )


def _show_refused(error: TenutoError, number: int, count: int) -> None:
    say(f"event {number} of {count} is not sent:", style="red")
    show_error(error)


def _pattern(event: JSON) -> JSON:
    """Of an event in Tenuto's own form, or of a CloudEvent."""
    assert isinstance(event, dict)
    return event["pattern"] if "pattern" in event else event.get("type")
