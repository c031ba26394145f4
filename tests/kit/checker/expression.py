"""A small reader of conditions: paths, literals, comparisons, `&& || !` and parentheses.

It exists so that truth can be judged without the product's own evaluator. What it does not know it
refuses with `Unknown`, and the checker then leaves that condition alone.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
Evaluate: TypeAlias = Callable[[str, Mapping[str, Json]], Json]


class Unknown(Exception):
    """The expression uses something that this reader does not know."""


class _Undefined:
    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED: Final = _Undefined()

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<text>'[^'\\]*'|\"[^\"\\]*\")"
    r"|(?P<name>[A-Za-z_$][\w$]*)|(?P<sign>===|!==|==|!=|<=|>=|&&|\|\||[<>!().\[\]-]))"
)
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None, "undefined": UNDEFINED}
_ORDER: dict[str, Callable[[Json, Json], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expression: str, scope: Mapping[str, Json]) -> Json:
    """The value of `expression` where its roots are the names of `scope`."""
    reader = _Reader(_tokens(expression), scope)
    value = reader.either()
    if reader.tokens:
        raise Unknown(expression)
    return value


def truthy(value: Json) -> bool:
    """What JavaScript takes for true."""
    if isinstance(value, list | dict):
        return True
    if isinstance(value, float) and math.isnan(value):
        return False
    return bool(value)


def render(template: Json, scope: Mapping[str, Json], evaluate: Evaluate = evaluate) -> Json:
    """A template's value: what is wholly `{{…}}` is that expression's own, undefined is left out
    of objects and null in arrays. Text around expressions is not known here.
    """
    if isinstance(template, dict):
        rendered = {name: render(value, scope, evaluate) for name, value in template.items()}
        return {name: value for name, value in rendered.items() if value is not UNDEFINED}
    if isinstance(template, list):
        values = [render(value, scope, evaluate) for value in template]
        return [None if value is UNDEFINED else value for value in values]
    if not isinstance(template, str) or "{{" not in template:
        return template
    inner = template[2:-2]
    if not (template.startswith("{{") and template.endswith("}}")) or "{{" in inner:
        raise Unknown(template)
    return evaluate(inner, scope)


def same(left: Json, right: Json) -> bool:
    """`===`: equal and of one kind; arrays and objects are never equal here."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return False
    return type(left) is type(right) and bool(left == right)


def _tokens(expression: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    place, text = 0, expression.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise Unknown(expression)
        found.append((match.lastgroup, match.group(match.lastgroup)))
        place = match.end()
    return found


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]], scope: Mapping[str, Json]) -> None:
        self.tokens = tokens
        self._scope = scope

    def either(self) -> Json:
        value = self._both()
        while self._taken("||"):
            right = self._both()
            value = value if truthy(value) else right
        return value

    def _both(self) -> Json:
        value = self._comparison()
        while self._taken("&&"):
            right = self._comparison()
            value = right if truthy(value) else value
        return value

    def _comparison(self) -> Json:
        left = self._unary()
        for sign in ("===", "!==", "==", "!=", "<=", ">=", "<", ">"):
            if self._taken(sign):
                return _compare(sign, left, self._unary())
        return left

    def _unary(self) -> Json:
        if self._taken("!"):
            return not truthy(self._unary())
        if self._taken("-"):
            value = self._unary()
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise Unknown("-")
            return -value
        return self._path()

    def _path(self) -> Json:
        value = self._primary()
        while True:
            if self._taken("."):
                value = _member(value, self._next("name"))
            elif self._taken("["):
                value = _member(value, self.either())
                if not self._taken("]"):
                    raise Unknown("[")
            elif self._peek("("):
                raise Unknown("a call")
            else:
                return value

    def _primary(self) -> Json:
        if self._taken("("):
            value = self.either()
            if not self._taken(")"):
                raise Unknown("(")
            return value
        kind, text = self._pop()
        match kind:
            case "number":
                return json.loads(text)
            case "text":
                return text[1:-1]
            case "name" if text in _WORDS:
                return _WORDS[text]
            case "name" if text in self._scope:
                return self._scope[text]
        raise Unknown(text)

    def _pop(self) -> tuple[str, str]:
        if not self.tokens:
            raise Unknown("the end")
        return self.tokens.pop(0)

    def _next(self, kind: str) -> str:
        found, text = self._pop()
        if found != kind:
            raise Unknown(text)
        return text

    def _peek(self, sign: str) -> bool:
        return bool(self.tokens) and self.tokens[0] == ("sign", sign)

    def _taken(self, sign: str) -> bool:
        if self._peek(sign):
            self.tokens.pop(0)
            return True
        return False


def _compare(sign: str, left: Json, right: Json) -> bool:
    if sign in ("===", "!=="):
        return same(left, right) == (sign == "===")
    if sign in ("==", "!="):
        nothing = [value is None or value is UNDEFINED for value in (left, right)]
        if any(nothing):
            return all(nothing) == (sign == "==")
        if type(left) is not type(right) and not _both_numbers(left, right):
            raise Unknown(sign)
        return same(left, right) == (sign == "==")
    if left is UNDEFINED or right is UNDEFINED:
        return False
    if _both_numbers(left, right) or (isinstance(left, str) and isinstance(right, str)):
        return _ORDER[sign](left, right)
    raise Unknown(sign)


def _both_numbers(left: Json, right: Json) -> bool:
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in (left, right)
    )


def _member(value: Json, name: Json) -> Json:
    if isinstance(value, dict) and isinstance(name, str):
        return value.get(name, UNDEFINED)
    if isinstance(value, list) and isinstance(name, int):
        return value[name] if 0 <= name < len(value) else UNDEFINED
    if isinstance(value, list | str) and name == "length":
        return len(value)
    if value is None or value is UNDEFINED or isinstance(value, bool | int | float | dict | list):
        return UNDEFINED
    raise Unknown(str(name))
