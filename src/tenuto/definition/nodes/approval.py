"""approval: waits for a person."""

from __future__ import annotations

from typing import cast

from tenuto.definition.fields import UNUSABLE, Field, Fields, Record, is_object
from tenuto.definition.language_kinds import Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import ListOf
from tenuto.definition.report import Place
from tenuto.definition.schemas import Schema
from tenuto.definition.time_kinds import Length
from tenuto.model.durations import Duration
from tenuto.model.graph import TIMEOUT, Approval, Escalation
from tenuto.model.json import JSON, Object

_PEOPLE = ListOf(Template("text"), least=1)
_ASSIGNEES = Fields(Field("users", "users", _PEOPLE), Field("roles", "roles", _PEOPLE))


_SAY_WHO = 'Say who may decide, for example `{"users": ["ann"], "roles": ["manager"]}`.'


class Assignees:
    """`{users?, roles?}`, at least one of them; kept as written."""

    def read(self, value: JSON, place: Place) -> object:
        if not is_object(value, place, advice=_SAY_WHO):
            return UNUSABLE
        _ASSIGNEES.read(value, place)
        if not {"users", "roles"} & set(value):
            place.wrong(
                "TEN-1018",
                "no one could decide: `users` or `roles` is needed",
                _SAY_WHO,
            )
            return UNUSABLE
        return value

    def write(self, value: object) -> JSON:
        return cast("JSON", value)

    def schema(self) -> Object:
        return {
            **_ASSIGNEES.schema(),
            "anyOf": [{"required": ["users"]}, {"required": ["roles"]}],
        }


class Ahead(Length):
    """A duration above zero: people need time."""

    def read(self, value: JSON, place: Place) -> object:
        length = super().read(value, place)
        if isinstance(length, Duration) and not length.months and not length.span:
            place.wrong("TEN-1015", "the duration is zero", "Write for example `P3D`.")
            return UNUSABLE
        return length


_ESCALATION = Fields(
    Field("after", "after", Ahead(), required=True),
    Field("assignees", "assignees", Assignees(), required=True),
)

APPROVAL = NodeType(
    tag="approval",
    step="APPROVAL",
    make=Approval,
    fields=Fields(
        Field("assignees", "assignees", Assignees(), required=True),
        Field("formSchema", "form_schema", Schema()),
        Field("deadline", "deadline", Ahead()),
        Field("reminders", "reminders", ListOf(Ahead())),
        Field("escalate", "escalate", Record(Escalation, _ESCALATION)),
    ),
    handles=lambda _: ("approved", "rejected", TIMEOUT),
    has_own_handles=lambda _: True,
)
