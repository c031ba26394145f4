"""An approval continues when it is approved; a test of the decision lets it continue either way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tenuto import (
    Escalate,
    InvalidInput,
    WorkflowFunction,
    approval,
    for_each,
    one_of,
    otherwise,
    when,
    workflow,
)
from tenuto.testing import Engine
from tests.python_form.graphs import described, from_nodes, node, traced
from tests.python_form.shop import Order, notify, send, tidy

ONE: Any = {"atLeast": 1}


@dataclass
class Note:
    text: str


def test_an_approval_is_the_node_of_json_with_a_way_for_each_outcome() -> None:
    @workflow
    def flow(order: Order) -> None:
        review = approval(
            users=[order["manager"]],
            roles="finance",
            form=Note,
            deadline="P5D",
            reminders=["P1D", "P3D"],
            escalate=Escalate(after="P4D", roles=["board"]),
            on_rejected=lambda decision: notify(decision["form"]["text"]),
            on_timeout=tidy,
            title="Review",
        )
        send(order, review.by)

    people: Any = {"users": ["{{ctx.input.manager}}"], "roles": ["finance"]}
    further: Any = {"after": "P4D", "assignees": {"roles": ["board"]}}
    form: Any = {
        "$ref": "#/$defs/Note",
        "$defs": {
            "Note": {
                "title": "Note",
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            }
        },
    }
    sent: Any = {"boxes": "{{ctx.input}}", "approval": "{{ctx.review.by}}"}
    review: Any = {
        "assignees": people,
        "formSchema": form,
        "deadline": "P5D",
        "reminders": ["P1D", "P3D"],
        "escalate": further,
        "outputVariable": "review",
    }
    assert described(flow) == from_nodes(
        [
            {"id": "review", "type": "approval", "name": "Review", "config": review},
            traced("notify", "notify", "{{ctx.review.form.text}}", joinMode=ONE),
            node("tidy", "task", taskId="tidy", outputVariable="tidy", joinMode=ONE),
            traced("send", "send", sent, joinMode=ONE),
        ],
        "review.rejected > notify",
        "review.timeout > tidy",
        "review.approved > send",
    )


@workflow("approvals.untested")
def untested(order: Order) -> object:
    approval(users="ann")
    return notify("paid")


@workflow("approvals.handled")
def handled(order: Order) -> object:
    review = approval(
        users="ann", deadline="P1D", on_rejected=notify, on_timeout=lambda: notify("late")
    )
    return notify(review.by)


@workflow("approvals.explicit")
def explicit(order: Order) -> object:
    review = approval(users="ann", deadline="P1D")
    with when(review.approved):
        yes = notify("yes")
    with otherwise(review.timed_out):
        late = notify("late")
    with otherwise():
        no = notify("no")
    return {"is": one_of(yes, no, late), "decision": review.decision}


@workflow("approvals.in_text")
def in_text(order: Order) -> object:
    review = approval(users="ann")  # noqa: F841 - named in text
    with when("ctx.review.decision === 'approved'"):
        yes = notify("yes")
    with otherwise():
        no = notify("no")
    return one_of(yes, no)


@workflow("approvals.unexpected")
def unexpected(order: Order) -> object:
    review = approval(users="ann", deadline="P1D")
    with when(review.approved):
        yes = notify("yes")
    return {"is": yes}


@workflow("approvals.joined")
def joined(order: Order) -> object:
    with when("ctx.input.large"):
        asked = approval(users="ann")
    with otherwise():
        auto = notify({"by": "nobody"})
    return {"by": one_of(asked, auto)["by"]}  # type: ignore[index]


@workflow("approvals.each")
def each(orders: list[str]) -> object:
    reviews = for_each(orders)
    with reviews as order:
        review = approval(users="ann")
        reviews.gives({"order": order, "paid": review.approved})
    return reviews.results


@pytest.mark.parametrize(
    ("flow", "decision", "output", "path"),
    [
        (untested, "approved", "paid", ["approval", "notify", "end"]),
        (untested, "rejected", None, ["approval"]),
        (handled, "approved", "ann", ["review", "notify_3", "end"]),
        (handled, None, "late", ["review", "notify_2"]),
        (explicit, "approved", {"is": "yes", "decision": "approved"}, None),
        (explicit, "rejected", {"is": "no", "decision": "rejected"}, None),
        (explicit, None, {"is": "late"}, None),
        (in_text, "approved", "yes", None),
        (in_text, "rejected", "no", None),
        (unexpected, "rejected", None, None),
        (joined, "approved", {"by": "ann"}, None),
    ],
)
def test_each_outcome_goes_its_way(
    flow: WorkflowFunction[..., Any],
    decision: str | None,
    output: object,
    path: list[str] | None,
) -> None:
    with Engine() as engine:
        run = engine.start(flow, {"large": True})
        if decision is None:
            engine.skip(days=2)
        else:
            step = next(name for name in ("review", "approval", "asked") if _waits(run, name))
            run.decide(step, decision, by="ann")
        run.finished()
        if path is not None:
            assert run.path == path
        if output is not None:
            assert run.output == output


def _waits(run: Any, step: str) -> bool:  # noqa: ANN401 - an instance of the test kit
    return step in run.state["steps"]


def test_a_deadline_that_nothing_handles_fails_the_workflow() -> None:
    with Engine() as engine:
        run = engine.start(unexpected, {})
        engine.skip(days=2)
        run.finished()
        assert run.error is not None
        assert run.error["code"] == "WAIT_TIMEOUT"


def test_an_approval_for_each_item_is_decided_by_itself() -> None:
    with Engine() as engine:
        run = engine.start(each, ["a", "b"])
        run.decide("review", "rejected", by="ann", iteration="1")
        run.decide("review", "approved", by="ann", iteration="0")
        assert run.finished().output == [
            {"order": "a", "paid": True},
            {"order": "b", "paid": False},
        ]


def test_the_form_of_a_decision_has_the_type_that_was_given() -> None:
    @workflow("approvals.form")
    def with_form() -> object:
        review = approval(users="ann", form=Note)
        return review.form.text

    with Engine() as engine:
        run = engine.start(with_form)
        with pytest.raises(InvalidInput, match="TEN-2110"):
            run.decide("review", "approved", by="ann", form={"txt": "fine"})
        run.decide("review", "approved", by="ann", form={"text": "fine"})
        assert run.finished().output == "fine"
