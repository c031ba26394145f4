"""javascript: code of the user, in a sandbox."""

from __future__ import annotations

import re

from tenuto.definition.fields import UNUSABLE, Field, Fields
from tenuto.definition.language_kinds import Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import ListOf, Text, Whole, pattern_of
from tenuto.definition.report import Place, shown
from tenuto.model.graph import DEFAULT, JavaScript
from tenuto.model.json import JSON, Object

MOST_MEGABYTES = 1_024
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"(?:(?:\*\.)?{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{{1,5}})?\Z")


class _Code(Text):
    """The body of a function; it is parsed where there is a sandbox."""

    def read(self, value: JSON, place: Place) -> object:
        text = super().read(value, place)
        if isinstance(text, str):
            place.report.code[place.path] = text
        return text


class _Host(Text):
    """A host that code may call."""

    def read(self, value: JSON, place: Place) -> object:
        text = super().read(value, place)
        if isinstance(text, str) and not _HOST.match(text):
            place.wrong("TEN-1601", f"{shown(text)} is not the name of a host", _meant(text))
        return text

    def schema(self) -> Object:
        return {"type": "string", "pattern": pattern_of(_HOST)}


class _Megabytes(Whole):
    """An amount of memory; bytes are a common mistake."""

    def __init__(self) -> None:
        super().__init__(1, MOST_MEGABYTES)

    def read(self, value: JSON, place: Place) -> object:
        is_in_bytes = type(value) is int and value >= 1 << 20
        if is_in_bytes and (meant := value >> 20) <= MOST_MEGABYTES:  # type: ignore[operator]
            place.wrong("TEN-1014", f"{value} is out of bounds", f"Write megabytes: `{meant}`.")
            return UNUSABLE
        return super().read(value, place)


def _meant(text: str) -> str | None:
    host = re.match(r"[a-z]+://([^/?#]+)", text)
    if host is not None and _HOST.match(host[1]):
        return f"Write `{host[1]}`."
    return None


JAVASCRIPT = NodeType(
    tag="javascript",
    step="JAVASCRIPT",
    make=JavaScript,
    fields=Fields(
        Field("code", "code", _Code(), required=True),
        Field(
            "input", "input", Template("object or text", with_secrets=True), presence="has_input"
        ),
        Field("memoryLimit", "memory_limit", _Megabytes()),
        Field("allowHosts", "allow_hosts", ListOf(_Host())),
    ),
    handles=lambda _: (DEFAULT,),
    executes=True,
)
