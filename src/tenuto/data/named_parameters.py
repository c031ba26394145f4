"""Named parameters of a statement: `:name`, outside of texts, names, comments and casts.

The values of parameters are never put into the text. A statement is split at its parameters, and
each database gets placeholders of its own there. So a place that this module misreads makes a
statement that the database refuses, and never one that has a value in its text.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from tenuto.data.source import DatabaseKind

LONGEST: Final = 100_000
"""The most characters of a statement."""
MOST_PARAMETERS: Final = 500


class SqlFault(ValueError):
    """A statement that cannot be split."""


class Statement(Struct, frozen=True):
    """A statement, split at its parameters."""

    text: str
    parts: tuple[str, ...]
    """The text between parameters: one more than there are places."""
    places: tuple[str, ...]
    """The name at each place, in order; a name may have several."""

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, each once, in the order of their first places."""
        return tuple(dict.fromkeys(self.places))

    def numbered(self) -> str:
        """With `$1`, `$2`, …: each name has one number, as in `names`."""
        numbers = {name: f"${index}" for index, name in enumerate(self.names, 1)}
        return self._with([numbers[name] for name in self.places])

    def marked(self) -> str:
        """With `?` at each place."""
        return self._with(["?"] * len(self.places))

    def named(self) -> str:
        """With `:name` at each place."""
        return self._with([f":{name}" for name in self.places])

    def _with(self, placeholders: list[str]) -> str:
        found = [self.parts[0]]
        for placeholder, part in zip(placeholders, self.parts[1:], strict=True):
            found += (placeholder, part)
        return "".join(found)


_TEXT: Final = r"'(?:[^']|'')*'"
_ESCAPED: Final = r"'(?:[^'\\]|\\.|'')*'"
_QUOTED: Final = r'"(?:[^"]|"")*"'
_QUOTED_ESCAPED: Final = r'"(?:[^"\\]|\\.|"")*"'
_TICKED: Final = r"`(?:[^`]|``)*`"
_NAME: Final = r"(?<![\w:\\]):(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?!\w)"

_TOKENS: Final[dict[DatabaseKind, re.Pattern[str]]] = {
    "postgresql": re.compile(
        rf"""
        (?P<skipped>
            (?<!\w)[eE]{_ESCAPED} | {_TEXT} | {_QUOTED} | --[^\n]* | ::
            | (?<!\w)\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$
        )
        | (?P<open>['"] | /\* | (?<!\w)\$(?:[^\W\d]\w*)?\$)
        | (?P<other>(?<![\w$])\$\d+)
        | {_NAME}
        """,
        re.VERBOSE | re.DOTALL,
    ),
    "mysql": re.compile(
        rf"""
        (?P<skipped>{_ESCAPED} | {_QUOTED_ESCAPED} | {_TICKED} | --(?=\s|\Z)[^\n]* | \#[^\n]*)
        | (?P<open>['"`] | /\*)
        | (?P<other>\?)
        | {_NAME}
        """,
        re.VERBOSE | re.DOTALL,
    ),
    "sqlite": re.compile(
        rf"""
        (?P<skipped>{_TEXT} | {_QUOTED} | {_TICKED} | \[[^\]]*\] | --[^\n]*)
        | (?P<open>['"`\[] | /\*)
        | (?P<other>\?\d* | (?<![\w$@])[@$][A-Za-z_0-9]\w*)
        | {_NAME}
        """,
        re.VERBOSE | re.DOTALL,
    ),
}
_COMMENT: Final = re.compile(r"/\*|\*/")


def split(text: str, kind: DatabaseKind) -> Statement:
    """A statement of one kind of database; SqlFault says why it cannot be split."""
    if len(text) > LONGEST:
        raise SqlFault(f"it has {len(text):,} characters of {LONGEST:,}")
    parts: list[str] = []
    places: list[str] = []
    token = _TOKENS[kind]
    begin = at = 0
    while (found := token.search(text, at)) is not None:
        at = found.end()
        if found["open"] is not None:
            if found["open"] != "/*":
                raise SqlFault(f"what {found['open']} begins {_line(text, found.start())} is open")
            at = _end_of_comment(text, found.start(), is_nested=kind == "postgresql")
        elif found["other"] is not None:
            raise SqlFault(f"{found['other']} {_line(text, found.start())} is no named parameter")
        elif found["name"] is not None:
            parts.append(text[begin : found.start()])
            places.append(found["name"])
            begin = at
    parts.append(text[begin:])
    if len(set(places)) > MOST_PARAMETERS:
        raise SqlFault(f"it has more than {MOST_PARAMETERS} parameters")
    return Statement(text, tuple(parts), tuple(places))


def _end_of_comment(text: str, start: int, *, is_nested: bool) -> int:
    depth = 0
    for found in _COMMENT.finditer(text, start):
        if found[0] == "*/":
            depth -= 1
        elif is_nested or not depth:
            depth += 1
        if not depth:
            return found.end()
    raise SqlFault(f"the comment that begins {_line(text, start)} is open")


def _line(text: str, at: int) -> str:
    return f"in line {text.count(chr(10), 0, at) + 1}"
