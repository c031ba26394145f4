"""The OpenAPI 3.1 document, made from the registry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from tenuto import __version__
from tenuto.api.operation import Operation
from tenuto.api.problems import MEDIA, ProblemDetails
from tenuto.api.request_audit import REASON
from tenuto.model.json import JSON, Object

_REFERENCE = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_TITLES = {
    200: "Done.",
    201: "Created.",
    202: "Accepted; it continues in the background.",
    204: "Done; there is no body.",
    304: "Not modified: `If-None-Match` names its `ETag`.",
    400: "The body is not valid JSON.",
    401: "A valid credential is needed.",
    403: "The principal lacks the permission.",
    404: "There is no such record.",
    409: "Not possible in the current state.",
    410: "It is over.",
    412: "It has changed meanwhile.",
    413: "Too large.",
    415: "The media type of the body is not supported.",
    421: "The service does not have this host name.",
    422: "The request is invalid; every problem is listed.",
    429: "Too many requests; try again after `Retry-After`.",
    500: "A bug of the service.",
    503: "The store is unavailable; try again after `Retry-After`.",
}
_ALWAYS = (403, 421, 429, 500, 503)


def openapi(operations: Iterable[Operation]) -> Object:
    """The document of all HTTP operations."""
    wanted = [each for each in operations if each.method != "WEBSOCKET"]
    types = _types(wanted)
    schemas, components = msgspec.json.schema_components(
        [kind for _, kind in types], ref_template=_REFERENCE
    )
    of_type = {place: schema for (place, _), schema in zip(types, schemas, strict=True)}
    paths: dict[str, Any] = {}
    for each in wanted:
        path = _PARAMETER.sub(r"{\1}", each.path)
        paths.setdefault(path, {})[each.method.lower()] = _operation(each, of_type, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tenuto",
            "version": __version__,
            "description": "Durable workflows: every instance that has started reaches its end.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def statuses(operation: Operation) -> list[int]:
    """All statuses of an operation."""
    found = {operation.status, *operation.other_statuses, *_ALWAYS}
    has_body = operation.request is not None
    if has_body:
        found |= {400, 413, 415, 422}
    else:
        found |= {413, 422}
    if operation.query is not None:
        found.add(422)
    if "{" in operation.path:
        found.add(404)
    found.add(401)
    return sorted(found)


def _types(operations: Iterable[Operation]) -> list[tuple[tuple[str, str], Any]]:
    found: list[tuple[tuple[str, str], Any]] = [(("", "problem"), ProblemDetails)]
    for each in operations:
        for place in ("request", "query", "response"):
            kind = getattr(each, place)
            if kind is not None:
                found.append(((each.name, place), kind))
    return found


def _operation(
    operation: Operation,
    of_type: dict[tuple[str, str], dict[str, Any]],
    components: dict[str, Any],
) -> Object:
    described: Object = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "parameters": list(_parameters(operation, of_type, components)),
        "responses": {
            str(status): _response(operation, status, of_type) for status in statuses(operation)
        },
        "security": [{}] if operation.is_public else [{"bearer": []}],
    }
    if operation.permission is not None:
        described["x-permission"] = operation.permission.value
    if operation.request is not None:
        schema = of_type[operation.name, "request"]
        described["requestBody"] = {
            "required": not operation.may_be_empty,
            "content": {media: {"schema": schema} for media in operation.media},
        }
    return described


def _parameters(
    operation: Operation,
    of_type: dict[tuple[str, str], dict[str, Any]],
    components: dict[str, Any],
) -> Iterator[Object]:
    for name in _PARAMETER.findall(operation.path):
        # No record has an empty name; an empty parameter would be another path.
        schema: Object = {"type": "string", "minLength": 1}
        yield {"name": name, "in": "path", "required": True, "schema": schema}
    for header, description in operation.headers:
        yield {
            "name": header,
            "in": "header",
            "description": description,
            "schema": {"type": "string"},
        }
    if operation.is_audited:
        yield {
            "name": REASON,
            "in": "header",
            "description": "Why, for the audit log: percent-encoded UTF-8.",
            "schema": {"type": "string"},
        }
    if operation.query is not None:
        reference = of_type[operation.name, "query"]["$ref"]
        query = components[reference.rpartition("/")[2]]
        for name, field in query["properties"].items():
            yield {
                "name": name,
                "in": "query",
                "required": name in query.get("required", ()),
                "schema": field,
            }


def _response(
    operation: Operation, status: int, of_type: dict[tuple[str, str], dict[str, Any]]
) -> Object:
    described: Object = {"description": _TITLES[status]}
    if status in (204, 304):
        return described
    is_own = status == operation.status or (
        status in operation.other_statuses
        and (status < 400 or (operation.is_public and operation.request is None))
    )
    if not is_own:
        problem: JSON = of_type["", "problem"]
        described["content"] = {MEDIA: {"schema": problem}}
    elif operation.response is not None:
        schema = of_type[operation.name, "response"]
        described["content"] = {operation.response_media: {"schema": schema}}
    return described
