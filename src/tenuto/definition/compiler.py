"""Checks a document and compiles it: every form to one graph, every problem at once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from tenuto.definition.code_places import CodePlace
from tenuto.definition.compensation import read_compensation
from tenuto.definition.dependency_form import is_dependency_form, read_dependencies
from tenuto.definition.draft import Draft, DraftNode
from tenuto.definition.event_triggers import read_cancellation_triggers, read_triggers
from tenuto.definition.expressions import BASE, ITERATION, check_expression
from tenuto.definition.fields import Field, Fields, is_array, is_object
from tenuto.definition.flow import check_bodies, check_flow
from tenuto.definition.graph_form import read_graph
from tenuto.definition.joins import check_joins
from tenuto.definition.json_check import is_sound
from tenuto.definition.options import OPTIONS, refuse_searchable
from tenuto.definition.plain_kinds import (
    OWN_WORKFLOW,
    Anything,
    Id,
    Text,
    refuse_own_workflow,
)
from tenuto.definition.references import References
from tenuto.definition.report import Place, Report
from tenuto.definition.schemas import Schema
from tenuto.definition.settings import COMMON, readable_fields
from tenuto.definition.shape import Flow
from tenuto.definition.steps_form import WRITTEN_BESIDE, read_steps
from tenuto.model.errors import InvalidDefinition, Problem
from tenuto.model.graph import Config, Definition, Edge, Graph, Node, Options
from tenuto.model.json import JSON, Object
from tenuto.model.policy import EVENTS_KEPT

MOST_NODES = 20_000
MOST_EDGES = 100_000
MOST_EXPRESSION_CHARACTERS = 1_000_000
"""Of all expressions and templates together, 20 more for each: reading takes some microseconds."""

LATER_RULES = frozenset(
    {"TEN-1025", "TEN-1036", "TEN-1054", "TEN-1056", "TEN-1063", "TEN-1601", "TEN-1602", "TEN-1603"}
)
"""Problems that are refused only in new definitions: those saved before these rules still run."""

_DEFINITION_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}\Z")


class Checked(Struct, frozen=True, kw_only=True):
    """The result of checking a document: every problem, and the definition if it has no errors."""

    definition: Definition | None
    problems: tuple[Problem, ...]
    code: tuple[CodePlace, ...] = ()
    """The code in it, which only a sandbox can parse: see `definition/code_places.py`."""

    def with_problems(self, found: Iterable[Problem]) -> Checked:
        """The same with further problems, of which an error refuses it."""
        more = tuple(found)
        is_refused = any(each.severity == "error" for each in more)
        definition = None if is_refused else self.definition
        return replace(self, definition=definition, problems=(*self.problems, *more))


class DefinitionId(Id):
    """The id of a definition."""

    def __init__(self) -> None:
        super().__init__(_DEFINITION_ID, "the id of a definition")

    def read(self, value: JSON, place: Place) -> object:
        if isinstance(value, str):
            refuse_own_workflow(value, place)
        return super().read(value, place)

    def schema(self) -> Object:
        return {**super().schema(), "not": OWN_WORKFLOW}


TOP = Fields(
    # Editors find the JSON Schema of the format by it.
    Field("$schema", "schema", Text()),
    Field("id", "id", DefinitionId()),
    Field("name", "name", Text(may_be_empty=True)),
    Field("title", "title", Text(may_be_empty=True)),
    Field("description", "description", Text(may_be_empty=True)),
    Field("inputSchema", "input_schema", Schema()),
    Field("steps", "steps", Anything()),
    Field("nodes", "nodes", Anything()),
    Field("edges", "edges", Anything()),
    Field("compensationSteps", "compensation_steps", Anything()),
    Field("cancellationTriggers", "cancellation_triggers", Anything()),
    Field("triggers", "triggers", Anything()),
    Field("options", "options", OPTIONS),
    Field("workflowOptions", "workflow_options", OPTIONS),
)


def compile_definition(
    document: JSON, *, fallback_id: str = "workflow", is_saved: bool = False
) -> Definition:
    """The definition of a document; InvalidDefinition with every problem if it is not valid.

    A definition that `is_saved` was already checked, by the rules of its time.
    """
    checked = check(document, fallback_id=fallback_id, is_saved=is_saved)
    if checked.definition is None:
        raise invalid_definition(checked.problems)
    return checked.definition


def invalid_definition(problems: Iterable[Problem]) -> InvalidDefinition:
    """The error for a document with these problems; it lists no warnings."""
    errors = [each for each in problems if each.severity == "error"]
    count = f"{len(errors)} problems" if len(errors) != 1 else "a problem"
    return InvalidDefinition(f"the definition has {count}", errors)


def check(
    document: JSON,
    *,
    fallback_id: str = "workflow",
    is_saved: bool = False,
    events_kept: timedelta = EVENTS_KEPT,
) -> Checked:
    """All problems of a document, and its definition if there are none.

    `fallback_id` is the id of a definition that names none. One that `is_saved` is checked only by
    the rules of its time. `events_kept`: for how long events are kept.
    """
    # One that is saved was read before, and is needed.
    characters = math.inf if is_saved else MOST_EXPRESSION_CHARACTERS
    report = Report(events_kept, characters=characters, is_saved=is_saved)
    root = Place("$", report, BASE)
    definition: Definition | None = None
    if is_sound(document, root) and is_object(document, root):
        definition = _compile(document, root, fallback_id, is_saved=is_saved)
    is_refused = report.has_errors and not (is_saved and _breaks_later_rules_only(report))
    return Checked(
        definition=None if is_refused else definition,
        problems=report.problems,
        code=tuple(CodePlace(path, code) for path, code in report.code.items()),
    )


def _breaks_later_rules_only(report: Report) -> bool:
    errors = (problem for problem in report.problems if problem.severity == "error")
    return not report.is_full and all(problem.code in LATER_RULES for problem in errors)


def _compile(
    document: Object, root: Place, fallback_id: str, *, is_saved: bool
) -> Definition | None:
    top = TOP.read(document, root) or {}
    for first, second in (("name", "title"), ("options", "workflowOptions")):
        if first in document and second in document:
            root.at(second).wrong("TEN-1019", f"`{first}` is given too")
    draft = _read_form(document, root)
    if draft is not None and len(draft.edges) > MOST_EDGES:
        root.wrong("TEN-1004", f"{len(draft.edges)} edges are more than {MOST_EDGES}")
        return None
    flow = None if draft is None else Flow(draft)
    graph = None if draft is None or flow is None else _compile_graph(draft, flow)
    names = [] if draft is None else [node.id for node in draft.nodes]
    undo = read_compensation(
        document.get("compensationSteps", []), names, root.at("compensationSteps")
    )
    cancelling = read_cancellation_triggers(
        document.get("cancellationTriggers", []), root.at("cancellationTriggers")
    )
    starting = read_triggers(document.get("triggers", []), root.at("triggers"))
    if draft is None or flow is None or graph is None:
        return None
    options = cast("Options", top.get("options", top.get("workflow_options", Options())))
    if not is_saved:
        # Later rules; one that is saved need not be looked at again.
        check_bodies(draft)
        schema = document.get("inputSchema")
        References(draft, flow, schema).check(root.report.references)
        refuse_searchable(
            options, root.at("options" if "options" in document else "workflowOptions")
        )
    return Definition(
        id=cast("str", top.get("id", fallback_id)),
        graph=graph,
        spelling=draft.form,
        name=cast("str | None", top.get("name", top.get("title"))),
        description=cast("str | None", top.get("description")),
        input_schema=cast("JSON", top.get("input_schema")),
        options=options,
        compensation_steps=undo,
        cancellation_triggers=cancelling,
        triggers=starting,
    )


def _read_form(document: Object, root: Place) -> Draft | None:
    """The draft of a document in any form; None if it has neither steps nor nodes."""
    if "steps" in document:
        for name in ("nodes", "edges"):
            if name in document:
                root.at(name).wrong("TEN-1019", "the workflow is written as `steps` already")
        steps, place = document["steps"], root.at("steps")
        if not is_array(steps, place) or not _has_fair_size(steps, place):
            return None
        return (read_dependencies if is_dependency_form(steps) else read_steps)(steps, place)
    if "nodes" not in document:
        root.wrong("TEN-1006", "there are neither `steps` nor `nodes`")
        return None
    nodes, place = document["nodes"], root.at("nodes")
    edges = document.get("edges", [])
    nodes_fit = is_array(nodes, place) and _has_fair_size(nodes, place)
    if not is_array(edges, root.at("edges")) or not nodes_fit:
        return None
    return read_graph(cast("list[JSON]", nodes), edges, place, root.at("edges"))


def _has_fair_size(items: list[JSON], place: Place) -> bool:
    if not items:
        place.wrong("TEN-1017", "there is no step", "Add at least one.")
    elif len(items) > MOST_NODES:
        place.wrong("TEN-1004", f"{len(items)} nodes are more than {MOST_NODES}")
    return 0 < len(items) <= MOST_NODES


def _compile_graph(draft: Draft, flow: Flow) -> Graph:
    arrows, shape, around = flow.arrows, flow.shape, flow.around
    check_flow(draft, arrows, shape, around)
    required = {name: len(edges) for name, edges in arrows.incoming.items()}
    compiled: dict[str, tuple[DraftNode, Node]] = {}
    for drafted in draft.nodes:
        node = _compile_node(drafted, around, required)
        if node is not None and not drafted.duplicate:
            compiled[node.id] = (drafted, node)
    check_joins(compiled, arrows, shape, around)
    return Graph(
        nodes=tuple(node for _, node in compiled.values()),
        edges=tuple(
            Edge(source=edge.source, target=edge.target, handle=edge.handle) for edge in draft.edges
        ),
        starts=shape.starts,
    )


def _compile_node(
    draft: DraftNode, around: Mapping[str, str | None], required: Mapping[str, int]
) -> Node | None:
    """The node, or None if a required setting is unusable."""
    place = draft.settings_place.of_step(draft.id)
    if around.get(draft.id) is not None:
        place = place.seeing(ITERATION)
    for source, there in draft.unchecked:
        check_expression(source, there.seeing(place.roots).of_step(draft.id))
    if draft.row is None:
        known = {key: value for key, value in draft.settings.items() if key in COMMON.by_name}
        COMMON.read(known, place)
        return None
    fields = readable_fields(draft.row, has_routes=draft.place is not draft.settings_place)
    is_step = draft.place is draft.settings_place
    found = fields.read(draft.settings, place, beside=WRITTEN_BESIDE if is_step else ())
    draft.row.rules(draft.settings, place)
    if found is None:
        return None
    draft.row.finish(found, draft.settings)
    own = draft.row.fields.attributes
    config = draft.row.make(**{key: value for key, value in found.items() if key in own})
    settings: dict[str, object] = {"conditions": draft.conditions, "on_error": draft.on_error}
    settings.update((key, value) for key, value in found.items() if key not in own)
    if draft.required_edges and settings.get("at_least") is None:
        settings["at_least"] = min(draft.required_edges, required.get(draft.id, 0)) or None
    return Node(id=draft.id, config=cast("Config", config), **settings)  # type: ignore[arg-type]
