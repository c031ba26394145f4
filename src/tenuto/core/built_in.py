"""Built-in tasks: what javascript, http and dataQuery nodes are dispatched as, and given."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from tenuto.model.graph import BuiltIn, DataQuery, Executed, Http, JavaScript, SubWorkflow, Task
from tenuto.model.json import JSON, Object
from tenuto.model.own_names import BUILT_IN

JAVASCRIPT_TASK = f"{BUILT_IN}javascript"
HTTP_TASK = f"{BUILT_IN}http"
DATA_QUERY_TASK = f"{BUILT_IN}dataQuery"

JAVASCRIPT_TIMEOUT = timedelta(seconds=30)
"""How long an attempt of a javascript node may run where its step does not say."""


def task_id_of(config: Executed) -> str:
    """The id of the task that a node runs; those of built-in tasks begin with `@`."""
    match config:
        case Task(task_id=task_id):
            return task_id
        case JavaScript():
            return JAVASCRIPT_TASK
        case Http():
            return HTTP_TASK
        case DataQuery():
            return DATA_QUERY_TASK
        case _:
            assert_never(config)


def template_of(config: Executed | SubWorkflow) -> JSON:
    """The template of what a node is given; the value of a built-in one is what is recorded."""
    match config:
        case Http():
            return _request(config)
        case DataQuery():
            return config.args or {}
        case _:
            return config.input


def has_own_input(config: Executed | SubWorkflow) -> bool:
    """Whether a node is given something else than the workflow's input."""
    return isinstance(config, Http | DataQuery) or config.has_input


def timeout_of_type(config: Executed) -> timedelta | None:
    """How long an attempt may run because of its type; None: as the plan says."""
    return JAVASCRIPT_TIMEOUT if isinstance(config, JavaScript) else None


def is_built_in(config: object) -> bool:
    """Whether a node's work is done by Tenuto itself."""
    return isinstance(config, BuiltIn)


def _request(config: Http) -> Object:
    request: Object = {"method": config.method, "url": config.url}
    for name, value in (
        ("headers", config.headers),
        ("query", config.query),
        ("body", config.body),
    ):
        if value is not None:
            request[name] = value
    if config.auth is not None:
        request["auth"] = {"type": config.auth.type, "value": config.auth.value}
    return request
