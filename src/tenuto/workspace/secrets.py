"""The secrets of one tenant: written, listed and removed; no method reads a value."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Final

from tenuto.definition.report import did_you_mean
from tenuto.model.checks import converted, within
from tenuto.model.errors import Conflict, InvalidInput, NotFound, Problem, TenutoError
from tenuto.model.json import json_problem
from tenuto.model.quotas import refuse_beyond
from tenuto.model.secret_place import NAME, about
from tenuto.store.parts.secrets import SecretRow
from tenuto.store.protocol import Parts
from tenuto.workspace.portions import page_by_name, size_of_parts
from tenuto.workspace.secret_uses import secret_uses, uses_text
from tenuto.workspace.secret_values import Secret, SecretUses
from tenuto.workspace.source import Source
from tenuto.workspace.values import MOST_ITEMS, Page

LEAST_LENGTH: Final = 4
"""Characters of a value: a shorter one stands in many texts that have nothing to do with it."""
MOST_BYTES: Final = 32_768
MOST_DESTINATIONS: Final = 100
_BAD_NAME: Final = "TEN-2760"
_BAD_VALUE: Final = "TEN-2761"
_BAD_DESTINATION: Final = "TEN-2762"
_UNKNOWN: Final = "TEN-3160"
_USED: Final = "TEN-3161"
_DESTINATION: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9_])?(?::\d{1,5})?")
"""A host, with or without a port, or the id of a data source."""
_IPV6: Final = re.compile(r"\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?")


class TenantSecrets:
    """The secrets of one tenant, as the store has them."""

    def __init__(self, source: Source, tenant: str, actor: str) -> None:
        """`actor` is the principal: changes are recorded in its name."""
        self._source = source
        self._tenant = tenant
        self._actor = actor

    async def put(
        self, name: str, value: str, *, destinations: Sequence[str] | None = None
    ) -> Secret:
        """Store a secret, new or not; attempts that start from now on get this value.

        `destinations` are the hosts and data sources that it may be sent to; without them it may
        stand in the input of every step. InvalidInput, without the value.
        """
        named = None if destinations is None else _destinations(destinations)
        problems = [*name_problems(name), *_value_problems(value), *_destination_problems(named)]
        if problems:
            raise InvalidInput("the secret cannot be stored", problems)
        try:
            sealed = self._source.seals.seal(value.encode(), about(self._tenant, name))
        except TenutoError as error:
            raise Conflict(error.message, code=error.code, advice=error.advice) from error
        if await self._seen.secrets.get(self._tenant, name) is None:
            most = self._source.settings.quotas.secrets
            refuse_beyond("secrets", await self._seen.secrets.count(self._tenant, most), most)
        row = SecretRow(
            tenant=self._tenant,
            name=name,
            sealed=sealed,
            destinations=named,
            changed_at=self._source.clock.now(),
            changed_by=self._actor,
        )
        await self._source.store.secrets.put(row)
        return await self.get(name)

    async def get(self, name: str) -> Secret:
        """A secret, without its value; NotFound."""
        row = await self._row(name)
        return _shown(row, (await self._uses([name]))[name])

    async def page(self, *, limit: int = 100, cursor: str | None = None) -> Page[Secret]:
        """A page of secrets, without their values, ordered by name."""
        within(limit, "limit", 1, MOST_ITEMS)
        rows, next_cursor = await self._page(limit, cursor)
        uses = await self._uses([row.name for row in rows])
        return Page(items=[_shown(row, uses[row.name]) for row in rows], next_cursor=next_cursor)

    async def remove(self, name: str, *, force: bool = False) -> None:
        """Remove a secret; Conflict while something names it, unless `force`. NotFound.

        Attempts that start after that and need it fail with `UNKNOWN_SECRET`.
        """
        found = await self.get(name)
        said = uses_text(found.used_by)
        if said and not force:
            raise Conflict(f"the secret {name} is used by {said}", code=_USED)
        if not await self._source.store.secrets.remove(self._tenant, name):
            raise NotFound(f"there is no secret {name}", code=_UNKNOWN)

    async def list(self) -> list[Secret]:
        """Every secret, without its value, ordered by name."""
        found: list[Secret] = []
        cursor: str | None = None
        while True:
            page = await self.page(limit=MOST_ITEMS, cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                return found

    # -- inner

    async def _page(self, limit: int, cursor: str | None) -> tuple[Sequence[SecretRow], str | None]:
        async def read(after: str, count: int) -> Sequence[SecretRow]:
            return await self._seen.secrets.page(self._tenant, after=after, limit=count)

        return await page_by_name(limit, cursor, read, name=attrgetter("name"), size=_size)

    async def _uses(self, names: Collection[str]) -> Mapping[str, SecretUses]:
        return await secret_uses(self._seen, self._source.plans.values, self._tenant, names)

    async def _row(self, name: str) -> SecretRow:
        row = await self._seen.secrets.get(self._tenant, name)
        if row is None:
            rows, _ = await self._page(MOST_ITEMS, None)
            known = [each.name for each in rows]
            advice = did_you_mean(name, known, "`tenuto secrets list` shows the secrets.")
            raise NotFound(f"there is no secret {name}", code=_UNKNOWN, advice=advice)
        return row

    @property
    def _seen(self) -> Parts:
        return self._source.store.seen_by(self._tenant)


def name_problems(name: object) -> list[Problem]:
    """Why a text is no name of a secret."""
    if isinstance(name, str) and NAME.fullmatch(name):
        return []
    return [
        Problem(
            code=_BAD_NAME,
            path="$.name",
            message="it is not a name that `{{secrets.NAME}}` can have",
            advice="Use letters, digits and underscores, at most 64, and begin with no digit.",
        )
    ]


def _value_problems(value: object) -> list[Problem]:
    # The messages never repeat the value, nor how long it is.
    if not isinstance(value, str):
        said, advice = "it is no text", "Send the value as text."
    elif json_problem(value) is not None:
        said, advice = "it has characters that cannot be stored", "Send text without NUL."
    elif len(value) < LEAST_LENGTH:
        said = f"it has fewer than {LEAST_LENGTH} characters"
        advice = "Choose a longer one: this one could not be told apart from other text in logs."
    elif len(value.encode()) > MOST_BYTES:
        said, advice = f"it has more than {MOST_BYTES:,} bytes", "Store a shorter value."
    else:
        return []
    return [Problem(code=_BAD_VALUE, path="$.value", message=said, advice=advice)]


def _destinations(given: Sequence[str]) -> tuple[str, ...]:
    listed = converted(list(given), list[str], "the secret cannot be stored")
    return tuple(dict.fromkeys(each.strip().rstrip(".").lower() for each in listed))


def _destination_problems(given: tuple[str, ...] | None) -> list[Problem]:
    if given is None:
        return []
    advice = "Name hosts, such as `api.example.com` or `api.example.com:8443`, or data sources."
    problems = [
        Problem(
            code=_BAD_DESTINATION,
            path=f"$.destinations[{index}]",
            message="it is neither a host nor the id of a data source",
            advice=advice,
        )
        for index, each in enumerate(given[: MOST_DESTINATIONS + 1])
        if not (_DESTINATION.fullmatch(each) or _IPV6.fullmatch(each))
    ]
    if not given or len(given) > MOST_DESTINATIONS:
        said = "it is empty" if not given else f"it has more than {MOST_DESTINATIONS} entries"
        where = "$.destinations"
        advice = "Leave it out for a secret that may stand in every input." if not given else advice
        problems.append(Problem(code=_BAD_DESTINATION, path=where, message=said, advice=advice))
    return problems


def _shown(row: SecretRow, uses: SecretUses) -> Secret:
    return Secret(
        name=row.name,
        destinations=None if row.destinations is None else list(row.destinations),
        changed_at=row.changed_at,
        changed_by=row.changed_by,
        used_by=uses,
    )


def _size(row: SecretRow) -> int:
    return size_of_parts(row.sealed, "".join(row.destinations or ()))
