"""Has tracebacks taken out of large answers by another process."""

from __future__ import annotations

from functools import partial

from tenuto.api.large_documents.asking import Asking
from tenuto.api.large_documents.messages import HideTracebacks, question_parts
from tenuto.model.errors import TenutoError, may_be_written
from tenuto.model.tracebacks import may_have_tracebacks, text_without_tracebacks

LARGE = 20_000
"""Bytes. A smaller answer takes less than two milliseconds, of whatever it is made."""


async def answer_without_tracebacks(
    process: Asking, text: bytes, tenant: str, *, is_change: bool
) -> bytes:
    """JSON without the tracebacks of the failures in it; TenutoError where it cannot be had.

    `is_change`: the request may have changed something, so that its refusal must not say that it
    did not.
    """
    if len(text) < LARGE or not may_have_tracebacks(text):
        return text_without_tracebacks(text)
    make = partial(question_parts, HideTracebacks(), text)
    try:
        return (await process.ask(make, tenant, may_refuse=True)).text
    except TenutoError as error:
        if not is_change:
            raise
        raise may_be_written(f"the answer cannot be shown: {error.message}") from error
