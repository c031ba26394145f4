"""Has large documents read by another process."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from tenuto.api.large_documents.asking import Asking
from tenuto.api.large_documents.messages import ReadDocument, question_parts
from tenuto.engine.definitions.reading import Reading
from tenuto.ports import Clock

_SCHEMA = b'Schema"'
_TIMES = 10
"""Documents with schemas count so many times: a schema of 10,000 bytes is compiled in one call, and
that may take 45 ms."""


class DocumentReader:
    """Reads large documents of requests."""

    def __init__(
        self, process: Asking, clock: Clock, *, large: int, events_kept: timedelta
    ) -> None:
        """`large`: from how many bytes on; `events_kept`: for how long events are kept."""
        self._process = process
        self._clock = clock
        self._large = large
        self._events_kept = events_kept

    def reads(self, body: bytes) -> bool:
        """Whether it reads a document of a request: others are read where requests are served."""
        size = len(body)
        return size >= self._large or (size * _TIMES >= self._large and _SCHEMA in body)

    def document(self, body: bytes, tenant: str, id: str | None = None) -> UnreadDocument:
        """A document of a request; `id`: the one that it must have."""
        return UnreadDocument(self, body, tenant, id)

    async def read(
        self, body: bytes, tenant: str, id: str | None, *, is_saved: bool = False
    ) -> Reading:
        """What is known of a document; Overloaded, or why it is refused."""
        question = ReadDocument(
            tenant=tenant,
            now=self._clock.now(),
            events_kept=self._events_kept,
            id=id,
            is_saved=is_saved,
        )
        make = partial(question_parts, question, body)
        answer = await self._process.ask(make, tenant, may_refuse=True)
        assert answer.reading is not None
        return answer.reading


class UnreadDocument:
    """A large document of a request."""

    def __init__(self, reader: DocumentReader, body: bytes, tenant: str, id: str | None) -> None:
        self._reader = reader
        self._body = body
        self._tenant = tenant
        self._id = id

    async def read(self, *, id: str | None = None, is_saved: bool = False) -> Reading:
        """Read it, under its own id or this one."""
        return await self._reader.read(self._body, self._tenant, id or self._id, is_saved=is_saved)
