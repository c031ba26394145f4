"""The document of a request, which another process reads where it is large."""

from __future__ import annotations

from typing import Any

from tenuto.api.call import Call
from tenuto.api.large_documents.reader import UnreadDocument
from tenuto.api.named_document import named
from tenuto.api.operation import JSON_MEDIA
from tenuto.api.request_parser import refuse_media
from tenuto.model.json import JSON


async def sent_document(call: Call[Any], id: str | None = None) -> JSON | UnreadDocument:
    """The document that was sent; under `id`, where the path names it."""
    refuse_media(call.headers.get("content-type"), JSON_MEDIA)
    documents = call.service.documents
    if documents.reads(call.body):
        return documents.document(call.body, call.principal.tenant, id)
    document = await call.json()
    return document if id is None else named(document, id)
