"""`tenuto audit`: what was done and refused, and whether the record of it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from tenuto.access.chain import read_noted, verify_chain
from tenuto.access.shown import plain
from tenuto.cli import audit_there, exits
from tenuto.cli.places import ServerUrl
from tenuto.cli.stores import described, reading
from tenuto.cli.tables import table_of
from tenuto.cli.terminal import say, show, show_as_it_is, show_json
from tenuto.model.codes import CATALOGUE
from tenuto.model.durations import iso, parse_moment
from tenuto.model.errors import InvalidInput, Problem
from tenuto.model.json import Object
from tenuto.store.access_protocol import AuditQuery, AuditRow
from tenuto.store.audit_chain import line_of

if TYPE_CHECKING:
    from rich.text import Text

CODE = "TEN-5015"
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
    below: int | None


async def list_lines(url: str, asked: Asked, *, is_json: bool) -> int:
    """Print lines, newest first, as a table or as JSON."""
    if isinstance(url, ServerUrl):
        return await audit_there.list_lines(
            url,
            asked.tenant,
            query={
                "actor": asked.actor,
                "action": asked.action,
                "target": asked.target,
                "since": _moment(asked.since, "$.from"),
                "until": _moment(asked.until, "$.to"),
                "limit": asked.limit,
            },
            is_json=is_json,
        )
    query = AuditQuery(
        tenant=asked.tenant,
        actor=asked.actor,
        action=asked.action,
        target=asked.target,
        since=_moment(asked.since, "$.from"),
        until=_moment(asked.until, "$.to"),
        below=asked.below,
        limit=asked.limit + 1,
    )
    async with reading(url) as reader:
        found = await reader.store.audit(query)
    rows = found[: asked.limit]
    following = str(rows[-1].number) if len(found) > asked.limit else None
    if is_json:
        show_json({"items": [_item(row) for row in rows], "nextCursor": following})
        return exits.DONE
    if not rows:
        say(f"nothing of {plain(asked.tenant)} in {described(url)}")
        return exits.DONE
    _show_table(rows)
    if following is not None:
        say(f"  There is more: --cursor {following}")
    return exits.DONE


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


def _show_table(rows: Sequence[AuditRow]) -> None:
    from rich.text import Text

    cells: list[list[str | Text]] = [
        [
            str(row.number),
            iso(row.entry.at),
            Text(row.entry.outcome, audit_there.COLOURS[row.entry.outcome]),
            plain(f"{row.entry.kind} {row.entry.actor}"),
            plain(row.entry.action),
            plain(row.entry.target),
            plain(row.entry.source),
            plain(row.entry.request_id),
        ]
        for row in rows
    ]
    names = ("NUMBER", "AT", "OUTCOME", "ACTOR", "ACTION", "TARGET", "FROM", "REQUEST")
    show(table_of(names, cells, whole=3))


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
