"""Reads YAML 1.2 into JSON values: bounded, without repeated keys, with the place of each value.

PyYAML splits the text into events and nothing more. What a scalar means is decided here, by the
types of YAML 1.2 and with the numbers of JSON: `yes`, `on` and dates are text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

import yaml  # type: ignore[import-untyped]
from msgspec import Struct

from tenuto.definition.json_check import DEEPEST, UNFIT
from tenuto.definition.report import Place, Report, shown
from tenuto.model.errors import InvalidDefinition
from tenuto.model.json import JSON

if TYPE_CHECKING:
    Way = tuple[str | int, ...]

MOST_REPEATED = 1_000_000
"""The most characters that the aliases of a document may repeat."""

_MOST_DIGITS = 4000
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_OTHER_NUMBER = re.compile(
    r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z"
    r"|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
)
"""Numbers of YAML that JSON does not have, or spells otherwise."""
_WORDS: Final[dict[str, JSON]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")
_STRUCTURE_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_QUOTE = 'Put it in quotes: "{{ctx.input.orderId}}".'


class YamlDocument(Struct, frozen=True):
    """The value of a text, and where in the text each value begins."""

    value: JSON
    offsets: dict[Way, int]


class _Open(Struct):
    """A list or an object that has not ended."""

    value: list[JSON] | dict[str, JSON]
    anchor: str | None
    key: str | None = None
    weight: int = 2
    depth: int = 1
    keys: set[str] = set()


class _Anchored(Struct, frozen=True):
    """A value that can be repeated by an alias."""

    value: JSON
    weight: int
    depth: int


def parse_yaml(source: str, where: str) -> YamlDocument:
    """The JSON value that a YAML text holds; InvalidDefinition with line and column."""
    reader = _Reader(source, where)
    try:
        for event in yaml.parse(source, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark or yaml.Mark(None, 0, 0, 0, None, None)
        reader.stop(mark, str(error.problem or error.context), _advice(error, mark, source))
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        reader.stop_at(position, "the text has a character that YAML does not allow")
    return reader.document()


class _Reader:
    """Builds the value from events, without recursion."""

    def __init__(self, source: str, where: str) -> None:
        self._source = source
        self._where = where
        self._report = Report()
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored | None] = {}
        """None: its value has not ended yet."""
        self._repeated = 0
        self._documents = 0
        self._value: JSON = None
        self._offsets: dict[Way, int] = {}

    def document(self) -> YamlDocument:
        if not self._documents:
            self.stop_at(0, "the file is empty", "Write a definition, as JSON or as YAML.")
        if self._report.has_errors:
            raise InvalidDefinition(f"{self._where} cannot be read", self._report.problems)
        return YamlDocument(self._value, self._offsets)

    def take(self, event: yaml.Event) -> None:
        """Take the next event."""
        match event:
            case yaml.ScalarEvent():
                self._take_scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._begin(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                ended = self._open.pop()
                self._add(ended.value, ended.anchor, ended.weight, ended.depth)
            case yaml.AliasEvent():
                self._repeat(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    advice = "Write one definition in each file."
                    self.stop(event.start_mark, "a second document begins here", advice)
            case _:
                # The ends of the text and of the document.
                pass

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        text = str(event.value)
        if UNFIT.search(text):
            what = "the text has a NUL character or a lone surrogate"
            self._refuse("TEN-1003", event.start_mark, what)
        if self._awaits_key:
            self._take_key(text, event)
            return
        self._note(event.start_mark)
        self._add(self._scalar(text, event), event.anchor, len(text) + 2, 0)

    def _scalar(self, text: str, event: yaml.ScalarEvent) -> JSON:
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._refuse_tag(event)
        if event.style or event.tag is not None:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _NUMBER.match(text) and len(text) <= _MOST_DIGITS:
            number = int(text) if _WHOLE.match(text) else float(text)
            if abs(number) != float("inf"):
                return number
        if _OTHER_NUMBER.match(text):
            what = f"{shown(text)} is not a JSON number"
            advice = "Write a number as in JSON; text that looks like a number goes in quotes."
            self._refuse("TEN-1003", event.start_mark, what, advice)
        return text

    def _take_key(self, text: str, event: yaml.ScalarEvent) -> None:
        inner = self._open[-1]
        if event.tag is not None and event.tag not in _TEXT_TAGS:
            self._refuse_tag(event)
        if text == "<<" and not event.style:
            advice = "Write the fields out; an alias (`*name`) stands for a whole value."
            self._refuse(
                "TEN-1003", event.start_mark, "there are no merge keys in YAML 1.2", advice
            )
        if text in inner.keys:
            what = f"the key {shown(text)} is there already"
            self._refuse("TEN-1002", event.start_mark, what)
        inner.keys.add(text)
        inner.key = text
        inner.weight += len(text) + 4

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        if self._awaits_key:
            self.stop(
                event.start_mark, "the key of an object is text", f"Is it a template? {_QUOTE}"
            )
        if len(self._open) == DEEPEST:
            self.stop(event.start_mark, f"nested more than {DEEPEST} deep", code="TEN-1005")
        if event.tag not in _STRUCTURE_TAGS:
            self._refuse_tag(event)
        self._note(event.start_mark)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        is_object = isinstance(event, yaml.MappingStartEvent)
        self._open.append(_Open({} if is_object else [], event.anchor, keys=set()))

    def _repeat(self, event: yaml.AliasEvent) -> None:
        name, mark = str(event.anchor), event.start_mark
        quoted = "Text that begins with `*` goes in quotes."
        if self._awaits_key:
            self.stop(mark, "the key of an object is text", quoted)
        if name not in self._anchors:
            self.stop(mark, f"there is no anchor {shown('&' + name)} before it", quoted)
        known = self._anchors[name]
        if known is None:
            self.stop(mark, f"{shown('*' + name)} would contain itself", "Write the value out.")
        self._repeated += known.weight
        if self._repeated > MOST_REPEATED:
            what = f"the aliases repeat more than {MOST_REPEATED:,} characters"
            self.stop(mark, what, "Write fewer of them.", code="TEN-1004")
        if len(self._open) + known.depth > DEEPEST:
            self.stop(mark, f"nested more than {DEEPEST} deep", code="TEN-1005")
        self._note(mark)
        self._add(known.value, None, known.weight, known.depth)

    def _add(self, value: JSON, anchor: str | None, weight: int, depth: int) -> None:
        """Put a whole value into the innermost container."""
        if anchor is not None:
            self._anchors[anchor] = _Anchored(value, weight, depth)
        if not self._open:
            self._value = value
            return
        inner = self._open[-1]
        inner.weight += weight
        inner.depth = max(inner.depth, depth + 1)
        if isinstance(inner.value, list):
            inner.value.append(value)
        else:
            assert inner.key is not None  # a key comes before each value
            inner.value[inner.key] = value
            inner.key = None

    @property
    def _awaits_key(self) -> bool:
        return (
            bool(self._open)
            and isinstance(self._open[-1].value, dict)
            and self._open[-1].key is None
        )

    def _note(self, mark: yaml.Mark) -> None:
        """Keep where the next value begins."""
        way = tuple(
            len(each.value) if isinstance(each.value, list) else str(each.key)
            for each in self._open
        )
        self._offsets[way] = mark.index

    def _refuse_tag(self, event: yaml.NodeEvent) -> None:
        advice = "Text that begins with `!` goes in quotes; JSON has no other types."
        self._refuse("TEN-1003", event.start_mark, f"{shown(event.tag)} is a tag", advice)

    def _refuse(self, code: str, mark: yaml.Mark, message: str, advice: str | None = None) -> None:
        where = f"{self._where}:{mark.line + 1}:{mark.column + 1}"
        Place("$", self._report).wrong(code, f"{where}: {message}", advice)

    def stop(
        self, mark: yaml.Mark, message: str, advice: str | None = None, *, code: str = "TEN-1001"
    ) -> NoReturn:
        """Refuse the document: nothing behind this place can be read."""
        self._refuse(code, mark, message, advice)
        problems = self._report.problems
        alone = problems[0].message if len(problems) == 1 else f"{self._where} cannot be read"
        raise InvalidDefinition(alone, problems)

    def stop_at(self, offset: int, message: str, advice: str | None = None) -> NoReturn:
        before = self._source[:offset]
        line, column = before.count("\n"), offset - (before.rfind("\n") + 1)
        self.stop(yaml.Mark(None, offset, line, column, None, None), message, advice)


def _advice(error: yaml.MarkedYAMLError, mark: yaml.Mark, source: str) -> str | None:
    """What usually is the cause, judged by the line."""
    lines = source.split("\n")
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "Indent with spaces: YAML takes no tabs."
    if "{{" in line:
        return f"Is it a template? {_QUOTE}"
    if line[mark.column - 1 : mark.column] in ("*", "&"):
        return "Text that begins with `*` or `&` goes in quotes."
    if "mapping values are not allowed" in str(error.problem):
        return 'Text that has a colon and a space in it goes in quotes: "note: this".'
    return None
