"""The request of an http node, made from its rendered fields."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, urlencode

import msgspec

from tenuto.built_in.protocol import Call, Failed
from tenuto.egress import Request
from tenuto.egress.addresses import url_problem
from tenuto.egress.request import LONGEST_URL, METHODS, Headers, headers_problem
from tenuto.model.failure import INVALID_REQUEST, Failure, clipped
from tenuto.model.graph import Http
from tenuto.model.json import JSON, Object, kind_of

IDEMPOTENCY_KEY = "idempotency-key"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain; charset=utf-8",
}


def request_of(call: Call, config: Http) -> Request:
    """The request of an attempt; `Failed` says what is wrong with it, and shows no value."""
    given = call.given
    if not isinstance(given, dict):
        raise _wrong(f"the request is {kind_of(given)}")
    method = given.get("method", "GET")
    if method not in METHODS:
        raise _wrong(f"the method is {_shown(method)}, and none of {', '.join(METHODS)}")
    assert isinstance(method, str)
    headers = list(_pairs("headers", given.get("headers")))
    if (auth := _auth(given.get("auth"))) is not None:
        if _has(headers, auth[0]):
            raise _wrong(f"`auth` sets the header {auth[0]}, and `headers` has it too")
        headers.append(auth)
    body = _body(config, given.get("body"))
    if body is not None and not _has(headers, "content-type"):
        headers.append(("content-type", _TYPES[config.body_type]))
    if method not in _SAFE and not _has(headers, IDEMPOTENCY_KEY):
        headers.append((IDEMPOTENCY_KEY, call.idempotency_key))
    if call.traceparent is not None and not _has(headers, "traceparent"):
        headers.append(("traceparent", call.traceparent))
    if (problem := headers_problem(headers)) is not None:
        raise _wrong(problem)
    return Request(method, _url(given), tuple(headers), body)


def _url(given: Object) -> str:
    url = given.get("url")
    if not isinstance(url, str):
        raise _wrong(f"the URL is {kind_of(url)}, where text is needed")
    if query := list(_pairs("query", given.get("query"))):
        bare, mark, fragment = url.partition("#")
        joined = "&" if "?" in bare else "?"
        url = f"{bare}{joined}{urlencode(query, quote_via=quote)}{mark}{fragment}"
    if (problem := url_problem(url, LONGEST_URL)) is not None:
        raise _wrong(f"the URL cannot be used: {problem}")
    return url


def _body(config: Http, body: JSON) -> bytes | None:
    if body is None:
        return None
    match config.body_type:
        case "json":
            return msgspec.json.encode(body)
        case "form":
            return urlencode(list(_pairs("body", body)), quote_via=quote).encode()
        case "text":
            if not isinstance(body, str):
                raise _wrong(f"the body is {kind_of(body)}, where text is needed")
            return body.encode()


def _auth(auth: JSON) -> tuple[str, str] | None:
    match auth:
        case None:
            return None
        case {"type": "bearer", "value": str(token)} if token:
            return "authorization", f"Bearer {token}"
        case {"type": "basic", "value": str(both)} if ":" in both:
            return "authorization", f"Basic {b64encode(both.encode()).decode()}"
        case {"type": "header", "value": str(line)} if line.partition(":")[2].strip():
            name, _, value = line.partition(":")
            return name.strip(), value.strip()
        case {"type": "basic"}:
            raise _wrong("the value of `auth` is not `user:password`")
        case {"type": "header"}:
            raise _wrong("the value of `auth` is not `name: value`")
        case _:
            raise _wrong("the value of `auth` is empty, or no text")


def _pairs(field: str, found: JSON) -> Iterator[tuple[str, str]]:
    """Names and values of an object; an array is a name several times, null is left out."""
    if found is None:
        return
    if not isinstance(found, dict):
        raise _wrong(f"`{field}` is {kind_of(found)}, where an object is needed")
    for name, value in found.items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                yield name, _text(field, name, each)


def _text(field: str, name: str, value: JSON) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return msgspec.json.encode(value).decode()
    raise _wrong(f"`{name}` of `{field}` is {kind_of(value)}, where text or a number is needed")


def _has(headers: list[tuple[str, str]] | Headers, name: str) -> bool:
    return any(each.lower() == name.lower() for each, _ in headers)


def _shown(value: JSON) -> str:
    return f"`{clipped(value, 40)}`" if isinstance(value, str) else kind_of(value)


def _wrong(message: str) -> Failed:
    return Failed(Failure(code=INVALID_REQUEST, message=message, retryable=False))
