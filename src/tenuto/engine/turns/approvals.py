"""Checks of a decision on an approval: its fields, its form, and the instance."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast, get_args

from tenuto.core import Rejection
from tenuto.core.approval import (
    MAY_NOT_DECIDE,
    NO_SUCH_APPROVAL,
    NOT_OPEN,
    is_the_same,
    refusal,
)
from tenuto.core.deciding import NO_SUCH_INSTANCE
from tenuto.definition import form_problems
from tenuto.engine.definitions.start_checks import json_problems
from tenuto.engine.turns.held import Held
from tenuto.model.approvals import Decision
from tenuto.model.checks import length_problems, refuse_bad_text
from tenuto.model.entries import EventType, NodeCompleted
from tenuto.model.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Problem,
    TenutoError,
)
from tenuto.model.graph import Approval
from tenuto.model.ids import NodeKey
from tenuto.model.inputs import DecisionAsked
from tenuto.model.json import JSON, Object
from tenuto.model.log import from_row
from tenuto.model.policy import Limits
from tenuto.store.protocol import Store

NOT_A_DECISION = "TEN-2111"
_MISSING = Problem(
    code="TEN-2110",
    path="$.form",
    message="a form is asked for, and none was given",
    advice="Give it along with the decision; the approval's `formSchema` says what it holds.",
)


def decision_asked(
    step: str,
    decision: str,
    *,
    by: str,
    roles: Sequence[str] = (),
    form: JSON = None,
    iteration: str = "",
) -> DecisionAsked:
    """The decision that a request asks for; InvalidInput where its fields are not valid."""
    named = (roles,) if isinstance(roles, str) else tuple(roles)
    refuse_bad_text(step=step, by=by, iteration=iteration)
    for role in named:
        refuse_bad_text(roles=role)
    problems: list[Problem] = []
    if decision not in get_args(Decision):
        problems.append(
            Problem(
                code=NOT_A_DECISION,
                path="$.decision",
                message=f"{decision!r} is no decision",
                advice="It is `approved` or `rejected`.",
            )
        )
    if not by.strip():
        problems.append(
            Problem(
                code=NOT_A_DECISION,
                path="$.by",
                message="no person is named who decides",
                advice="Say who decides.",
            )
        )
    problems += length_problems(by, "$.by")
    if problems:
        raise InvalidInput("that is not a decision", problems)
    return DecisionAsked(
        node=step,
        iteration=iteration,
        decision=cast("Decision", decision),
        by=by,
        roles=named,
        form=form,
    )


def refuse_bad_form(held: Held, asked: DecisionAsked, now: datetime, limits: Limits) -> None:
    """InvalidInput with all problems of a form; other refusals come first.

    Where the form is valid, the instance decides: `held` may be out of date.
    """
    planned = held.plan.nodes.get(asked.node)
    config = planned.node.config if planned is not None else None
    schema = config.form_schema if isinstance(config, Approval) else None
    problems = json_problems(asked.form, limits.input_bytes, "$.form")
    problems = problems or list(form_problems(schema, asked.form))
    if not problems:
        return
    if asked.form is None:
        problems = [_MISSING]
    refused = refusal(held.plan, held.state, asked, now)
    if refused is not None:
        raise refused_decision(refused)
    raise InvalidInput(f"the form does not fit {asked.node}", problems)


async def refuse_unless_said_before(
    store: Store, held: Held, asked: DecisionAsked, refused: Rejection
) -> None:
    """Raise why a decision was refused, unless the log of a loop has that very decision.

    An instance forgets iterations that have ended; its log does not. No entry of a loop precedes
    its begin.
    """
    if refused.code == NOT_OPEN and asked.iteration:
        outermost = held.plan.outermost(asked.node)
        loop = held.state.nodes.get(NodeKey(outermost))
        after = 0 if loop is None else loop.opened
        said = await decision_in_log(store, held.state.id, asked, after)
        if said is not None and is_the_same(said, asked):
            return
        if said is not None:
            what = f"{said.get('decision')} by {said.get('by')} at {said.get('at')}"
            message = f"{asked.node}[{asked.iteration}] was {what}"
            raise Conflict(message, code=NOT_OPEN)
    raise refused_decision(refused)


async def decision_in_log(
    store: Store, instance_id: str, asked: DecisionAsked, after: int = 0
) -> Object | None:
    """The decision after entry `after`, if any: it stands, and nothing else is read."""
    while rows := await store.instances.entries(instance_id, after=after):
        for row in rows:
            if row.event_type != EventType.NODE_COMPLETED:
                continue
            if (row.node_id, row.iteration) == (asked.node, asked.iteration):
                entry = from_row(row)
                assert isinstance(entry, NodeCompleted)
                output = entry.output
                if isinstance(output, dict) and "decision" in output:
                    return output
        after = rows[-1].seq
    return None


def refused_decision(rejection: Rejection) -> TenutoError:
    """The error that says why a decision was refused."""
    kind: type[TenutoError] = Conflict
    if rejection.code in (NO_SUCH_APPROVAL, NO_SUCH_INSTANCE):
        kind = NotFound
    elif rejection.code == MAY_NOT_DECIDE:
        kind = Forbidden
    return kind(rejection.message, code=rejection.code)
