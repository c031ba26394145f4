"""Warnings of limits that are lowered below what runs."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from tenuto.model.errors import Problem
from tenuto.model.slots import own_key
from tenuto.store.parts.definitions import DefinitionRow
from tenuto.store.protocol import Store

BELOW = "TEN-2840"


class _Concurrency(Struct):
    limit: int | None = None


class _Options(Struct):
    concurrency: _Concurrency = field(default_factory=_Concurrency)


class _Document(Struct, rename="camel"):
    """What a stored definition says of its own limit."""

    options: _Options | None = None
    workflow_options: _Options | None = None

    @property
    def limit(self) -> int | None:
        options = self.options or self.workflow_options
        return None if options is None else options.concurrency.limit


def below_what_runs(key: str, most: int, held: int, path: str) -> Problem:
    """The warning of one limit."""
    return Problem(
        code=BELOW,
        path=path,
        message=f"limit {key} {most}, {held} run; nothing is ended",
        advice="Those that run go on; the next one begins once fewer run.",
        severity="warning",
    )


async def of_new_version(
    store: Store, before: DefinitionRow | None, version: int
) -> tuple[Problem, ...]:
    """The warning where a version lowers the limit of its workflow; of the key that has most.

    `before`: the version that was the newest until then.
    """
    if before is None or before.version == version:
        return ()
    saved = await store.definitions.get(before.tenant, before.id, version)
    document = _Document() if saved is None else _read(saved)
    limit = document.limit
    if limit is None or limit == _read(before).limit:
        return ()
    counts = await store.slots.counts_below(own_key(before.tenant, before.id, ""))
    held, key = max(((count, key) for key, count in counts.items()), default=(0, ""))
    if held <= limit:
        return ()
    options = "workflowOptions" if document.options is None else "options"
    return (below_what_runs(key, limit, held, f"$.{options}.concurrency.limit"),)


def _read(row: DefinitionRow) -> _Document:
    try:
        return msgspec.json.decode(row.content, type=_Document)
    except msgspec.DecodeError:
        return _Document()  # that of a removal, or of a newer program
