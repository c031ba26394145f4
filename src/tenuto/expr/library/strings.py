"""The methods of strings. Patterns are plain strings; positions count UTF-16 code units."""

from __future__ import annotations

import re
from typing import Final

from tenuto.expr import utf16
from tenuto.expr.coerce import to_integer, to_number, to_text
from tenuto.expr.errors import ExpressionError
from tenuto.expr.frame import Frame
from tenuto.expr.library import searching
from tenuto.expr.library.calling import Arguments, MethodOf, argument, span
from tenuto.expr.numerals import NAN
from tenuto.expr.values import UNDEFINED, Operand

_MARKS: Final = re.compile(r"\$([$&`'])")
_MARKS_PER_STEP: Final = 32


def _read(frame: Frame, text: str) -> str:
    """The code units of a text that is about to be gone through."""
    frame.pay_text(len(text))
    return utf16.units(text)


def _pattern(frame: Frame, arguments: Arguments) -> str:
    return _read(frame, to_text(frame, argument(arguments, 0)))


def _position(frame: Frame, arguments: Arguments, length: int) -> int:
    return max(0, min(to_integer(frame, argument(arguments, 1)), length))


def includes(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    pattern = _pattern(frame, arguments)
    return searching.first(units, pattern, _position(frame, arguments, len(units))) >= 0


def starts_with(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    pattern = _pattern(frame, arguments)
    return units.startswith(pattern, _position(frame, arguments, len(units)))


def ends_with(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    pattern = _pattern(frame, arguments)
    end = to_integer(frame, argument(arguments, 1), default=len(units))
    return units[: max(0, end)].endswith(pattern)


def index_of(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    pattern = _pattern(frame, arguments)
    return searching.first(units, pattern, _position(frame, arguments, len(units)))


def last_index_of(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    pattern = _pattern(frame, arguments)
    latest = to_number(frame, argument(arguments, 1))
    # Here alone a position that is not a number means "from the end".
    limit = len(units) if latest != latest else max(0, to_integer(frame, latest))
    return searching.last(units, pattern, limit + len(pattern))


def slice_(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    start, end = span(
        len(units),
        to_integer(frame, argument(arguments, 0)),
        to_integer(frame, argument(arguments, 1), default=len(units)),
    )
    return utf16.joined(units[start:end])


def substring(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    size = len(units)
    ends = (
        to_integer(frame, argument(arguments, 0)),
        to_integer(frame, argument(arguments, 1), default=size),
    )
    start, end = sorted(max(0, min(position, size)) for position in ends)
    return utf16.joined(units[start:end])


def at(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    index = to_integer(frame, argument(arguments, 0))
    index += len(units) if index < 0 else 0
    return units[index] if 0 <= index < len(units) else UNDEFINED


def char_at(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    index = to_integer(frame, argument(arguments, 0))
    return units[index] if 0 <= index < len(units) else ""


def char_code_at(frame: Frame, text: str, arguments: Arguments) -> Operand:
    units = _read(frame, text)
    index = to_integer(frame, argument(arguments, 0))
    return ord(units[index]) if 0 <= index < len(units) else NAN


def split(frame: Frame, text: str, arguments: Arguments) -> Operand:
    separator, limit = argument(arguments, 0), argument(arguments, 1)
    count = 2**32 - 1 if limit is UNDEFINED else to_integer(frame, limit) % 2**32
    if separator is UNDEFINED:
        return [text][:count]
    units = _read(frame, text)
    pattern = _pattern(frame, arguments)
    if len(pattern) >= searching.LONG:
        return _split_at(frame, units, pattern)[:count]
    frame.pay(units.count(pattern))
    parts = units.split(pattern) if pattern else list(units)
    return [utf16.joined(part) for part in parts[:count]]


def _split_at(frame: Frame, units: str, pattern: str) -> list[Operand]:
    """The parts between the places of a long pattern."""
    parts: list[Operand] = []
    done = 0
    for found in searching.places(units, pattern):
        frame.pay(1)
        parts.append(utf16.joined(units[done:found]))
        done = found + len(pattern)
    return [*parts, utf16.joined(units[done:])]


def replace(frame: Frame, text: str, arguments: Arguments) -> Operand:
    return _replaced(frame, text, arguments, every=False)


def replace_all(frame: Frame, text: str, arguments: Arguments) -> Operand:
    return _replaced(frame, text, arguments, every=True)


def _replaced(frame: Frame, text: str, arguments: Arguments, *, every: bool) -> str:
    units = _read(frame, text)
    pattern = _pattern(frame, arguments)
    given = _read(frame, to_text(frame, argument(arguments, 1)))
    replacement: _Replacement | None = None
    pieces: list[str] = []
    done = 0
    for found in searching.places(units, pattern):
        replacement = replacement or _Replacement(frame, given)
        end = found + len(pattern)
        frame.pay(1 + replacement.steps)
        # A mark of two characters may stand for all of the text: paid before it is built.
        frame.pay_text(found - done + replacement.size(units, found, end))
        pieces += (units[done:found], replacement.filled(units, found, end))
        done = end
        if not every:
            break
    pieces.append(units[done:])
    return utf16.joined("".join(pieces))


class _Replacement:
    """What a match is replaced with: text in which `$$`, `$&`, ``$` `` and `$'` are filled in."""

    __slots__ = ("_counts", "_pieces", "_plain", "steps")

    def __init__(self, frame: Frame, given: str) -> None:
        # Each mark is an object of its own, however few characters it is.
        frame.pay(given.count("$") // _MARKS_PER_STEP)
        self._pieces = _MARKS.split(given)
        """Texts, with a mark between any two of them."""
        marks = self._pieces[1::2]
        self._counts = {mark: marks.count(mark) for mark in "$&`'"}
        self._plain = sum(map(len, self._pieces[::2]))
        self.steps = len(marks) // _MARKS_PER_STEP
        """What it takes to fill in the marks, whatever they stand for."""

    def size(self, units: str, start: int, end: int) -> int:
        """The length of what `filled` gives."""
        return (
            self._plain
            + self._counts["$"]
            + self._counts["&"] * (end - start)
            + self._counts["`"] * start
            + self._counts["'"] * (len(units) - end)
        )

    def filled(self, units: str, start: int, end: int) -> str:
        """The replacement of the match from `start` to `end`."""
        if len(self._pieces) == 1:
            return self._pieces[0]
        meanings = {
            "$": "$",
            "&": units[start:end],
            "`": units[:start] if self._counts["`"] else "",
            "'": units[end:] if self._counts["'"] else "",
        }
        pieces = self._pieces.copy()
        pieces[1::2] = [meanings[mark] for mark in pieces[1::2]]
        return "".join(pieces)


def _padding(frame: Frame, text: str, arguments: Arguments) -> str:
    if not text.isascii():
        # Counting code units goes through all of the text.
        frame.pay_text(len(text))
    wanted = to_integer(frame, argument(arguments, 0)) - utf16.length(text)
    filler = argument(arguments, 1)
    unit = " " if filler is UNDEFINED else to_text(frame, filler)
    if wanted <= 0 or not unit:
        return ""
    frame.pay_text(wanted + len(text))
    # Of a long filler only this much is read, and paid for.
    unit = utf16.units(unit[:wanted])
    return (unit * (wanted // len(unit) + 1))[:wanted]


def pad_start(frame: Frame, text: str, arguments: Arguments) -> Operand:
    return utf16.joined(_padding(frame, text, arguments) + text)


def pad_end(frame: Frame, text: str, arguments: Arguments) -> Operand:
    return utf16.joined(text + _padding(frame, text, arguments))


def repeat(frame: Frame, text: str, arguments: Arguments) -> Operand:
    count = to_number(frame, argument(arguments, 0))
    if count < 0 or count in (float("inf"), float("-inf")):
        raise ExpressionError("`repeat` needs a count from 0 to infinity")
    times = to_integer(frame, count)
    frame.pay_text(len(text) * times)
    return utf16.joined(text * times) if text else ""


def concat(frame: Frame, text: str, arguments: Arguments) -> Operand:
    parts = [text, *(to_text(frame, value) for value in arguments)]
    frame.pay_text(sum(map(len, parts)))
    return utf16.joined("".join(parts))


def trim(frame: Frame, text: str, _arguments: Arguments) -> Operand:
    frame.pay_text(len(text))
    return text.strip(utf16.WHITE_SPACE)


def trim_start(frame: Frame, text: str, _arguments: Arguments) -> Operand:
    frame.pay_text(len(text))
    return text.lstrip(utf16.WHITE_SPACE)


def trim_end(frame: Frame, text: str, _arguments: Arguments) -> Operand:
    frame.pay_text(len(text))
    return text.rstrip(utf16.WHITE_SPACE)


def to_upper_case(frame: Frame, text: str, _arguments: Arguments) -> Operand:
    frame.pay_text(len(text))
    return text.upper()


def to_lower_case(frame: Frame, text: str, _arguments: Arguments) -> Operand:
    frame.pay_text(len(text))
    return text.lower()


def to_string(_frame: Frame, text: str, _arguments: Arguments) -> Operand:
    return text


METHODS: Final[dict[str, MethodOf]] = {
    "at": at,
    "charAt": char_at,
    "charCodeAt": char_code_at,
    "concat": concat,
    "endsWith": ends_with,
    "includes": includes,
    "indexOf": index_of,
    "lastIndexOf": last_index_of,
    "padEnd": pad_end,
    "padStart": pad_start,
    "repeat": repeat,
    "replace": replace,
    "replaceAll": replace_all,
    "slice": slice_,
    "split": split,
    "startsWith": starts_with,
    "substring": substring,
    "toLowerCase": to_lower_case,
    "toString": to_string,
    "toUpperCase": to_upper_case,
    "trim": trim,
    "trimEnd": trim_end,
    "trimStart": trim_start,
}
