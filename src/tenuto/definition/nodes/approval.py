"""approval: waits for a person."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from tenuto.definition.fields import UNUSABLE, Field, Fields, Record, is_object
from tenuto.definition.language_kinds import Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import ListOf
from tenuto.definition.report import Place
from tenuto.definition.schemas import Schema
from tenuto.definition.time_kinds import CalendarId, InCalendar, Length, beside_calendar
from tenuto.model.durations import Duration
from tenuto.model.graph import TIMEOUT, Approval, Escalation, PlainLength
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


_AHEAD = InCalendar(Ahead(), may_be_zero=False)


class After(Ahead):
    """The same, of an escalation, which names its calendar beside it."""

    def write(self, value: object) -> JSON:
        return _AHEAD.write(value)


class Escalate(Record):
    """`{after, assignees, calendar?}`."""

    def read(self, value: JSON, place: Place) -> object:
        found = super().read(value, place)
        if not isinstance(found, Escalation) or found.calendar is None:
            return found
        return in_working_time(found, value)


def in_working_time(escalation: Escalation, value: JSON) -> Escalation:
    """An escalation that is counted in working time, read from `value`."""
    assert isinstance(value, dict)
    after = beside_calendar(value["after"], escalation.after)
    return replace(escalation, after=cast("PlainLength", after))


def _finish(found: dict[str, object], settings: Object) -> None:
    """Count all durations in the calendar of the approval, but those that name another."""
    if "calendar" not in found:
        return
    if "deadline" in found:
        found["deadline"] = beside_calendar(settings["deadline"], found["deadline"])
    if "reminders" in found:
        pairs = zip(
            cast("list[JSON]", settings["reminders"]),
            cast("tuple[object, ...]", found["reminders"]),
            strict=True,
        )
        found["reminders"] = tuple(beside_calendar(value, read) for value, read in pairs)
    if isinstance(escalation := found.get("escalate"), Escalation):
        found["escalate"] = in_working_time(escalation, settings["escalate"])


_ESCALATION = Fields(
    Field("after", "after", After(), required=True),
    Field("assignees", "assignees", Assignees(), required=True),
    Field("calendar", "calendar", CalendarId()),
)

APPROVAL = NodeType(
    tag="approval",
    step="APPROVAL",
    make=Approval,
    fields=Fields(
        Field("assignees", "assignees", Assignees(), required=True),
        Field("formSchema", "form_schema", Schema()),
        Field("deadline", "deadline", _AHEAD),
        Field("reminders", "reminders", ListOf(_AHEAD)),
        Field("escalate", "escalate", Escalate(Escalation, _ESCALATION)),
        Field("calendar", "calendar", CalendarId()),
    ),
    handles=lambda _: ("approved", "rejected", TIMEOUT),
    has_own_handles=lambda _: True,
    finish=_finish,
)
