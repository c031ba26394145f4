"""The registry: every operation says who may ask, what it takes and what it answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from tenuto.access.permissions import Permission
from tenuto.api import operations as package
from tenuto.api.call import Call, NoQuery
from tenuto.api.openapi import openapi, statuses
from tenuto.api.operation import Resource
from tenuto.api.paging import Page, PageQuery
from tenuto.api.registry import MODULES, OPERATIONS, PUBLIC, is_reachable, operations_of
from tenuto.api.routes import Routes
from tenuto.model.json import Object
from tests.api.conftest import Serve

DOCUMENT = openapi(OPERATIONS)


def test_every_operation_says_who_may_ask() -> None:
    everything = operations_of(MODULES)
    assert everything == OPERATIONS
    for each in everything:
        assert each.summary.endswith("."), each.name
        assert (each.permission is None) == each.is_public, each.name
        assert each.tag, each.name
        is_change = each.method not in ("GET", "WEBSOCKET") and each.name not in (
            *("validate_workflow", "shape_widget", "preview_schedule_document"),
            *("add_working_time", "get_working_time"),
        )
        # What becomes of an attempt stands in its instance's own log.
        is_of_attempt = each.tag in ("executions", "internal") and each.name != "register_worker"
        assert each.is_audited == (is_change and not is_of_attempt), each.name
        assert set(statuses(each)) >= {each.status, 401, 403, 429, 503}, each.name
    assert {each.name for each in everything if each.is_public} == PUBLIC
    assert len({each.name for each in everything}) == len(everything)
    assert len({(each.method, each.path) for each in everything}) == len(everything)


def test_every_module_of_operations_is_found() -> None:
    folder = Path(package.__file__ or "").parent
    found = {each.__name__.rpartition(".")[2] for each in MODULES}
    assert found == {path.stem for path in folder.glob("[!_]*.py")}


def test_what_declares_no_permission_cannot_be_reached() -> None:
    async def handler(call: Call[NoQuery]) -> None:
        """Do nothing."""

    silent = Resource("/api/v1/silent", tag="x").get()(handler)
    boastful = Resource("/api/v1/me", tag="x").get(is_public=True)(handler)
    honest = Resource("/api/v1/x", tag="x", read=Permission.STATS_READ).get()(handler)
    assert [is_reachable(each) for each in (silent, boastful, honest)] == [False, False, True]


def test_a_handler_declares_its_types_once() -> None:
    resource = Resource("/api/v1/notes", tag="notes", read=Permission.STATS_READ)

    async def list_notes(call: Call[PageQuery]) -> Page[int]:
        """List notes."""
        raise NotImplementedError

    async def get_note(call: Call[NoQuery]) -> Object:
        """Get a note."""
        raise NotImplementedError

    listed = resource.get()(list_notes)
    facts = listed.name, listed.path, listed.summary, listed.query, listed.response, listed.status
    assert facts == ("list_notes", "/api/v1/notes", "List notes.", PageQuery, Page[int], 200)
    with pytest.raises(AssertionError, match="get_note: response"):
        resource.get("/{id}")(get_note)
    assert resource.get("/{id}", response=int)(get_note).response is int


def test_fixed_words_go_before_parameters() -> None:
    routes = Routes(OPERATIONS)
    found = routes.find("POST", "/api/v1/workflows/validate")
    assert found is not None
    assert found.operation.name == "validate_workflow"
    found = routes.find("GET", "/api/v1/workflows/validate")
    assert found is not None
    assert (found.operation.name, found.path) == ("get_workflow", {"id": "validate"})
    found = routes.find("GET", "/api/v1/instances/i/variables/a.b/c")
    assert found is not None
    assert found.path == {"id": "i", "path": "a.b/c"}


@pytest.mark.parametrize("public", sorted(PUBLIC))
def test_no_other_path_is_public_because_it_ends_like_one(public: str) -> None:
    """Exemptions are route objects, not strings."""
    routes = Routes(OPERATIONS)
    path = next(each.path for each in OPERATIONS if each.name == public)
    for around in (f"/api/v1/workflows{path}", f"/api/v1/instances/x{path}", f"/x{path}"):
        found = routes.find("GET", around)
        assert found is None or not found.operation.is_public


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref":
                yield inner
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def test_the_openapi_document_is_whole() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    components = DOCUMENT["components"]
    assert isinstance(components, dict)
    schemas = components["schemas"]
    assert isinstance(schemas, dict)
    for reference in _references(DOCUMENT):
        assert reference.removeprefix("#/components/schemas/") in schemas
    paths = DOCUMENT["paths"]
    assert isinstance(paths, dict)
    described = {
        (method.upper(), path): found
        for path, item in paths.items()
        if isinstance(item, dict)
        for method, found in item.items()
    }
    requests = [each for each in OPERATIONS if each.method != "WEBSOCKET"]
    assert len(described) == len(requests)
    for (_, path), found in described.items():
        assert isinstance(found, dict)
        parameters = found["parameters"]
        assert isinstance(parameters, list)
        named = {each["name"] for each in parameters if each["in"] == "path"}  # type: ignore[call-overload, index]
        assert named == {word[1:-1] for word in path.split("/") if word.startswith("{")}
        assert found["responses"]
        assert json.loads(json.dumps(found)) == found


def test_headers_that_are_read_are_described() -> None:
    paths: Any = DOCUMENT["paths"]
    described = {
        found["operationId"]: {
            each["name"] for each in found["parameters"] if each["in"] == "header"
        }
        for item in paths.values()
        for found in item.values()
    }
    for name in ("start_bulk", "start_bulk_of_dead_letters", "start_workflow", "rerun_instance"):
        assert described[name] == {"Idempotency-Key", "Tenuto-Reason"}
    assert described["stream_instance"] == {"Last-Event-ID"}


def test_the_openapi_document_is_one_by_the_specification() -> None:
    OPENAPI_31_VALIDATOR.validate(json.loads(json.dumps(DOCUMENT)))
    broken = json.loads(json.dumps(DOCUMENT))
    broken["paths"]["/api/v1/events"]["post"]["responses"] = []
    assert not OPENAPI_31_VALIDATOR.is_valid(broken)


def test_schemas_are_such_as_json_schema_knows() -> None:
    components = DOCUMENT["components"]
    assert isinstance(components, dict)
    dialect = "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate({"$schema": dialect, "$defs": components["schemas"]})


@pytest.mark.asyncio
async def test_the_document_and_its_page_need_nobody_else(serve: Serve) -> None:
    async with serve() as call:
        document = await call.get("/openapi.json")
        assert document.json == json.loads(json.dumps(DOCUMENT))
        page = await call.get("/docs")
        assert page.headers["content-type"].startswith("text/html")
        assert "https://" not in page.text
        assert "<script" not in page.text
        assert "/api/v1/instances/{id}/cancel" in page.text


def test_a_permission_is_asked_for_by_name() -> None:
    names = {each.permission for each in OPERATIONS if each.permission is not None}
    assert names <= set(Permission)
