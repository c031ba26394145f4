"""Has costly inputs checked by another process."""

from __future__ import annotations

from functools import partial

import msgspec

from tenuto.api.large_documents.asking import Asking
from tenuto.api.large_documents.messages import CheckInput, question_parts
from tenuto.model.errors import Problem
from tenuto.model.graph import Definition
from tenuto.model.json import JSON


async def check_input(
    process: Asking, definition: Definition, input: JSON, tenant: str
) -> tuple[Problem, ...]:
    """All problems of an input by the schema of a definition."""
    make = partial(_parts, definition.input_schema, input)
    return (await process.ask(make, tenant, may_refuse=False)).problems


def _parts(schema: JSON, input: JSON) -> tuple[bytes, ...]:
    encode = msgspec.json.encode
    return question_parts(CheckInput(schema=encode(schema)), encode(input))
