"""CloudEvents 1.0, in its JSON format and with its attributes in the headers of a request.

`type` is the event's name, `data` its payload, `time` its timestamp, and the extension
`correlationid` what it belongs to. `source` and `id` together say which event it is.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import unquote

from tenuto.events.fields import Fields, GivenEvent, Reading
from tenuto.events.names import OF_CLOUD_EVENTS, name_problems
from tenuto.model.ids import LONGEST_ID
from tenuto.model.json import JSON, Object

WRONG_CLOUD_EVENT = "TEN-2021"
STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
_PREFIX = "ce-"


def is_cloud_event(value: Object) -> bool:
    """Whether an object is meant as a CloudEvent."""
    return "specversion" in value


def is_binary(headers: Mapping[str, str]) -> bool:
    """Whether the headers of a request, with names in lower case, are those of a CloudEvent."""
    return f"{_PREFIX}specversion" in headers


def read_cloud_event(value: Object, path: str = "$") -> Reading:
    """The event of an object in the JSON format, or all its problems."""
    fields = Fields(value, path, WRONG_CLOUD_EVENT)
    payload = value.get("data")
    if "data_base64" in value:
        payload = _bytes_as_payload(value, fields)
    return _read(fields, payload)


def read_binary(headers: Mapping[str, str], body: bytes, parse: Callable[[bytes], JSON]) -> Reading:
    """The event of a request that has its attributes in headers and its data as the body.

    `parse` reads JSON; a body of another type is text, or base64 if it is binary.
    """
    value: Object = {
        name.removeprefix(_PREFIX): unquote(text)
        for name, text in headers.items()
        if name.startswith(_PREFIX)
    }
    return _read(Fields(value, "$", WRONG_CLOUD_EVENT), _body(headers, body, parse))


def _read(fields: Fields, payload: JSON) -> Reading:
    version = fields.text("specversion", is_required=True)
    if version is not None and version != "1.0":
        fields.wrong("specversion", f"CloudEvents {version} is not known", "Send version 1.0.")
    name = fields.text("type", is_required=True) or ""
    source, id = fields.id("source", is_required=True), fields.id("id", is_required=True)
    if source is not None and " " in source:
        fields.wrong("source", "a URI has no spaces", "Write spaces in a URI as `%20`.")
    given = GivenEvent(
        pattern=name,
        payload=payload,
        id=event_id(source or "", id or ""),
        correlation_id=fields.id("correlationid"),
        timestamp=fields.moment("time"),
    )
    if name:
        fields.problems += name_problems(name, f"{fields.path}.type")
    return tuple(fields.problems) or given


def event_id(source: str, id: str) -> str:
    """One id from a CloudEvent's source and id, hashed if it would be too long."""
    # Neither a source nor a hash has a space, so that different pairs give different ids.
    both = f"{source} {id}"
    if len(OF_CLOUD_EVENTS) + len(both) > LONGEST_ID:
        both = hashlib.sha256(both.encode()).hexdigest()
    return OF_CLOUD_EVENTS + both


def _bytes_as_payload(value: Object, fields: Fields) -> JSON:
    encoded = value["data_base64"]
    if "data" in value:
        advice = "Send one of them."
        fields.wrong("data_base64", "`data` and `data_base64` exclude each other", advice)
    try:
        base64.b64decode(cast("str", encoded), validate=True)
    except (ValueError, TypeError):
        fields.wrong("data_base64", "`data_base64` is not base64", "Encode the bytes as RFC 4648.")
    return encoded


def _body(headers: Mapping[str, str], body: bytes, parse: Callable[[bytes], JSON]) -> JSON:
    if not body:
        return None
    kind = headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return parse(body)
    try:
        return body.decode()
    except UnicodeDecodeError:
        return base64.b64encode(body).decode()
