"""Which instances a command acts on: ids that were typed, ids on stdin, or a filter."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

import typer
from msgspec import Struct
from msgspec.structs import replace

from tenuto.cli.lookup import find_instance, status_filter
from tenuto.cli.search import Search, read_search
from tenuto.workspace.values import ANY_INSTANCE, InstanceFilter, Summary, in_groups

if TYPE_CHECKING:
    from tenuto.model.status import Status
    from tenuto.workspace.protocol import Workspace

STDIN: Final = "-"
_PAGE: Final = 1_000


class Asked(Struct, frozen=True, kw_only=True):
    """What a command was given to say which instances."""

    words: tuple[str, ...] = ()
    """Ids, prefixes, `@last`, or `-`."""
    status: tuple[str, ...] = ()
    workflow: str | None = None
    correlation_id: str | None = None
    query: str | None = None
    """A search, as `tenuto list` takes it."""

    @property
    def single(self) -> str | None:
        """The one instance that is named, where it is one."""
        is_one = len(self.words) == 1 and self.words[0] != STDIN
        return self.words[0] if is_one and not self.is_filter else None

    @property
    def is_filter(self) -> bool:
        return bool(self.status or self.workflow or self.correlation_id or self.query)

    @property
    def is_typed(self) -> bool:
        """Whether every instance was named by the user, so that none is a surprise."""
        return bool(self.words) and STDIN not in self.words

    def refuse_unclear(self) -> None:
        """Wrong usage, where nothing is named, or ids beside a filter."""
        if self.words and self.is_filter:
            raise typer.BadParameter(
                "ids are named, or a filter, and not both", param_hint="ID, --status, --workflow"
            )
        if self.query and (self.status or self.workflow or self.correlation_id):
            raise typer.BadParameter(
                "a search has its filters in itself: status:failed workflow:order",
                param_hint="--query",
            )
        if not self.words and not self.is_filter:
            raise typer.BadParameter(
                "name instances by their ids, with - by ids on stdin, or by a filter such as "
                "--status FAILED --workflow order",
                param_hint="ID",
            )


async def ids_of(space: Workspace, asked: Asked) -> list[str]:
    """The whole ids of instances that are named; NotFound, InvalidInput."""
    words: list[str] = []
    for word in asked.words:
        words += sys.stdin.read().split() if word == STDIN else [word]
    # Those that are whole are looked up all together.
    found = [
        word.lower() if _is_id(word) else (await find_instance(space, word)).id for word in words
    ]
    return list(dict.fromkeys(found))


def filter_of(asked: Asked, sensible: Sequence[Status], now: datetime) -> Search:
    """The filter that was given; without a status it finds those in which an action is possible."""
    if asked.query is not None:
        which, variables = read_search(asked.query, now)
        return Search(replace(which, status=which.status or tuple(sensible)), variables)
    which = replace(
        ANY_INSTANCE,
        status=status_filter(asked.status) or tuple(sensible),
        workflow=asked.workflow,
        correlation_id=asked.correlation_id,
    )
    return Search(which, None)


def is_for_bulk(search: Search) -> bool:
    """Whether a bulk operation can find the same instances by itself; else they are named."""
    which = search.which
    others = (which.updated_from, which.updated_before, which.key, which.text, search.variables)
    return all(each is None for each in others)


async def named(space: Workspace, ids: Sequence[str]) -> list[Summary]:
    """The instances of these ids that there are, in their order."""
    rows: dict[str, Summary] = {}
    for group in in_groups(ids):
        page = await space.page(InstanceFilter(ids=tuple(group)), limit=len(group))
        rows |= {each.id: each for each in page.items}
    return [rows[id] for id in ids if id in rows]


async def filtered(space: Workspace, search: Search) -> AsyncIterator[Summary]:
    """Every instance that a filter finds, newest first."""
    which, variables = search
    cursor: str | None = None
    while True:
        page = await space.page(which, variables=variables, limit=_PAGE, cursor=cursor)
        for each in page.items:
            yield each
        cursor = page.next_cursor
        if cursor is None:
            return


def _is_id(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
