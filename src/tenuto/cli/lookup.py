"""Which instances a command means: by id, the prefix of one, `@last`, status or variables."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

import msgspec

from tenuto.cli.views.terminal import SHORT_ID
from tenuto.model.durations import Duration, from_epoch_ms, parse_duration, parse_moment
from tenuto.model.errors import Forbidden, InvalidInput, NotFound, Problem, TenutoError
from tenuto.model.json import Given, Object
from tenuto.model.status import Status
from tenuto.workspace.values import ANY_INSTANCE, InstanceFilter, Page, Summary

if TYPE_CHECKING:
    from tenuto.workspace.protocol import Workspace

LAST: Final = "@last"
LAST_FAILED: Final = "@last-failed"
_SHORTEST: Final = 4
_PAGE: Final = 1_000
_NEWEST: Final = 5_000
"""So many instances are searched for ids that are not ordered by time."""
_SLACK: Final = timedelta(minutes=1)
"""An id is made a moment before its instance is accepted."""
_LATEST_MS: Final = 253_402_214_400_000
"""The last day that a date can be: no instance is made later."""
_TIME_DIGITS: Final = 12
_PREFIX: Final = re.compile(r"[0-9a-f-]+\Z")
_IN_A_LOOP: Final = re.compile(r"(?P<step>[^\[\]]+)\[(?P<iteration>[^\[\]]+)\]\Z")


class Lists(Protocol):
    """What lists instances: a workspace, or a store that is read."""

    async def page(
        self,
        which: InstanceFilter = ...,
        *,
        variables: Mapping[str, Given] | None = ...,
        limit: int = ...,
        cursor: str | None = ...,
    ) -> Page[Summary]: ...


def status_filter(names: Sequence[str]) -> tuple[Status, ...]:
    """The values of `--status`; InvalidInput."""
    known = [status.value for status in Status]
    if not_known := [name for name in names if name.upper() not in known]:
        from tenuto.definition.report import did_you_mean

        problems = [
            Problem(
                code="TEN-2000",
                path="--status",
                message=f"{name!r} is not a status",
                advice=did_you_mean(name.upper(), known, f"There are {', '.join(known)}."),
            )
            for name in not_known
        ]
        raise InvalidInput("the instances cannot be listed", problems)
    return tuple(Status(name.upper()) for name in names)


def variable_filter(given: Sequence[str]) -> Object | None:
    """The values of `--variable NAME=VALUE`, each JSON or else text; InvalidInput."""
    if not given:
        return None
    wanted: Object = {}
    for each in given:
        name, separator, text = each.partition("=")
        if not separator or not name:
            problem = Problem(
                code="TEN-2000",
                path="--variable",
                message=f"{each!r} is not NAME=VALUE",
                advice='Write a name and a value, such as orderId=7 or customer="7".',
            )
            raise InvalidInput("the instances cannot be listed", [problem])
        try:
            wanted[name] = msgspec.json.decode(text)
        except msgspec.DecodeError:
            wanted[name] = text
    return wanted


def moment_or_ago(text: str, now: datetime, option: str) -> datetime:
    """The value of an option: a moment, or how long ago; InvalidInput."""
    try:
        found = _moment_or_duration(text)
    except ValueError as error:
        advice = "Write a moment, such as 2026-11-16T20:31Z, or how long ago, such as 2h."
        problem = Problem(code="TEN-2000", path=option, message=str(error), advice=advice)
        raise InvalidInput("nothing can be listed like that", [problem]) from None
    return found if isinstance(found, datetime) else found.before(now)


def moment_or_in(text: str, now: datetime, option: str) -> datetime:
    """The value of an option: a moment, or in how long; InvalidInput."""
    try:
        found = _moment_or_duration(text)
    except ValueError as error:
        advice = "Write a moment, such as 2026-11-16T20:31Z, or in how long, such as 2h."
        problem = Problem(code="TEN-2000", path=option, message=str(error), advice=advice)
        raise InvalidInput("the option is no moment", [problem]) from None
    return found if isinstance(found, datetime) else found.after(now)


def _moment_or_duration(text: str) -> datetime | Duration:
    if text.startswith("P"):
        return parse_duration(text)
    with suppress(ValueError):
        return parse_duration(text)
    return parse_moment(text)


async def refuse_unknown_workflow(space: Workspace, workflow: str | None) -> None:
    """NotFound for a workflow without a definition and instances: a filter by it finds nothing."""
    if workflow is None:
        return
    try:
        await space.definition(workflow)
    except NotFound:
        # A definition that was removed has left instances.
        if not (await space.page(InstanceFilter(workflow=workflow), limit=1)).items:
            raise
    except Forbidden:
        # Definitions may not be read: the list stays empty.
        return


async def find_instance(space: Lists, text: str) -> Summary:
    """The one instance that `text` names; NotFound, or InvalidInput when it names several."""
    if text in (LAST, LAST_FAILED):
        statuses = (Status.FAILED,) if text == LAST_FAILED else ()
        return await _newest(space, text, statuses)
    wanted = text.strip().lower()
    if _is_whole(wanted):
        page = await space.page(InstanceFilter(ids=(str(UUID(wanted)),)), limit=1)
        if page.items:
            return page.items[0]
        raise await _not_found(space, text)
    if not _PREFIX.match(wanted) or len(wanted.replace("-", "")) < _SHORTEST:
        # A store or server that is not there is the first thing to report.
        await space.page(limit=1)
        raise await _not_an_id(space, text)
    found = await _beginning_with(space, wanted)
    if not found:
        raise await _not_found(space, text)
    if len(found) > 1:
        raise _ambiguous(text, found)
    return next(iter(found.values()))


def short_ids(ids: list[str]) -> dict[str, str]:
    """For each id a unique prefix, of one length for all."""
    size = SHORT_ID
    while size < 36 and len({each[:size] for each in ids}) < len(set(ids)):
        size += 1
    if 0 < size < 36 and any(each[size - 1] == "-" for each in ids):
        size += 1
    return {each: each[:size] for each in ids}


async def _newest(space: Lists, text: str, status: tuple[Status, ...]) -> Summary:
    """Only roots count: a child is found through its parent."""
    cursor: str | None = None
    while True:
        page = await space.page(InstanceFilter(status=status), limit=_PAGE, cursor=cursor)
        for each in page.items:
            if each.parent_id is None:
                return each
        cursor = page.next_cursor
        if cursor is None:
            break
    what = "failed instance" if status else "instance"
    raise NotFound(
        f"{text}: the store has no {what}",
        advice="Name another store with --store, or start a workflow: tenuto run FILE",
    )


async def _beginning_with(space: Lists, prefix: str) -> dict[str, Summary]:
    found: dict[str, Summary] = {}
    for which in (_window(prefix), ANY_INSTANCE):
        searched = 0
        cursor: str | None = None
        while which is not None:
            page = await space.page(which, limit=_PAGE, cursor=cursor)
            found |= {each.id: each for each in page.items if each.id.startswith(prefix)}
            searched += len(page.items)
            cursor = page.next_cursor
            if cursor is None or searched >= _NEWEST or len(found) > 1:
                break
        if found:
            return found
    return found


def _window(prefix: str) -> InstanceFilter | None:
    """Ids begin with the time at which they were made: a prefix is a span of time."""
    digits = prefix.replace("-", "")[:_TIME_DIGITS]
    missing = 4 * (_TIME_DIGITS - len(digits))
    first = int(digits, 16) << missing
    if first >= _LATEST_MS:
        return None
    begin = from_epoch_ms(first) - _SLACK
    end = from_epoch_ms(min(first + (1 << missing), _LATEST_MS)) + _SLACK
    return InstanceFilter(created_from=begin, created_before=end)


def _is_whole(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


async def _not_found(space: Lists, text: str) -> NotFound:
    newest = await space.page(limit=200)
    ids = [row.id for row in newest.items]
    near = difflib.get_close_matches(text.lower(), ids, n=1, cutoff=0.7)
    hint = f"Did you mean {near[0]}? " if near else ""
    return NotFound(
        f"there is no instance {text}", advice=f"{hint}`tenuto list` shows what there is."
    )


def _ambiguous(text: str, found: dict[str, Summary]) -> InvalidInput:
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


async def _not_an_id(space: Lists, text: str) -> InvalidInput:
    advice = f"Write at least its first {_SHORTEST} digits, {LAST} or {LAST_FAILED}."
    of_workflow: Page[Summary] | None = None
    with suppress(TenutoError):
        of_workflow = await space.page(InstanceFilter(workflow=text), limit=1)
    if text and of_workflow is not None and of_workflow.items:
        advice = (
            f"{text} is a workflow: `tenuto list --workflow {text}` lists its instances, "
            f"`tenuto workflows show {text}` shows its steps."
        )
    return InvalidInput(
        f"{text!r} is not the id of an instance",
        [
            Problem(
                code="TEN-2008",
                path="ID",
                message="an id is a UUID such as 019a8b2c-4d5e-7f60-8a9b-0c1d2e3f4a5b",
                advice=advice,
            )
        ],
    )


def _more(count: int) -> str:
    return f" and {count} more" if count > 0 else ""


def step_and_iteration(step: str, iteration: str) -> tuple[str, str]:
    """A step and its iteration, also from `review[2]`, which is how messages spell them."""
    found = _IN_A_LOOP.match(step)
    return (found["step"], found["iteration"]) if found and not iteration else (step, iteration)
