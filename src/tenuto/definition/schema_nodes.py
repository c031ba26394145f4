"""The schemas within a JSON Schema, which ones each applies, and what each costs by itself.

Where a keyword means different things in different drafts all meanings count, and where a
reference may name several schemas it counts as all of them: a bound may only be too high.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

from tenuto.definition.schema_patterns import is_backtracking, pattern_size, pattern_units
from tenuto.model.json import JSON, Object, size_of

Keys: TypeAlias = tuple[str | int, ...]
"""The way from the top of a schema to a place in it."""

MOST_BYTES: Final = 1_000_000
"""The largest schema."""
MOST_SCHEMAS: Final = 10_000
"""The most schemas within a schema."""
_MOST_PATTERNS: Final = 50_000
"""The largest sum of the sizes of all patterns: compiling takes some microseconds for each."""
_BYTES_PER_STEP: Final = 16
"""Bytes that one step compares."""
_STEPS_OF_AN_OPTION: Final = 8
_STEPS_OF_A_META_SCHEMA: Final = 100
_STEPS_OF_A_REGEX: Final = 20_000
"""Of `format: regex`, which compiles the value."""

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_MAPS: Final = ("dependentSchemas", "dependencies")
_SINGLE: Final = ("not", "if", "then", "else")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_OF_CHILDREN: Final = (
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "prefixItems",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
)
_APPLICATORS: Final = frozenset({*_LISTS, *_MAPS, *_SINGLE, *_REFERENCES, *_OF_CHILDREN})
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")
_IDS: Final = ("$id", "id")
_META_SCHEMAS: Final = ("http://json-schema.org/", "https://json-schema.org/")


class SchemaTooCostly(ValueError):
    """A schema, or its use with some value, could take more work than is allowed."""

    def __init__(self, keys: Keys, message: str) -> None:
        super().__init__(message)
        self.keys = keys


class ReferenceNotFound(SchemaTooCostly):
    """A reference names nothing in the schema."""


class Node(NamedTuple):
    """One schema: where it is, and what applying it to a value costs without what it applies."""

    keys: Keys
    schema: Object
    steps: int
    units: int
    """Units of work for each character of the value."""
    unevaluated: int
    """How many of its keywords ask what the others have evaluated."""
    has_branches: bool
    is_leaf: bool
    """Whether it applies no other schema."""


class Links(NamedTuple):
    """The schemas for the items, or for the properties, of a value."""

    every: list[int]
    others: list[int]
    """Those that have no schema of their own in `named`."""
    named: dict[str | int, int]


class Nodes:
    """All schemas that are reached so far, by number; the first is the whole."""

    def __init__(self, schema: JSON) -> None:
        if size_of(schema) > MOST_BYTES:
            raise SchemaTooCostly((), f"the schema has more than {MOST_BYTES:,} bytes")
        self._whole = schema
        self._nodes: list[Node] = []
        self._numbers: dict[int, int] = {}
        self.pattern_size = 0
        self._pattern_schemas: dict[str, Object] = {}
        self._marks: dict[str, list[JSON]] | None = None
        self.is_backtracking = False
        """Whether a pattern needs an engine that backtracks."""
        self._number(schema, ())

    def __getitem__(self, number: int) -> Node:
        return self._nodes[number]

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def inner(self, number: int) -> list[int]:
        """The schemas that one applies to the same value."""
        keys, schema = self._nodes[number][:2]
        found: list[tuple[JSON, Keys]] = []
        for name in _LISTS:
            found += [(each, (name, i)) for i, each in enumerate(_array(schema, name))]
        for name in _MAPS:
            found += [(each, (name, key)) for key, each in _object(schema, name).items()]
        found += [(schema[name], (name,)) for name in _SINGLE if name in schema]
        numbers = [self._number(each, keys + way) for each, way in found if _is_schema(each)]
        for name in _REFERENCES:
            target = schema.get(name)
            if isinstance(target, str):
                numbers += self._targets(target, (*keys, name))
        return numbers

    def children(self, number: int) -> tuple[Links, Links]:
        """The schemas that one applies to properties, and those that it applies to items."""
        keys, schema = self._nodes[number][:2]

        def numbers(*names: str) -> list[int]:
            return [
                self._number(schema[name], (*keys, name))
                for name in names
                if _is_schema(schema.get(name))
            ]

        properties = Links(numbers("propertyNames"), [], {})
        for name, each in _object(schema, "properties").items():
            if _is_schema(each):
                properties.named[name] = self._number(each, (*keys, "properties", name))
        for pattern, each in _object(schema, "patternProperties").items():
            here = (*keys, "patternProperties", pattern)
            properties.every.append(self._pattern(pattern, here))
            if _is_schema(each):
                properties.every.append(self._number(each, here))
        properties.others.extend(numbers("additionalProperties", "unevaluatedProperties"))
        items = Links(numbers("contains") * (1 + ("unevaluatedItems" in schema)), [], {})
        for name in ("prefixItems", "items"):
            for index, each in enumerate(_array(schema, name)):
                if _is_schema(each):
                    items.named[index] = self._number(each, (*keys, name, index))
        items.others.extend(numbers("items", "additionalItems", "unevaluatedItems"))
        if schema is _META_SCHEMA:
            for links in (properties, items):
                links.every.append(number)
        return properties, items

    def _number(self, schema: JSON, keys: Keys) -> int:
        if isinstance(schema, bool):
            schema = _ANYTHING
        assert isinstance(schema, dict)
        known = self._numbers.get(id(schema))
        if known is not None:
            return known
        if len(self._nodes) == MOST_SCHEMAS:
            raise SchemaTooCostly(keys, f"the schema has more than {MOST_SCHEMAS:,} schemas in it")
        number = self._numbers[id(schema)] = len(self._nodes)
        self._nodes.append(self._node(schema, keys))
        return number

    def _node(self, schema: Object, keys: Keys) -> Node:
        steps, units = 1, 0
        if schema is _META_SCHEMA:
            steps = _STEPS_OF_A_META_SCHEMA
        options = [*_array(schema, "enum"), schema.get("const")]
        if any(isinstance(each, dict | list) for each in options):
            # Only plain values are looked up; others are compared with each.
            steps += _STEPS_OF_AN_OPTION * len(options) + size_of(options) // _BYTES_PER_STEP
        steps += len(_array(schema, "required"))
        for name in ("dependentRequired", *_MAPS):
            inner = _object(schema, name)
            steps += len(inner) + sum(len(_array(inner, each)) for each in inner)
        if schema.get("uniqueItems") is True:
            units += 16
        if "minLength" in schema or "maxLength" in schema:
            units += 2
        if "contentEncoding" in schema or "contentMediaType" in schema:
            units += 16
        if "format" in schema:
            units += 8
            steps += _STEPS_OF_A_REGEX if schema["format"] == "regex" else 0
        pattern = schema.get("pattern")
        if isinstance(pattern, str):
            units += pattern_units(pattern)
            self.is_backtracking = self.is_backtracking or is_backtracking(pattern)
            self.pattern_size += pattern_size(pattern)
            if self.pattern_size > _MOST_PATTERNS:
                raise SchemaTooCostly(keys, "its patterns are too large together")
        return Node(
            keys=keys,
            schema=schema,
            steps=steps,
            units=units,
            unevaluated=("unevaluatedProperties" in schema) + ("unevaluatedItems" in schema),
            has_branches="anyOf" in schema or "oneOf" in schema,
            is_leaf=schema.keys().isdisjoint(_APPLICATORS) and schema is not _META_SCHEMA,
        )

    def _pattern(self, pattern: str, keys: Keys) -> int:
        """What it costs to look whether a name matches."""
        schema = self._pattern_schemas.setdefault(pattern, {"pattern": pattern})
        return self._number(schema, keys)

    def _targets(self, reference: str, keys: Keys) -> list[int]:
        """All schemas that a reference may name."""
        document, _, fragment = reference.partition("#")
        if document.startswith(_META_SCHEMAS):
            return [self._number(_META_SCHEMA, keys)]
        marks = self._all_marks()
        if fragment and not fragment.startswith("/"):
            found = marks.get(f"#{fragment}", [])
        else:
            steps = unquote(fragment).split("/")[1:]
            pointer = [each.replace("~1", "/").replace("~0", "~") for each in steps]
            roots = marks.get(_tail(document), []) if document else [self._whole, *marks[""]]
            found = [_pointed(root, pointer) for root in roots]
            keys = keys if document else tuple(pointer)
        numbers = {self._number(each, keys) for each in found if _is_schema(each)}
        if not numbers:
            raise ReferenceNotFound(keys, f"`{reference[:100]}` is not in this document")
        return sorted(numbers)

    def _all_marks(self) -> dict[str, list[JSON]]:
        """Schemas by `#` and anchor, and by the last part of their id; at '' all with an id."""
        if self._marks is not None:
            return self._marks
        marks: dict[str, list[JSON]] = {"": []}
        self._marks = marks
        todo: list[JSON] = [self._whole]
        while todo:
            value = todo.pop()
            if isinstance(value, list):
                todo.extend(value)
            elif isinstance(value, dict):
                todo.extend(value.values())
                for name in _ANCHORS:
                    anchor = value.get(name)
                    if isinstance(anchor, str):
                        marks.setdefault(f"#{anchor}", []).append(value)
                for name in _IDS:
                    id_ = value.get(name)
                    if isinstance(id_, str):
                        is_anchor = id_.startswith("#")
                        marks.setdefault(id_ if is_anchor else _tail(id_), []).append(value)
                        if not is_anchor and value is not self._whole:
                            marks[""].append(value)
        return marks


def _tail(uri: str) -> str:
    return uri.partition("#")[0].rstrip("/").rpartition("/")[2] or "/"


def _pointed(root: JSON, pointer: list[str]) -> JSON:
    value = root
    for key in pointer:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and len(key) < 10:
            value = value[int(key)] if int(key) < len(value) else None
        else:
            return None
    return value


def _is_schema(value: JSON) -> bool:
    return isinstance(value, dict | bool)


def _array(schema: Object, name: str) -> list[JSON]:
    found = schema.get(name)
    return found if isinstance(found, list) else []


def _object(schema: Object, name: str) -> Object:
    found = schema.get(name)
    return found if isinstance(found, dict) else {}


_ANYTHING: Object = {}
_META_SCHEMA: Object = {"$comment": "a meta-schema"}
