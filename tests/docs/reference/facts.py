"""The pages about limits and about the log."""

from __future__ import annotations

from datetime import timedelta
from types import ModuleType
from typing import get_args

import msgspec

from tenuto.definition import compiler, flow, json_check
from tenuto.definition.time_kinds import iso_duration
from tenuto.engine.bounds import Bounds
from tenuto.engine.settings import Settings
from tenuto.expr import bounds
from tenuto.model import entries, ids, policy
from tenuto.model.durations import Duration
from tenuto.model.policy import Limits, RetryPolicy
from tenuto.model.quotas import Quotas
from tests.docs.reference.notes import notes_of, one_line, table

_HEADS = ("name", "value", "")
_ABOUT_ENTRIES = """\
What `tenuto show ID --history` and `await instance.history()` show. Every entry has `seq`,
`eventType` and `at`; those of a node also `nodeId`, `iteration` and `attempt`. Why there is a log:
[The log](../concepts/log.md).
"""


def limits_page() -> str:
    """Every bound and every default."""
    parts = [
        "# Limits and defaults\n",
        "`Tenuto(settings=Settings(retry=…, limits=…))` changes those of an engine.\n",
        "## Sizes\n",
        f"`Limits`: {one_line(Limits.__doc__)}\n",
        _struct(Limits),
        "## Quotas\n",
        f"`Quotas`: {one_line(Quotas.__doc__)}\n",
        _struct(Quotas),
        "## Ids and names\n",
        _constants(ids),
        "## Retries\n",
        f"`RetryPolicy`: {one_line(RetryPolicy.__doc__)} In Python: `Retry`.\n",
        _struct(RetryPolicy),
        "## Engine\n",
        f"`Settings`: {one_line(Settings.__doc__)}\n",
        _struct(Settings),
        f"`Bounds`: {one_line(Bounds.__doc__)}\n",
        _struct(Bounds),
        "## Times and counts\n",
        _constants(policy),
        "## Definitions\n",
        _constants(compiler, flow, json_check),
        "## Expressions\n",
        _constants(bounds),
    ]
    return "\n".join(parts)


def log_page() -> str:
    """Every type of entry."""
    kinds = [each for union in get_args(entries.Entry) for each in (get_args(union) or (union,))]
    parts = [
        "# Log entries\n",
        _ABOUT_ENTRIES,
    ]
    written: dict[str, list[type[msgspec.Struct]]] = {}
    for each in kinds:
        written.setdefault(each.event_type, []).append(each)
    for event_type in entries.EventType:
        for place, kind in enumerate(written.get(event_type, ())):
            parts += [f"## `{event_type}`\n"] if place == 0 else []
            parts += [f"{one_line(kind.__doc__)}\n", *_payload(kind)]
    unwritten = ", ".join(f"`{each}`" for each in entries.EventType if each not in written)
    if unwritten:
        parts += ["## Reserved\n", f"{unwritten}: no entry of this version has these types.\n"]
    return "\n".join(parts)


def _payload(kind: type[msgspec.Struct]) -> list[str]:
    notes = notes_of(kind)
    own = [each for each in msgspec.structs.fields(kind) if each.name in kind.__annotations__]
    rows = [
        (f"`{each.encode_name}`", _type(kind, each.name), notes.get(each.name, "")) for each in own
    ]
    return [table(("payload", "type", ""), rows)] if rows else []


def _type(kind: type[msgspec.Struct], name: str) -> str:
    """As it is written, without what only Python has."""
    written = str(kind.__annotations__[name]).replace(" | UnsetType", "")
    return f"`{written.replace('Literal[', 'one of [')}`"


def _struct(kind: type[msgspec.Struct]) -> str:
    notes = notes_of(kind)
    return table(
        _HEADS,
        (
            (f"`{each.name}`", _shown(each.default), notes.get(each.name, ""))
            for each in msgspec.structs.fields(kind)
        ),
    )


def _constants(*modules: ModuleType) -> str:
    return table(
        _HEADS,
        (
            (f"`{name}`", _shown(value), notes_of(module).get(name, ""))
            for module in modules
            for name, value in vars(module).items()
            if name.isupper() and not name.startswith("_") and isinstance(value, int | timedelta)
        ),
    )


def _shown(value: object) -> str:
    if isinstance(value, timedelta):
        return f"`{iso_duration(Duration(value))}`"
    if isinstance(value, msgspec.Struct):
        return f"see `{type(value).__name__}`"
    if isinstance(value, bool):
        return f"`{value}`"
    if isinstance(value, int):
        return f"`{value:,}`"
    return "none" if value == () else f"`{value}`"
