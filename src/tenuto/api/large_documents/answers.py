"""Has tracebacks taken out of large answers by another process."""

from __future__ import annotations

from functools import partial

from tenuto.api.large_documents.asking import Asking
from tenuto.api.large_documents.messages import HideTracebacks, question_parts
from tenuto.model.tracebacks import may_have_tracebacks, text_without_tracebacks

LARGE = 20_000
"""Bytes. A smaller answer takes less than two milliseconds, of whatever it is made."""


async def answer_without_tracebacks(process: Asking, text: bytes, tenant: str) -> bytes:
    """JSON without the tracebacks of the failures in it; Overloaded where too many wait."""
    if len(text) < LARGE or not may_have_tracebacks(text):
        return text_without_tracebacks(text)
    make = partial(question_parts, HideTracebacks(), text)
    return (await process.ask(make, tenant, may_refuse=True)).text
