"""Generated requests for every documented operation, each answer held against the document."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


ENDLESS = frozenset({"stream_instance"})
"""What is answered for as long as somebody listens."""


def _leave_out_waiting(case: Case[Any]) -> None:
    """Who asks to wait for a minute does; nothing is found out by it."""
    for asked in (case.query, case.body):
        if isinstance(asked, dict) and isinstance(asked.get("wait"), int | float | str):
            del asked["wait"]


def fuzz(
    url: str,
    headers: Mapping[str, str],
    ids: Mapping[str, Mapping[str, str]],
    *,
    examples: int,
    start: int,
) -> int:
    """Ask for everything, with good and with bad requests; how many there were.

    `ids` has path parameters of things that are there, by the operation's name.
    """
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    count = 0
    with requests.Session() as session:
        session.headers.update(headers)
        for found in schema.get_all_operations():
            assert isinstance(found, Ok)
            operation = found.ok()
            name = operation.definition.raw["operationId"]
            if name in ENDLESS:
                continue
            given_ids = ids.get(name)
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                for parameters in (None, given_ids) if given_ids else (None,):
                    count += _ask(
                        session, operation, mode, parameters, examples=examples, start=start
                    )
    return count


def _ask(
    session: requests.Session,
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
    parameters: Mapping[str, str] | None,
    *,
    examples: int,
    start: int,
) -> int:
    count = 0
    chosen = None if parameters is None else dict(parameters)

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(mode, path_parameters=chosen))
    def run(case: Case[Any]) -> None:
        nonlocal count
        count += 1
        _leave_out_waiting(case)
        response = case.call(session=session, timeout=60)
        case.validate_response(response, checks=CHECKS)

    # Of some operations nothing can be wrong, since nothing is said.
    with contextlib.suppress(Unsatisfiable):
        run()
    return count
