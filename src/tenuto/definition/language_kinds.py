"""Kinds of field values in Tenuto's small languages: expressions, templates, patterns, names."""

from __future__ import annotations

import re
from typing import Literal, cast

from tenuto.definition.expressions import (
    EVENT,
    SECRETS,
    check_expression,
    check_payload_path,
    check_template,
    has_equality_term,
    is_templated,
)
from tenuto.definition.fields import UNUSABLE, is_object
from tenuto.definition.plain_kinds import Id, Text, check_length, pattern_of
from tenuto.definition.report import Place, shown
from tenuto.expr import is_rooted_path
from tenuto.model.events import is_reserved
from tenuto.model.ids import LONGEST_ID
from tenuto.model.json import JSON, Object, kind_of

HANDLES = frozenset(
    [
        "default",
        "error",
        "timeout",
        "loop",
        "done",
        "else",
        "approved",
        "rejected",
        "conditions",
        "onError",
    ]
)
"""Names that are reserved among transitions; no branch or arm can have them."""

COMPILED_HANDLE = re.compile(r"(when|onError)_[0-9]+\Z")
"""The names of the handles of `conditions` and `onError` in the steps form."""

_UNDECLARED = frozenset({"default", "error", "conditions", "onError"})
"""Names that no task can declare as a handle."""

TEMPLATE: Object = {"type": "string", "pattern": r"\{\{"}
"""The JSON Schema of text with a template in it."""

RESERVED_VARIABLES = frozenset({"input", "output", "item", "index", "last"})

_WORD = r"[^\s.*{}\x00-\x1f\x7f]+"
_PATTERN = re.compile(rf"(?:{_WORD}|\*\*?)(?:\.(?:{_WORD}|\*\*?))*\Z")
_PLAIN_PATTERN = re.compile(rf"{_WORD}(?:\.{_WORD})*\Z")


_SHAPES = {
    "any": "a value",
    "text": "text",
    "object": "an object",
    "object or text": "an object or text",
    "array or template": "an array or a template",
}


def _bare(value: JSON) -> str | None:
    """Advice for a path that is written without braces."""
    if isinstance(value, str) and is_rooted_path(value):
        return f"Write it as a template: `{{{{{value}}}}}`."
    return None


class _Verbatim:
    """Kept as written."""

    def write(self, value: object) -> JSON:
        return cast("JSON", value)


class Expression(_Verbatim):
    """An expression; `sees` are roots beyond those of the place."""

    def __init__(self, sees: frozenset[str] = frozenset()) -> None:
        self._sees = sees

    def read(self, value: JSON, place: Place) -> object:
        text = Text().read(value, place)
        if isinstance(text, str):
            check_expression(text, place.seeing(self._sees))
        return text

    def schema(self) -> Object:
        return Text().schema()


class EventCondition(_Verbatim):
    """An expression about an event; a wait without an equality term gets a warning."""

    def __init__(self, *, is_indexed: bool = True, is_lasting: bool = False) -> None:
        """`is_lasting`: only values that never change during an instance can be indexed."""
        self._is_indexed = is_indexed
        self._is_lasting = is_lasting

    def read(self, value: JSON, place: Place) -> object:
        text = Text().read(value, place)
        if isinstance(text, str):
            fits = check_expression(text, place.seeing(EVENT))
            if fits and self._is_indexed and not has_equality_term(text, fixed=self._is_lasting):
                what = "with the input " if self._is_lasting else ""
                place.warn(
                    "TEN-1035",
                    f"the condition has no equality term {what}that can be looked up, so each "
                    "event of this pattern is tried against every instance that waits for it",
                )
        return text

    def schema(self) -> Object:
        return Text().schema()


class Template(_Verbatim):
    """JSON with `{{…}}` in it, of one shape or of any."""

    def __init__(
        self,
        shape: Literal["any", "text", "object", "object or text", "array or template"] = "any",
        *,
        with_secrets: bool = False,
        sees: frozenset[str] = frozenset(),
        is_of_start: bool = False,
    ) -> None:
        """`is_of_start`: it is evaluated before an instance starts, when only its input exists."""
        self._shape = shape
        self._is_of_start = is_of_start
        self._sees = sees | SECRETS if with_secrets else sees

    def read(self, value: JSON, place: Place) -> object:
        if not self._has_shape(value):
            place.wrong(
                "TEN-1010", f"expected {_SHAPES[self._shape]}, found {kind_of(value)}", _bare(value)
            )
            return UNUSABLE
        if value == "" and self._shape == "text":
            place.wrong("TEN-1017", "the text is empty")
            return UNUSABLE
        check_template(value, place.seeing(self._sees), is_of_start=self._is_of_start)
        return value

    def _has_shape(self, value: JSON) -> bool:
        match self._shape:
            case "any":
                return True
            case "text":
                return isinstance(value, str)
            case "object":
                return isinstance(value, dict)
            case "object or text":
                return isinstance(value, dict | str)
            case "array or template":
                return isinstance(value, list) or (isinstance(value, str) and is_templated(value))

    def schema(self) -> Object:
        match self._shape:
            case "any":
                return {}
            case "text":
                return Text().schema()
            case "object":
                return {"type": "object"}
            case "object or text":
                return {"type": ["object", "string"]}
            case "array or template":
                return {"anyOf": [{"type": "array"}, TEMPLATE]}


class EventPattern(_Verbatim):
    """Words separated by dots; a subscription may use `*` and `**`."""

    def __init__(self, *, is_subscription: bool = True) -> None:
        self._is_subscription = is_subscription

    def read(self, value: JSON, place: Place) -> object:
        text = Text().read(value, place)
        if not isinstance(text, str):
            return UNUSABLE
        if not self._is_subscription and is_templated(text):
            check_template(text, place)
            return text
        pattern = _PATTERN if self._is_subscription else _PLAIN_PATTERN
        if not pattern.match(text):
            place.wrong("TEN-1034", f"{shown(text)} is not an event pattern")
            return UNUSABLE
        if not self._is_subscription and is_reserved(text):
            place.wrong("TEN-1038", f"{shown(text)} is reserved for events that Tenuto publishes")
            return UNUSABLE
        check_length(text, place)
        return text

    def schema(self) -> Object:
        pattern = _PATTERN if self._is_subscription else _PLAIN_PATTERN
        plain: Object = {"type": "string", "pattern": pattern_of(pattern), "maxLength": LONGEST_ID}
        if self._is_subscription:
            return plain
        reserved: Object = {"pattern": r"^workflow(\.|$)"}
        return {"anyOf": [{**plain, "not": reserved}, TEMPLATE]}


class Mapping(_Verbatim):
    """Names, each with a path into the payload or a template that also sees `event`."""

    def __init__(self, *, into_context: bool) -> None:
        self._into_context = into_context

    def read(self, value: JSON, place: Place) -> object:
        if not is_object(value, place):
            return UNUSABLE
        mapping = value
        for name, source in mapping.items():
            there = place.at(name)
            if self._into_context:
                check_variable(name, there)
            if not isinstance(source, str):
                there.wrong("TEN-1010", f"expected a path or a template, found {kind_of(source)}")
            elif is_templated(source):
                check_template(source, there.seeing(EVENT))
            else:
                check_payload_path(source, there)
        return mapping

    def schema(self) -> Object:
        shape: Object = {"type": "object", "additionalProperties": {"type": "string"}}
        return {**shape, "propertyNames": Variable().schema()} if self._into_context else shape


class Variable(_Verbatim):
    """A name in the context."""

    def read(self, value: JSON, place: Place) -> object:
        text = Text().read(value, place)
        return text if isinstance(text, str) and check_variable(text, place) else UNUSABLE

    def schema(self) -> Object:
        reserved: JSON = {"anyOf": [{"enum": [*sorted(RESERVED_VARIABLES)]}, {"pattern": "^__"}]}
        return {**Text().schema(), "not": reserved}


class OwnHandle(_Verbatim):
    """The id of a branch or arm, which is also the name of its handle."""

    def read(self, value: JSON, place: Place) -> object:
        name = Id().read(value, place)
        if isinstance(name, str) and (name in HANDLES or COMPILED_HANDLE.match(name)):
            place.wrong("TEN-1024", f"`{name}` is the name of a handle that has a meaning")
            return UNUSABLE
        return name

    def schema(self) -> Object:
        reserved: JSON = [{"enum": [*sorted(HANDLES)]}, {"pattern": pattern_of(COMPILED_HANDLE)}]
        return {**Id().schema(), "not": {"anyOf": reserved}}


class DeclaredHandle(_Verbatim):
    """A handle that a task may choose, beside `default` and `error`."""

    def read(self, value: JSON, place: Place) -> object:
        name = Id().read(value, place)
        if isinstance(name, str) and (name in _UNDECLARED or COMPILED_HANDLE.match(name)):
            place.wrong("TEN-1024", f"`{name}` need not, and cannot, be declared")
            return UNUSABLE
        return name

    def schema(self) -> Object:
        reserved: JSON = [
            {"enum": [*sorted(_UNDECLARED)]},
            {"pattern": pattern_of(COMPILED_HANDLE)},
        ]
        return {**Id().schema(), "not": {"anyOf": reserved}}


def check_variable(name: str, place: Place) -> bool:
    """Whether `name` may be written into the context; if not, that is reported."""
    if not name:
        place.wrong("TEN-1017", "the name is empty")
        return False
    if name in RESERVED_VARIABLES or name.startswith("__"):
        place.wrong("TEN-1023", f"`{name}` is not usable as a variable")
        return False
    return True
