"""What the service says of itself: its OpenAPI document, and a page that shows it."""

from __future__ import annotations

from functools import lru_cache

import msgspec
from starlette.responses import HTMLResponse, Response

from tenuto.api.call import Call, NoQuery
from tenuto.api.docs_page import docs_page
from tenuto.api.openapi import openapi as describe
from tenuto.api.operation import Operation, operation
from tenuto.model.json import JSON

_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


@operation(
    "GET",
    "/openapi.json",
    summary="The OpenAPI 3.1 document of the service.",
    tag="documents",
    is_public=True,
    response=dict[str, JSON],
)
async def openapi(call: Call[NoQuery]) -> Response:
    return Response(_document(call.service.operations), media_type="application/json")


@operation(
    "GET",
    "/docs",
    summary="A page with all that can be asked for.",
    tag="documents",
    is_public=True,
    response=str,
    response_media="text/html",
)
async def docs(call: Call[NoQuery]) -> Response:
    page = docs_page(call.service.operations)
    return HTMLResponse(page, headers={"content-security-policy": _PAGE_POLICY})


@lru_cache(maxsize=4)
def _document(operations: tuple[Operation, ...]) -> bytes:
    return msgspec.json.encode(describe(operations))
