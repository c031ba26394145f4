"""The OpenAPI document, and a page that shows it."""

from __future__ import annotations

from functools import lru_cache

import msgspec
from starlette.responses import HTMLResponse, Response

from tenuto.api.call import Call, NoQuery
from tenuto.api.docs_page import docs_page
from tenuto.api.openapi import openapi as describe
from tenuto.api.operation import Operation, Resource
from tenuto.definition.json_schema import definition_schema
from tenuto.model.json import JSON

DOCUMENTS = Resource("", tag="documents")

_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


@DOCUMENTS.get("/openapi.json", response=dict[str, JSON], is_public=True)
async def openapi(call: Call[NoQuery]) -> Response:
    """The OpenAPI 3.1 document of the service."""
    return Response(_document(call.service.operations), media_type="application/json")


@DOCUMENTS.get("/workflow.schema.json", response=dict[str, JSON], is_public=True)
async def workflow_schema(_: Call[NoQuery]) -> Response:
    """The JSON Schema of workflow definitions, for editors."""
    return Response(msgspec.json.encode(definition_schema()), media_type="application/schema+json")


@DOCUMENTS.get("/docs", response=str, is_public=True, response_media="text/html")
async def docs(call: Call[NoQuery]) -> Response:
    """A page with all operations."""
    page = docs_page(call.service.operations)
    return HTMLResponse(page, headers={"content-security-policy": _PAGE_POLICY})


@lru_cache(maxsize=4)
def _document(operations: tuple[Operation, ...]) -> bytes:
    return msgspec.json.encode(describe(operations))
