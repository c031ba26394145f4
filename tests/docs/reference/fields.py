"""The pages about definitions: every node type with its fields, and what surrounds the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from tenuto.definition import compensation, compiler, event_triggers
from tenuto.definition.fields import Field, Fields, Kind, Record, Verbatim
from tenuto.definition.language_kinds import EventCondition, Expression, Template
from tenuto.definition.nodes import TYPES, AnyNodeType
from tenuto.definition.options import OPTIONS
from tenuto.definition.plain_kinds import (
    LARGEST_WHOLE,
    Anything,
    ListOf,
    Number,
    OneOf,
    Text,
    Whole,
)
from tenuto.definition.settings import COMMON, EXECUTING, ROUTES
from tenuto.definition.time_kinds import Length, Span, iso_duration
from tenuto.model.durations import Duration
from tenuto.model.graph import Branch, Definition, Node
from tenuto.model.policy import DEFAULT_TIMEOUT
from tests.docs.reference.notes import notes_of, one_line, table

_ABOUT_DEFINITIONS = """\
A definition has either `steps` or `nodes` and `edges`; `name` and `title`, `options` and
`workflowOptions` mean the same. What steps and nodes are: [Nodes](nodes.md). How it all works
together: [Definitions](../definitions.md).
"""
_ABOUT_NODES = """\
Types are written as in the graph form, and behind that as in the steps form. In the graph form the
fields stand in `config`, in the steps form in the step itself. How they work together:
[Definitions](../definitions.md).
"""
_HEADS = ("field", "what it is", "default", "")
_SAMPLES: Mapping[str, Any] = {"branches": (Branch(id="each of its branches", when="true"),)}


def nodes_page() -> str:
    """Every node type."""
    parts = [
        "# Nodes\n",
        _ABOUT_NODES,
        "## Every node\n",
        _table(COMMON, Node),
        f"Without `timeout`, an attempt has {_shown(DEFAULT_TIMEOUT)}. In the graph form also:\n",
        _table(ROUTES, Node),
        "## Every node that executes\n",
        f"{', '.join(f'`{row.tag}`' for row in TYPES if row.executes)}:\n",
        _table(EXECUTING, Node),
        *(_node(row) for row in TYPES),
    ]
    return "\n".join(parts)


def definition_page() -> str:
    """What surrounds the nodes."""
    surroundings = {"compensationSteps": compensation._STEP} | {
        name: kind._item._fields
        for name, kind in (
            ("cancellationTriggers", event_triggers._CANCELLATION_TRIGGERS),
            ("triggers", event_triggers._TRIGGERS),
        )
        if isinstance(kind._item, Verbatim)
    }
    parts = ["# Definitions\n", _ABOUT_DEFINITIONS, "## The whole\n", _whole()]
    for name, fields in surroundings.items():
        parts += [f"## `{name}`\n", _table(fields, None)]
    parts += ["## `options`\n", _table(OPTIONS._fields, type(OPTIONS._make()))]
    return "\n".join(parts)


def _whole() -> str:
    notes = notes_of(Definition)
    return table(
        _HEADS,
        (
            (f"`{field.name}`", _part(field), "", notes.get(field.attribute, ""))
            for field in compiler.TOP.all
        ),
    )


def _part(field: Field) -> str:
    """The type of a part of a definition; types with a page section of their own are linked."""
    if isinstance(field.kind, Anything):
        return "a list"
    return "the [options](#options)" if field.kind is OPTIONS else said(field.kind)


def _node(row: AnyNodeType) -> str:
    handles = row.handles(_sample(row))
    named = [f"`{each}`" if " " not in each else each for each in (*handles, "error")]
    parts = [
        f"## `{row.tag}` (`{row.step}`)\n",
        f"{one_line(row.make.__doc__)} "
        + (f"Handles: {', '.join(named)}.\n" if handles else "It has no handles.\n"),
    ]
    if row.fields.all:
        parts.append(_table(row.fields, row.make))
    return "\n".join(parts)


def _sample(row: AnyNodeType) -> Any:  # noqa: ANN401
    needed = {
        field.name: _SAMPLES.get(field.name, "")
        for field in msgspec.structs.fields(row.make)
        if field.required
    }
    return row.make(**needed)


def _table(fields: Fields, owner: type[msgspec.Struct] | None) -> str:
    notes = {} if owner is None else notes_of(owner)
    defaults = {} if owner is None else _defaults(owner)
    return table(
        _HEADS,
        (
            (
                f"`{field.name}`{' (needed)' if field.required else ''}",
                said(field.kind),
                "" if field.required else _default(field, defaults),
                notes.get(field.attribute, ""),
            )
            for field in fields.all
        ),
    )


def _defaults(owner: type[msgspec.Struct]) -> dict[str, object]:
    return {each.name: each.default for each in msgspec.structs.fields(owner)}


def _default(field: Field, defaults: Mapping[str, object]) -> str:
    value = defaults.get(field.attribute)
    if field.name == "joinMode":
        return "`all`"
    is_said = value is None or value is msgspec.NODEFAULT or value in ((), "")
    return "" if is_said or isinstance(value, msgspec.Struct) else _shown(value)


def _shown(value: object) -> str:
    if isinstance(value, timedelta):
        return f"`{iso_duration(Duration(value))}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:,}`" if isinstance(value, int) else f"`{value}`"


def said(kind: Kind) -> str:
    """What a field may hold, in words."""
    match kind:
        case OneOf():
            return " or ".join(f"`{each}`" for each in kind._choices)
        case ListOf():
            return f"a list: {said(kind._item)}"
        case Record() | Verbatim():
            return f"`{{{', '.join(_inner(each) for each in kind._fields.all)}}}`"
        case Number():
            return f"a number, at least {kind._least:g}"
        case Whole():
            most = "" if kind._most == LARGEST_WHOLE else f", at most {kind._most}"
            return f"a whole number, at least {kind._least}{most}"
        case Text():
            return "text"
        case Expression():
            return "an [expression](../expressions.md)"
        case EventCondition():
            return "an expression that also sees `event`"
        case Template(_shape="any"):
            return "a template"
        case Template():
            return f"a template: {kind._shape.removesuffix(' or template')}"
        case Span() | Length():
            return "a length of time, ISO 8601 or milliseconds"
        case _:
            text = one_line(type(kind).__doc__).rstrip(".").removeprefix("A kind: ")
            return text[:1].lower() + text[1:]


def _inner(field: Field) -> str:
    return field.name if field.required else f"{field.name}?"
