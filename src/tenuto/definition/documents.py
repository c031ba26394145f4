"""Reads the text of a document: strict JSON or YAML, every refusal with its line and column."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import cast

from tenuto.definition.json_check import MOST_BYTES, UNFIT
from tenuto.definition.report import Place, Report, shown
from tenuto.model.errors import InvalidDefinition
from tenuto.model.json import JSON, Object

_MOST_DIGITS = 4000
_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*")|(?P<number>-?[0-9][0-9.eE+-]*)"""
    r"""|(?P<constant>-?Infinity|NaN)|(?P<mark>[{}\[\]:,])"""
)
_SUSPECT = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")

Say = Callable[[int, str, str], None]
"""Reports a fault: position, code, message."""


def parse_document(text: bytes | str, where: str) -> JSON:
    """The JSON that `text` holds; InvalidDefinition with line and column if it holds none.

    `where` is what messages call the text, usually the name of its file; that of a file which ends
    in `.yaml` or `.yml` holds YAML.
    """
    if len(text) > MOST_BYTES:
        raise _refused("TEN-1004", f"{where} has more than {MOST_BYTES // 1_000_000} MB")
    source = _decoded(text, where).removeprefix("\ufeff")
    if is_yaml(where):
        # Most documents are JSON, for which no time is spent on another library.
        from tenuto.definition.yaml_documents import parse_yaml  # noqa: PLC0415

        return parse_yaml(source, where).value
    suspect = _Suspicion()
    try:
        value: JSON = json.loads(
            source,
            object_pairs_hook=suspect.object,
            parse_constant=suspect.constant,
            parse_float=suspect.number,
        )
    except json.JSONDecodeError as error:
        raise _refused("TEN-1001", f"{where}:{error.lineno}:{error.colno}: {error.msg}") from None
    except RecursionError:
        raise _refused("TEN-1005", f"{where} is nested too deeply") from None
    except ValueError:
        # The only remaining refusal of Python: a number with thousands of digits.
        suspect.found = True
        value = None
    if suspect.found or _SUSPECT.search(source) or UNFIT.search(source):
        _look_closely(source, where)
    return value


def is_yaml(file: str) -> bool:
    """Whether a file of this name holds YAML."""
    return file.lower().endswith((".yaml", ".yml"))


class _Suspicion:
    """Notes, while JSON is parsed at full speed, that it has problems to be located."""

    def __init__(self) -> None:
        self.found = False

    def object(self, pairs: list[tuple[str, JSON]]) -> Object:
        read = dict(pairs)
        self.found = self.found or len(read) < len(pairs)
        return read

    def constant(self, _: str) -> None:
        self.found = True

    def number(self, digits: str) -> float:
        value = float(digits)
        self.found = self.found or not math.isfinite(value)
        return value


def _look_closely(source: str, where: str) -> None:
    """Raise with every duplicate key and every value that JSON cannot carry, if there are any."""
    report = Report()
    root = Place("$", report)

    def say(position: int, code: str, message: str) -> None:
        line = source.count("\n", 0, position) + 1
        column = position - source.rfind("\n", 0, position)
        root.wrong(code, f"{where}:{line}:{column}: {message}")

    _scan(source, say)
    if report.has_errors:
        raise InvalidDefinition(f"{where} cannot be read", report.problems)


def _scan(source: str, say: Say) -> None:
    keys: list[set[str]] = []
    tokens = list(_TOKEN.finditer(source))
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        position = token.start()
        if token["text"] is not None:
            text = cast("str", json.loads(token["text"], strict=False))
            if UNFIT.search(text):
                say(position, "TEN-1003", "the text has a NUL character or a lone surrogate")
            if following is not None and following["mark"] == ":":
                if text in keys[-1]:
                    say(position, "TEN-1002", f"the key {shown(text)} is there already")
                keys[-1].add(text)
        elif token["mark"] == "{":
            keys.append(set())
        elif token["mark"] == "}":
            keys.pop()
        else:
            for message in _number_faults(token):
                say(position, "TEN-1003", message)


def _number_faults(token: re.Match[str]) -> Iterator[str]:
    if token["constant"] is not None:
        yield f"{token['constant']} is not a JSON number"
    elif token["number"] is not None:
        digits = token["number"]
        if len(digits) > _MOST_DIGITS:
            yield "the number has too many digits"
        elif not math.isfinite(float(digits)):
            yield f"{shown(digits)} is too large for a number"


def _decoded(text: bytes | str, where: str) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        column = error.start - text.rfind(b"\n", 0, error.start)
        message = f"{where}:{line}:{column}: the text is not UTF-8"
        raise _refused("TEN-1003", message, "Save the file as UTF-8.") from None


def _refused(code: str, message: str, advice: str | None = None) -> InvalidDefinition:
    report = Report()
    Place("$", report).wrong(code, message, advice)
    return InvalidDefinition(message, report.problems)
