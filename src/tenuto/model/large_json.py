"""Decodes large JSON in pieces: no call of the decoder keeps Python's lock for long.

While one thread decodes a megabyte, which is one call and takes up to 15 ms, no other thread goes
on: not the event loop, and not the commit of another tenant's turn. A large text is cut between
the items of its arrays and objects, at commas. Where a comma is such a place is guessed: items that
decode by themselves are whole ones. If the guess is wrong, the tokens are looked at. Values and
errors are those of one call.
"""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple, cast

import msgspec

from tenuto.model.json import JSON, Object
from tenuto.model.pauses import between_parts

LARGE: Final = 32_768
"""A text with more bytes is decoded in pieces."""
PIECE: Final = 8_192
"""The most bytes of a piece, but for a single text or number: a tenth of a millisecond, for which
every other thread waits, each time that it needs the lock."""
_MOST_SCANNED: Final = 4
"""Where more bytes than so many times the text would be looked at, it is decoded in one call."""
_MOST_DEPTH: Final = 200
_SPACE = re.compile(rb"[ \t\r\n]*")
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(")?|[\[\]{},]', re.DOTALL)
_IN_TEXT = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_AT = re.compile(r"\(byte (\d+)\)$")
_KEY = re.compile(rb'"[ \t\r\n]*:')
_COMMA, _QUOTE, _OPEN_ARRAY, _OPEN_OBJECT = b',"[{'
_CLOSING: Final = {_OPEN_ARRAY: b"]", _OPEN_OBJECT: b"}"}

_decode = msgspec.json.Decoder().decode
_skip = msgspec.json.Decoder(msgspec.Raw).decode
_encode = msgspec.json.Encoder().encode


def decode(text: bytes, piece: int = PIECE) -> JSON:
    """What `msgspec.json.decode` makes of a text, with its errors."""
    return _decode(text) if _is_small(text, piece) else _Reader(text, piece).read()


def decode_strictly(text: bytes, piece: int = PIECE) -> tuple[JSON, str | None]:
    """The same, and a key that an object in it has twice."""
    if not _is_small(text, piece):
        reader = _Reader(text, piece, is_strict=True)
        return reader.read(), reader.twice
    value: JSON = _decode(text)
    return value, _key_there_twice(text, value)


def _is_small(text: bytes, piece: int) -> bool:
    return len(text) <= (LARGE if piece == PIECE else piece)


def _key_there_twice(text: bytes, value: JSON) -> str | None:
    """A key that is there twice, which the decoder does not report.

    It is found by counting: encoded again, the value has as many keys as the text, or it has lost
    one. Inside text a quote is escaped, so that text which looks like the end of a key looks so in
    both encodings; unless a numeric escape hides it.
    """
    if not isinstance(value, dict | list):
        return None
    if b"\\u" not in text:
        before, after = len(_KEY.findall(text)), len(_KEY.findall(_encode(value)))
        if before == after:
            return None
    try:
        json.loads(text, object_pairs_hook=_without_duplicates)
    except _Twice as found:
        return str(found)
    return None


class _Twice(Exception):
    """The key that an object has twice."""


def _without_duplicates(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        raise _Twice(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return found


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Unfit(Exception):
    """The text is no JSON, or too intricate to be cut."""


class _Tokens(NamedTuple):
    """What is found in a stretch of text that begins inside an array or object."""

    commas: list[int]
    """The last comma on each level that is open at the end, from the outermost; -1: none."""
    opened: list[int]
    """Where arrays and objects begin that do not end in it."""
    closed: int
    """Where the array or object ends in which the stretch begins; -1: not in it."""


class _Reader:
    """Decodes one text."""

    def __init__(self, text: bytes, piece: int, *, is_strict: bool = False) -> None:
        self._text = text
        self._piece = piece
        self._is_strict = is_strict
        self._may_scan = _MOST_SCANNED * len(text)
        self._open: list[list[JSON] | Object] = []
        """The arrays and objects around the present place, from the outermost."""
        self.twice: str | None = None

    def read(self) -> JSON:
        at = self._after_space(0)
        try:
            if self._text[at : at + 1] in (b"[", b"{"):
                return self._read_from(at)
        except _Unfit:
            self._refuse_truncated()
        value: JSON = _decode(self._text)
        if self._is_strict:
            self.twice = _key_there_twice(self._text, value)
        return value

    def _read_from(self, at: int) -> JSON:
        root = self._enter(at)
        at, is_new = at + 1, True
        while self._open:
            between_parts()
            if (comma := self._guessed(at)) >= 0:
                at, is_new = comma + 1, False
                continue
            found = self._tokens(at)
            if found.closed >= 0:
                at = self._leave(at, found.closed, is_new=is_new)
                is_new = False
            else:
                at, is_new = self._descend(at, found, is_new=is_new)
        return root

    def _enter(self, at: int) -> list[JSON] | Object:
        if len(self._open) == _MOST_DEPTH:
            raise _Unfit
        new: list[JSON] | Object = [] if self._text[at] == _OPEN_ARRAY else {}
        self._open.append(new)
        return new

    def _guessed(self, at: int) -> int:
        """The comma after items from `at` on that were taken; -1 if it is not so easy."""
        text, end = self._text, at + self._piece
        if end >= len(text):
            return -1
        begin = self._after_space(at)
        if begin >= end:
            return -1
        if (closing := _CLOSING.get(text[begin])) is not None:
            comma = text.rfind(closing + b",", begin, end) + 1
        else:
            comma = text.rfind(b",", begin, end)
        if comma <= begin:
            return -1
        try:
            self._add(self._items(at, comma))
        except (ValueError, RecursionError):
            return -1
        return comma

    def _items(self, at: int, end: int) -> list[JSON] | Object:
        """The items or members between two places; ValueError."""
        is_array = isinstance(self._open[-1], list)
        text = self._text[at:end]
        text = b"[" + text + b"]" if is_array else b"{" + text + b"}"
        items: list[JSON] | Object = _decode(text)
        if self._is_strict and self.twice is None:
            self.twice = _key_there_twice(text, items)
        return items

    def _add(self, items: list[JSON] | Object) -> None:
        around = self._open[-1]
        if isinstance(around, list):
            around += cast("list[JSON]", items)
            return
        members = cast("Object", items)
        if self._is_strict and self.twice is None and not around.keys().isdisjoint(members):
            self.twice = next(key for key in members if key in around)
        around.update(members)

    def _take(self, at: int, end: int) -> None:
        """Take the items between two places, of which there is at least one."""
        if self._after_space(at) >= end:
            raise _Unfit
        try:
            items = self._items(at, end)
        except msgspec.ValidationError as error:
            raise self._placed(error) from None
        except msgspec.DecodeError as error:
            raise self._shifted(error, at, end) from None
        except RecursionError:
            raise _Unfit from None
        self._add(items)

    def _tokens(self, at: int) -> _Tokens:
        """Arrays, objects and commas of about a piece; more, where a text or number is longer."""
        text, size = self._text, self._piece
        end = at + size
        commas, opened = [-1], list[int]()
        place = at
        while True:
            self._may_scan -= min(end, len(text)) - place
            if self._may_scan < 0:
                raise _Unfit
            is_cut = False
            for token in _TOKEN.finditer(text, place, end):
                place = token.start()
                kind = text[place]
                if kind == _COMMA:
                    commas[-1] = place
                elif kind == _QUOTE:
                    if token[1] is None:
                        is_cut = True
                        break
                elif kind in _CLOSING:
                    opened.append(place)
                    commas.append(-1)
                elif opened:
                    opened.pop()
                    commas.pop()
                else:
                    return _Tokens(commas, opened, place)
            if opened or commas[0] >= 0:
                return _Tokens(commas, opened, -1)
            if is_cut:
                place = self._end_of_text(place + 1)
                end = place + self._piece
            elif end >= len(text):
                raise _Unfit
            else:
                # A long number, or space.
                size *= 2
                place, end = at, at + size

    def _end_of_text(self, place: int) -> int:
        """The place after the quote that ends a text."""
        text = self._text
        while True:
            found = _IN_TEXT.match(text, place, place + self._piece)
            assert found is not None
            if text[found.end() : found.end() + 1] == b'"':
                return found.end() + 1
            if found.end() == place or found.end() >= len(text):
                raise _Unfit
            place = found.end()

    def _descend(self, at: int, found: _Tokens, *, is_new: bool) -> tuple[int, bool]:
        """Take what is whole on each level that is open; the place where the innermost goes on."""
        for level, comma in enumerate(found.commas):
            if level:
                is_new = True
            if comma >= 0:
                self._take(at, comma)
                at, is_new = comma + 1, False
            if level < len(found.opened):
                self._enter_at(found.opened[level], at)
                at = found.opened[level] + 1
        return at, is_new

    def _enter_at(self, place: int, before: int) -> None:
        """An array or object begins; `before` it is nothing, or its key."""
        around = self._open[-1]
        if isinstance(around, list):
            if self._after_space(before) != place:
                raise _Unfit
            around.append(self._enter(place))
            return
        try:
            [key] = _decode(b"{" + self._text[before:place] + b"null}")
        except (msgspec.DecodeError, TypeError):
            raise _Unfit from None
        if self._is_strict and self.twice is None and key in around:
            self.twice = key
        around[key] = self._enter(place)

    def _leave(self, at: int, end: int, *, is_new: bool) -> int:
        """An array or object ends, and perhaps others with it; the place of the next item."""
        text = self._text
        if not is_new or self._after_space(at) < end:
            self._take(at, end)
        while True:
            if text[end : end + 1] != (b"]" if isinstance(self._open[-1], list) else b"}"):
                raise _Unfit
            self._open.pop()
            end = self._after_space(end + 1)
            if not self._open:
                if end < len(text):
                    raise _Unfit
                return end
            if text[end : end + 1] == b",":
                return end + 1

    def _after_space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        assert found is not None
        return found.end()

    def _refuse_truncated(self) -> None:
        """The most frequent fault of a text is found without making its values again."""
        try:
            _skip(self._text)
        except msgspec.DecodeError as error:
            if _AT.search(str(error)) is None and _is_utf8(self._text):
                raise

    def _shifted(self, error: msgspec.DecodeError, at: int, end: int) -> Exception:
        """The error of items, at its place in the whole; not one at the end that was put there."""
        found = _AT.search(str(error))
        byte = int(found[1]) - 1 if found is not None else end
        if found is None or byte >= end - at:
            return _Unfit()
        return msgspec.DecodeError(f"{str(error)[: found.start()]}(byte {at + byte})")

    def _placed(self, error: msgspec.ValidationError) -> msgspec.ValidationError:
        """The error of items, at its place in the whole."""
        message, there, path = str(error).rpartition(" - at `$")
        if not there:
            return error
        *around, last = self._open
        steps = ["[...]" if isinstance(each, dict) else f"[{len(each) - 1}]" for each in around]
        if isinstance(last, list):
            index, _, rest = path.removeprefix("[").partition("]")
            path = f"[{len(last) + int(index)}]{rest}"
        return msgspec.ValidationError(f"{message}{there}{''.join(steps)}{path}")
