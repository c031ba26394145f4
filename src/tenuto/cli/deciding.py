"""`tenuto decide`: decide on an approval, in somebody's name.

Like other commands, a decision is left in the mailbox where another process has the store open.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from tenuto.cli import exits
from tenuto.cli.asking import asked_there
from tenuto.cli.finding import find_instance
from tenuto.cli.mailing import handed_in, here_or_by_mail, say_how_to_run
from tenuto.cli.places import ServerUrl
from tenuto.cli.progress import STATUS_MARKS
from tenuto.cli.showing import held_instance
from tenuto.cli.stores import Reader, reading
from tenuto.cli.terminal import show, show_json
from tenuto.core.approval import NOT_OPEN, is_the_same, refusal
from tenuto.core.decide import decide
from tenuto.core.deciding import Rejection
from tenuto.engine.turns.approvals import (
    decision_in_log,
    refuse_bad_form,
    refuse_unless_said_before,
    refused_decision,
)
from tenuto.engine.turns.held import Held
from tenuto.model.durations import iso
from tenuto.model.inputs import DecisionAsked
from tenuto.model.policy import NO_POLICIES, Limits
from tenuto.model.status import Status
from tenuto.ports import SystemIds
from tenuto.store.parts.mailbox import Mail, MailKey

if TYPE_CHECKING:
    from tenuto.app import Tenuto

_IN_A_LOOP: Final = re.compile(r"(?P<step>[^\[\]]+)\[(?P<iteration>[^\[\]]+)\]\Z")


def place_of(step: str, iteration: str) -> tuple[str, str]:
    """A step and its iteration, also from `review[2]`, which is how messages spell them."""
    found = _IN_A_LOOP.match(step)
    return (found["step"], found["iteration"]) if found and not iteration else (step, iteration)


async def decide_on(url: str, text: str, asked: DecisionAsked, *, is_json: bool) -> int:
    """Put a decision to the instance that `text` names, and tell what it has come to."""
    if isinstance(url, ServerUrl):
        row, status = await asked_there(url, text, asked)
        _tell(row.id, status, asked, is_json=is_json)
        return exits.DONE
    async with reading(url) as reader:
        row = await find_instance(reader, text)
        held = await held_instance(reader, row.id)
        now = reader.clock.now()
        refuse_bad_form(held, asked, now, Limits())
        foreseen = decide(held.plan, held.state, asked, now, NO_POLICIES)
        if foreseen.rejection is not None:
            await refuse_unless_said_before(reader.store, held, asked, foreseen.rejection)
    # Deciding the same again is no mistake, and nothing to wait for.
    status, by_others = held.state.status, True
    if foreseen.entries:
        status, by_others = await here_or_by_mail(
            url,
            lambda app: _decide_here(app, row.id, asked),
            lambda: _decide_by_mail(url, held, asked),
        )
    _tell(row.id, status, asked, is_json=is_json)
    if not (by_others or status.is_final or is_json):
        say_how_to_run(url, row.id)
    return exits.DONE


def _tell(id: str, status: Status, asked: DecisionAsked, *, is_json: bool) -> None:
    if is_json:
        place = {"stepId": asked.node, "iteration": asked.iteration}
        show_json({"id": id, "status": status.value, **place, "decision": asked.decision})
        return
    mark, _ = STATUS_MARKS[status]
    inside = f"[{asked.iteration}]" if asked.iteration else ""
    show(f"✓ {asked.node}{inside} {asked.decision} by {asked.by}")
    show(f"{mark} {status.value}  {id}")


async def _decide_here(app: Tenuto, instance_id: str, asked: DecisionAsked) -> Status:
    answer = await app.engine.ask(instance_id, asked)
    if answer.rejection is not None:
        raise refused_decision(answer.rejection)
    return answer.status


async def _decide_by_mail(url: str, before: Held, asked: DecisionAsked) -> tuple[Status, bool]:
    instance_id = before.state.id
    async with reading(url) as reader:
        now = reader.clock.now()
        mail = Mail(
            id=f"cli/{iso(now)}/{SystemIds().short()}",
            instance_id=instance_id,
            input=msgspec.json.encode(asked),
            created_at=now,
        )
        letter = MailKey(mail.id, instance_id)

        async def look() -> Status | None:
            if await reader.store.mailbox.waiting([letter]):
                return None
            return await _taken(reader, before, asked)

        async with handed_in(reader, mail, look) as (status, app):
            return status, app is None


async def _taken(reader: Reader, before: Held, asked: DecisionAsked) -> Status:
    """The status since the letter was taken; what refused it, where somebody was quicker."""
    held = await held_instance(reader, before.state.id)
    id, version = before.state.id, before.state.version
    said = await decision_in_log(reader.store, id, asked, after=version)
    if said is not None and is_the_same(said, asked):
        return held.state.status
    refused = refusal(held.plan, held.state, asked, reader.clock.now())
    raise refused_decision(
        refused or Rejection(code=NOT_OPEN, message=f"{asked.node} took no decision at that moment")
    )
