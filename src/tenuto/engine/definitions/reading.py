"""What saving and validating need to know of a document, without the document.

It is read where requests are served, or in another process (`api/documents`), whose answer it is.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from tenuto.definition import check
from tenuto.definition.calendar_places import CalendarPlace, calendar_places
from tenuto.definition.code_places import CodePlace
from tenuto.definition.query_places import QueryPlace, query_places
from tenuto.definition.secret_places import SecretUse, secret_places
from tenuto.definition.slug import slug
from tenuto.definition.task_places import TaskPlace, task_places
from tenuto.engine.definitions.listener_rows import listener_of, taken_patterns
from tenuto.engine.definitions.trigger_rows import trigger_rows
from tenuto.model.errors import Problem
from tenuto.model.graph import Definition, SubWorkflow
from tenuto.model.json import JSON
from tenuto.store.parts.listeners import Listener
from tenuto.store.parts.waits import WaitRow


class Version(Struct, frozen=True, kw_only=True):
    """A version of a definition that is about to be stored, and what is stored beside it."""

    id: str
    content: bytes
    """As its author wrote it."""
    digest: bytes
    listener: Listener | None
    triggers: list[WaitRow]
    children: list[tuple[str, int | None]]
    """The workflows that its steps start; without a version the newest."""
    sealed_patterns: tuple[str, ...] | None = None
    """The events that it waits for, if what it stores is encrypted; None: it is not."""


class Reading(Struct, frozen=True, kw_only=True):
    """What is known of a document."""

    is_valid: bool
    problems: tuple[Problem, ...]
    """With what this version of the program does not run, as warnings."""
    has_id: bool
    id: str | None
    """Its own, where that is text."""
    slug: str
    """An id made of its name."""
    digest: bytes
    version: Version | None
    """None where it cannot be saved."""
    tasks: list[TaskPlace]
    """The first place of each task that it names."""
    calendars: list[CalendarPlace]
    """The first place of each calendar that it names."""
    queries: list[QueryPlace]
    """The first place of each data query that it names."""
    secrets: list[SecretUse]
    """The first place of each secret that it names."""
    code: list[CodePlace]
    """The code in it, which is not parsed yet."""


def read_document(
    document: JSON,
    *,
    tenant: str,
    now: datetime,
    events_kept: timedelta,
    is_saved: bool = False,
) -> Reading:
    """Check a document. One that `is_saved` can be saved again if it was valid in its time."""
    checked = check(document, events_kept=events_kept)
    definition = checked.definition
    if definition is None and is_saved:
        definition = check(document, is_saved=True).definition
    given = document if isinstance(document, dict) else {}
    id = given.get("id")
    return Reading(
        is_valid=checked.definition is not None,
        problems=checked.problems,
        has_id="id" in given,
        id=id if isinstance(id, str) else None,
        slug=slug(document),
        digest=digest_of(document),
        version=None if definition is None else version_of(document, definition, tenant, now),
        tasks=[] if definition is None else _first_places(definition),
        calendars=[] if definition is None else calendar_places(definition),
        queries=[] if definition is None else query_places(definition),
        secrets=[] if definition is None else secret_places(definition),
        code=list(checked.code),
    )


def version_of(document: JSON, definition: Definition, tenant: str, now: datetime) -> Version:
    """The version that a document makes, which was compiled to `definition`."""
    digest = digest_of(document)
    children = {
        (node.config.workflow_id, node.config.version)
        for node in definition.graph.nodes
        if isinstance(node.config, SubWorkflow)
    }
    return Version(
        id=definition.id,
        content=msgspec.json.encode(document),
        digest=digest,
        listener=listener_of(definition, digest, now, tenant),
        triggers=trigger_rows(definition, tenant, now),
        children=sorted(children, key=str),
        sealed_patterns=(
            tuple(sorted(taken_patterns(definition))) if definition.options.encrypt else None
        ),
    )


def digest_of(document: JSON) -> bytes:
    """What tells whether a document is the same as another, in whatever order its fields are."""
    return hashlib.sha256(msgspec.json.encode(document, order="deterministic")).digest()


def _first_places(definition: Definition) -> list[TaskPlace]:
    places: dict[str, TaskPlace] = {}
    for place in task_places(definition):
        places.setdefault(place.task_id, place)
    return list(places.values())
