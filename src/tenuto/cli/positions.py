"""The position in a file of the value at a JSONPath, so that an editor can jump there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tenuto.model.errors import InvalidDefinition, InvalidInput, Problem

_STEP: Final = re.compile(r"\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")
_NAMED: Final = re.compile(r"([^\n]+?\.(?:py|json|ya?ml)):(\d+)(?::(\d+))?(?::|$)")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR: Final = re.compile(r"[^\s,\]}]+")
_BLANK: Final = re.compile(r"\s*")


class Located(Exception):
    """An error about a file's content, with the positions of its values."""

    def __init__(
        self, error: InvalidDefinition | InvalidInput, positions: Positions | None
    ) -> None:
        super().__init__(error)
        self.error = error
        self.positions = positions


class Position(NamedTuple):
    """A place in a file, both numbers from 1 on; a line of Python code has no column."""

    file: str
    line: int
    column: int | None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Positions:
    """The places of one text, in JSON or YAML, that has been read without fault."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._found: dict[tuple[str | int, ...], int] | None = None

    def place(self, path: str) -> Position | None:
        """The position of the value at `path`, or of the nearest one around it."""
        if self._found is None:
            self._found = self._find()
        steps = _steps(path)
        while steps and steps not in self._found:
            steps = steps[:-1]
        offset = self._found.get(steps)
        if offset is None:
            return None
        line = self._text.count("\n", 0, offset) + 1
        column = offset - self._text.rfind("\n", 0, offset)
        return Position(self._file, line, column)

    def _find(self) -> dict[tuple[str | int, ...], int]:
        from tenuto.definition.documents import is_yaml

        if not is_yaml(self._file):
            return dict(_walk(self._text))
        from tenuto.definition.yaml_documents import parse_yaml

        return parse_yaml(self._text, self._file).offsets


def position_of(problem: Problem, positions: Positions | None) -> Position | None:
    """Where a problem is; text that cannot be read, and Python code, say it themselves."""
    for text in (problem.path, problem.message):
        if found := _NAMED.match(text):
            column = None if found[3] is None else int(found[3])
            return Position(found[1], int(found[2]), column)
    return None if positions is None else positions.place(problem.path)


def _steps(path: str) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    for name, index, quoted in _STEP.findall(path):
        steps.append(int(index) if index else name or quoted.replace("\\'", "'"))
    return tuple(steps)


def _walk(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Every value with its path; a stack of its own, since documents may be nested deeply."""
    open_: list[list[str | int]] = []
    kinds: list[str] = []
    at = 0
    is_key = False
    while at < len(text):
        at = _blank(text, at)
        if at >= len(text):
            return
        mark = text[at]
        if mark in "]}":
            open_.pop()
            kinds.pop()
            is_key = bool(kinds) and kinds[-1] == "{"
            at += 1
        elif mark == ",":
            if kinds[-1] == "[":
                last = open_[-1][0]
                assert isinstance(last, int)
                open_[-1][0] = last + 1
            is_key = kinds[-1] == "{"
            at += 1
        elif is_key:
            key = _STRING.match(text, at)
            assert key is not None
            open_[-1][0] = json.loads(key.group())
            at = _blank(text, key.end()) + 1
            is_key = False
        else:
            yield tuple(each[0] for each in open_), at
            if mark in "[{":
                open_.append([0] if mark == "[" else [""])
                kinds.append(mark)
                is_key = mark == "{"
                at += 1
            else:
                value = _STRING.match(text, at) or _SCALAR.match(text, at)
                assert value is not None
                at = value.end()


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()
