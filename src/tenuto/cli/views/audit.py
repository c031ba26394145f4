"""`tenuto audit`: what was done and refused, and whether the record of it is whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenuto.access.chain import read_noted, verify_chain
from tenuto.access.shown import plain
from tenuto.cli import audit_there, exits
from tenuto.cli.audit_there import Page
from tenuto.cli.backends.place import ServerUrl
from tenuto.cli.backends.store import described, reading
from tenuto.cli.views.terminal import say, show, show_as_it_is, show_json, table_of
from tenuto.model.codes import CATALOGUE
from tenuto.model.durations import parse_moment
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object
from tenuto.store.access_protocol import AuditQuery, AuditRow
from tenuto.store.audit_chain import line_of

if TYPE_CHECKING:
    from rich.text import Text

CODE = "TEN-5015"
_COLOURS = {"asked": "dim", "done": "green", "failed": "yellow", "refused": "red"}
_NAMES = ("NUMBER", "AT", "OUTCOME", "ACTOR", "ACTION", "TARGET", "FROM", "REQUEST")
_PAGE = 1_000


class Asked(Struct, frozen=True, kw_only=True):
    """Which lines to list."""

    tenant: str
    actor: str | None
    action: str | None
    target: str | None
    since: str | None
    until: str | None
    limit: int
    cursor: str | None
    """Where another list ended, as it said itself."""
    is_all: bool = False


async def list_lines(url: str, asked: Asked, *, is_json: bool) -> int:
    """Print lines, newest first, as a table or as JSON: a page, or all that there are."""
    since, until = _moment(asked.since, "$.from"), _moment(asked.until, "$.to")
    if isinstance(url, ServerUrl):
        pages = audit_there.pages(
            url,
            asked.tenant,
            {
                "actor": asked.actor,
                "action": asked.action,
                "target": asked.target,
                "since": since,
                "until": until,
                "limit": asked.limit,
                "cursor": asked.cursor,
            },
        )
    else:
        query = AuditQuery(
            tenant=asked.tenant,
            actor=asked.actor,
            action=asked.action,
            target=asked.target,
            since=since,
            until=until,
            below=_number(asked.cursor),
            limit=asked.limit,
        )
        pages = _pages(url, query)
    items: list[Object] = []
    following: str | None = None
    async with aclosing(pages):
        async for page, cursor in pages:
            items += page
            following = cursor
            if not asked.is_all:
                break
    if is_json:
        show_json({"items": [*items], "nextCursor": following})
    elif not items:
        say(f"nothing of {plain(asked.tenant)} in {described(url)}")
    else:
        show(table_of(_NAMES, [_cells(each) for each in items], whole=3))
        if following is not None:
            say(f"  There is more: --cursor {following}, or --all")
    return exits.DONE


async def _pages(url: str, query: AuditQuery) -> AsyncGenerator[Page, None]:
    """Lines of a store, a page at a time, each with where the next one begins."""
    async with reading(url) as reader:
        while True:
            found = await reader.store.audit(replace(query, limit=query.limit + 1))
            rows = found[: query.limit]
            is_last = len(found) <= query.limit
            yield [_item(row) for row in rows], None if is_last else str(rows[-1].number)
            if is_last:
                return
            query = replace(query, below=rows[-1].number)


async def export(url: str, tenant: str) -> int:
    """Print every line, oldest first."""
    if isinstance(url, ServerUrl):
        return await audit_there.export(url, tenant)
    after = 0
    async with reading(url) as reader:
        while rows := await reader.store.audit_lines(tenant, after=after, limit=_PAGE):
            show_as_it_is("\n".join(_as_json(row) for row in rows))
            after = rows[-1].number
    return exits.DONE


async def verify(url: str, tenant: str, known: str | None, *, is_json: bool) -> int:
    """Read the chain from its beginning; exits 1 where it is not as it was written."""
    if isinstance(url, ServerUrl):
        return await audit_there.verify(url, tenant, known, is_json=is_json)
    noted = None if known is None else read_noted(known)
    async with reading(url) as reader:
        head, fault = await verify_chain(reader.store, tenant, noted=noted)
    if is_json:
        show_json(
            {
                "tenant": tenant,
                "lines": head.number,
                "hash": head.hash.hex(),
                "problem": None
                if fault is None
                else {"code": CODE, "number": fault.number, "message": fault.what},
            }
        )
    elif fault is not None:
        say(f"error {CODE}  {fault.what}", style="red")
        say(f"  {CATALOGUE[CODE].advice}")
    else:
        show(f"✓ {head.number:,} lines of {plain(tenant)} are as they were written")
        if head.number:
            say(f"  To be sure of them later, note --known {head.number}:{head.hash.hex()}")
    return exits.DONE if fault is None else exits.FAILED


def _item(row: AuditRow) -> Object:
    return {
        **line_of(row.number, row.entry),
        "previousHash": row.previous_hash.hex(),
        "hash": row.hash.hex(),
    }


def _as_json(row: AuditRow) -> str:
    # A name must not end the line, nor colour the terminal that it is shown in.
    return plain(msgspec.json.encode(_item(row)).decode())


def _cells(line: Object) -> list[str | Text]:
    from rich.text import Text

    outcome = str(line["outcome"])
    return [
        str(line["number"]),
        str(line["at"]),
        Text(outcome, _COLOURS.get(outcome, "")),
        plain(f"{line['kind']} {line['actor']}"),
        *(plain(str(line[name])) for name in ("action", "target", "source", "requestId")),
    ]


def _number(cursor: str | None) -> int | None:
    """The cursor of a store: the number of the last line that was shown."""
    if cursor is None or cursor.isdecimal():
        return None if cursor is None else int(cursor)
    problem = Problem(
        code="TEN-2402",
        path="--cursor",
        message=f"{cursor} is not the number of a line",
        advice="Take what the list before said; a server's cursors are its own.",
    )
    raise InvalidInput("the lines cannot be listed", [problem])


def _moment(text: str | None, path: str) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_moment(text)
    except ValueError as error:
        problem = Problem(
            code="TEN-2402",
            path=path,
            message=str(error),
            advice="Write a moment such as 2030-01-31T12:00:00Z.",
        )
        raise InvalidInput("the lines cannot be listed", [problem]) from error
