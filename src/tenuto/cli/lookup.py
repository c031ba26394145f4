"""Finds an instance by what people type: its id, the beginning of it, `@last`, `@last-failed`."""

from __future__ import annotations

import difflib
import re
from datetime import timedelta
from typing import Final, Protocol
from uuid import UUID

from msgspec.structs import replace

from tenuto.model.durations import from_epoch_ms
from tenuto.model.errors import InvalidInput, NotFound, Problem
from tenuto.model.status import Status
from tenuto.store.protocol import InstancePage, InstanceQuery, InstanceRow

LAST: Final = "@last"
LAST_FAILED: Final = "@last-failed"
_SHORTEST: Final = 4
_PAGE: Final = 1_000
_NEWEST: Final = 5_000
"""So many instances are looked through for ids that are not ordered by time."""
_SLACK: Final = timedelta(minutes=1)
_LATEST_MS: Final = 253_402_214_400_000
"""The last day that a date can be: no instance is made later."""
"""An id is made a moment before its instance is accepted."""
_TIME_DIGITS: Final = 12
_PREFIX: Final = re.compile(r"[0-9a-f-]+\Z")


class Lister(Protocol):
    """Whoever can list instances: a store, or who looks at one or at a server."""

    async def instances(self, query: InstanceQuery) -> InstancePage: ...


async def find_instance(store: Lister, text: str) -> InstanceRow:
    """The one instance that `text` names; NotFound, or InvalidInput when it names several."""
    if text in (LAST, LAST_FAILED):
        statuses = (Status.FAILED,) if text == LAST_FAILED else ()
        return await _newest(store, text, statuses)
    wanted = text.strip().lower()
    if _is_whole(wanted):
        page = await store.instances(InstanceQuery(ids=(str(UUID(wanted)),), limit=1))
        if page.items:
            return page.items[0]
        raise await _not_found(store, text)
    if not _PREFIX.match(wanted) or len(wanted.replace("-", "")) < _SHORTEST:
        raise _not_an_id(text)
    found = await _beginning_with(store, wanted)
    if not found:
        raise await _not_found(store, text)
    if len(found) > 1:
        raise _ambiguous(text, found)
    return next(iter(found.values()))


def short_ids(ids: list[str]) -> dict[str, str]:
    """For each id the shortest beginning, of one length for all, that none of the others has."""
    size = 8
    while size < 36 and len({each[:size] for each in ids}) < len(set(ids)):
        size += 1
    if 0 < size < 36 and any(each[size - 1] == "-" for each in ids):
        size += 1
    return {each: each[:size] for each in ids}


async def _newest(store: Lister, text: str, statuses: tuple[Status, ...]) -> InstanceRow:
    """Of those that somebody started: a child is found through its parent."""
    query: InstanceQuery | None = InstanceQuery(statuses=statuses, limit=_PAGE)
    while query is not None:
        page = await store.instances(query)
        for row in page.items:
            if row.parent_id is None:
                return row
        query = replace(query, after=page.next_after) if page.next_after else None
    what = "failed instance" if statuses else "instance"
    raise NotFound(
        f"{text}: the store has no {what}",
        advice="Name another store with --store, or start a workflow: tenuto run FILE",
    )


async def _beginning_with(store: Lister, prefix: str) -> dict[str, InstanceRow]:
    found: dict[str, InstanceRow] = {}
    for first in (_window(prefix), InstanceQuery(limit=_PAGE)):
        looked_at = 0
        query = first
        while query is not None:
            page = await store.instances(query)
            found |= {row.id: row for row in page.items if row.id.startswith(prefix)}
            looked_at += len(page.items)
            if page.next_after is None or looked_at >= _NEWEST or len(found) > 1:
                break
            query = InstanceQuery(
                created_from=query.created_from,
                created_before=query.created_before,
                limit=_PAGE,
                after=page.next_after,
            )
        if found:
            return found
    return found


def _window(prefix: str) -> InstanceQuery | None:
    """Ids begin with the time they were made at: a beginning is a stretch of time."""
    digits = prefix.replace("-", "")[:_TIME_DIGITS]
    missing = 4 * (_TIME_DIGITS - len(digits))
    first = int(digits, 16) << missing
    if first >= _LATEST_MS:
        return None
    begin = from_epoch_ms(first) - _SLACK
    end = from_epoch_ms(min(first + (1 << missing), _LATEST_MS)) + _SLACK
    return InstanceQuery(created_from=begin, created_before=end, limit=_PAGE)


def _is_whole(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


async def _not_found(store: Lister, text: str) -> NotFound:
    newest = await store.instances(InstanceQuery(limit=200))
    ids = [row.id for row in newest.items]
    near = difflib.get_close_matches(text.lower(), ids, n=1, cutoff=0.7)
    hint = f"Did you mean {near[0]}? " if near else ""
    return NotFound(
        f"there is no instance {text}", advice=f"{hint}`tenuto list` shows what there is."
    )


def _ambiguous(text: str, found: dict[str, InstanceRow]) -> InvalidInput:
    return InvalidInput(
        f"{text} is the beginning of several ids",
        [
            Problem(
                code="TEN-2008",
                path="ID",
                message=f"{', '.join(sorted(found)[:5])}{_more(len(found) - 5)}",
                advice="Write more of the id.",
            )
        ],
    )


def _not_an_id(text: str) -> InvalidInput:
    return InvalidInput(
        f"{text!r} is not the id of an instance",
        [
            Problem(
                code="TEN-2008",
                path="ID",
                message="an id is a UUID such as 019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b",
                advice=f"Write at least its first {_SHORTEST} digits, {LAST} or {LAST_FAILED}.",
            )
        ],
    )


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""
