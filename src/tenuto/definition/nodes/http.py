"""http: a request to a URL."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from tenuto.definition.expressions import is_templated
from tenuto.definition.fields import UNUSABLE, Field, Fields, Record
from tenuto.definition.language_kinds import TEMPLATE, Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import ListOf, OneOf, Whole
from tenuto.definition.report import Place, shown
from tenuto.model.graph import DEFAULT, Http, HttpAuth
from tenuto.model.json import JSON, Object, kind_of

MOST_BYTES = 100_000_000
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_SCHEMES = ("https://", "http://")
_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_BEGINNING = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


class _Method(Template):
    """The method of a request, or a template that gives one."""

    def __init__(self) -> None:
        super().__init__("text")

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str) and is_templated(value):
            return super().read(value, place)
        if isinstance(value, str) and value not in _METHODS and value.upper() in _METHODS:
            place.wrong("TEN-1013", f"{shown(value)} is no method", f"Write `{value.upper()}`.")
            return UNUSABLE
        return OneOf(*_METHODS).read(value, place)

    def schema(self) -> Object:
        return {"anyOf": [OneOf(*_METHODS).schema(), TEMPLATE]}


class _Url(Template):
    """A URL; what is known of it before its templates are filled in is checked."""

    def __init__(self) -> None:
        super().__init__("text", with_secrets=True)

    def read(self, value: JSON, place: Place) -> object:
        text = super().read(value, place)
        if isinstance(text, str) and (problem := _problem(text)) is not None:
            place.wrong("TEN-1602", f"{shown(text)} cannot be called: {problem}")
        return text

    def schema(self) -> Object:
        scheme = "[Hh][Tt][Tt][Pp][Ss]?"
        return {"type": "string", "pattern": rf"^({scheme}://[^/?#@]+([/?#]|$)|\s*\{{\{{)"}


def _problem(text: str) -> str | None:
    known = text.partition("{{")[0]
    if not known.strip() and known != text:
        return None  # all of it may come from a template
    if not known.lower().startswith(_SCHEMES):
        return "it does not begin with https:// or http://"
    if any(each.isspace() or each < " " for each in known):
        return "it has a space in it"
    start = _BEGINNING.match(_TEMPLATE.sub("{}", text))
    assert start is not None
    if "@" in start[0]:
        return "it has a user in it"
    if "{" in start[0]:
        return None  # the host is a template
    try:
        parts = urlsplit(start[0])
        named, _ = bool(parts.hostname), parts.port
    except ValueError:
        return "its host or port is none"
    return None if named else "it has no host"


def _body(settings: Object, place: Place) -> None:
    body, kind = settings.get("body"), settings.get("bodyType")
    if body is None or (isinstance(body, str) and is_templated(body)):
        return
    if (kind == "form" and not isinstance(body, dict)) or (
        kind == "text" and not isinstance(body, str)
    ):
        place.at("body").wrong("TEN-1603", f"`bodyType` is `{kind}`, and this is {kind_of(body)}")


def _body_schema(kind: str, shape: str) -> Object:
    body: JSON = {"anyOf": [{"type": [shape, "null"]}, TEMPLATE]}
    return {
        "if": {"properties": {"bodyType": {"const": kind}}, "required": ["bodyType"]},
        "then": {"properties": {"body": body}},
    }


_AUTH = Record(
    HttpAuth,
    Fields(
        Field("type", "type", OneOf("bearer", "basic", "header"), required=True),
        Field("value", "value", Template("text", with_secrets=True), required=True),
    ),
)

HTTP = NodeType(
    tag="http",
    step="HTTP",
    make=Http,
    fields=Fields(
        Field("method", "method", _Method()),
        Field("url", "url", _Url(), required=True),
        Field("headers", "headers", Template("object", with_secrets=True)),
        Field("query", "query", Template("object", with_secrets=True)),
        Field("body", "body", Template(with_secrets=True)),
        Field("bodyType", "body_type", OneOf("json", "form", "text")),
        Field("successCodes", "success_codes", ListOf(Whole(100, 599))),
        Field("responseType", "response_type", OneOf("json", "text", "none")),
        Field("maxBytes", "max_bytes", Whole(1, MOST_BYTES)),
        Field("retryOn", "retry_on", ListOf(Whole(100, 599))),
        Field("auth", "auth", _AUTH),
    ),
    handles=lambda _: (DEFAULT,),
    executes=True,
    rules=_body,
    rules_schema=(_body_schema("form", "object"), _body_schema("text", "string")),
)
