"""condition: takes one of several branches, or all that are true."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields, Record
from tenuto.definition.language_kinds import Expression, OwnHandle
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.nodes.rules import distinct_ids
from tenuto.definition.plain_kinds import ListOf, OneOf
from tenuto.model.graph import ELSE, Branch, Condition

_BRANCH = Fields(
    Field("id", "id", OwnHandle(), required=True),
    Field("when", "when", Expression(), required=True),
)


def _branch_ids(condition: Condition) -> tuple[str, ...]:
    return tuple(branch.id for branch in condition.branches)


CONDITION = NodeType(
    tag="condition",
    step="CONDITION",
    make=Condition,
    fields=Fields(
        Field("branches", "branches", ListOf(Record(Branch, _BRANCH), least=1), required=True),
        Field("select", "select", OneOf("first", "all")),
    ),
    handles=lambda condition: (*_branch_ids(condition), ELSE),
    together=lambda condition: _branch_ids(condition) if condition.select == "all" else (),
    rules=lambda settings, place: distinct_ids(settings, "branches", place),
    has_own_handles=lambda _: True,
)
