"""`tenuto rerun`: make a new instance of one that was.

What it takes over is read here. The engine that has the store open starts it: it is left in the
mailbox of the new instance, or, when nobody is there, this process opens the store for a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UnsetType

from tenuto.cli import exits
from tenuto.cli.finding import find_instance
from tenuto.cli.mailing import handed_in, here_or_by_mail, say_how_to_run
from tenuto.cli.places import ServerUrl
from tenuto.cli.progress import STATUS_MARKS
from tenuto.cli.servers import ServerReader, connected
from tenuto.cli.showing import held_instance
from tenuto.cli.stores import reading
from tenuto.cli.terminal import say, show, show_json
from tenuto.core import blank, decide
from tenuto.engine.definitions.reruns import Rerun, plan_rerun
from tenuto.engine.definitions.start_checks import raise_rejection, refuse_bad_input
from tenuto.engine.turns.requests import Answer
from tenuto.model.ids import start_letter
from tenuto.model.json import JSON
from tenuto.model.policy import DEFAULT_LIMITS, NO_POLICIES
from tenuto.model.status import Status
from tenuto.ports import SystemIds
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.parts.mailbox import Mail

if TYPE_CHECKING:
    from tenuto.app import Tenuto


async def rerun(
    url: str,
    text: str,
    *,
    from_step: str | None,
    input: JSON | UnsetType,
    version: int | None,
    is_json: bool,
) -> int:
    """Rerun the instance that `text` names and tell which one that made."""
    if isinstance(url, ServerUrl):
        async with connected(url) as client:
            row = await find_instance(ServerReader(url, client), text)
            made = await client.at(row.id).rerun(from_step, input=input, version=version)
            _tell(made.id, await made.status(), row.id, is_json=is_json)
        return exits.DONE
    async with reading(url) as reader:
        row = await find_instance(reader, text)
        earlier = await held_instance(reader, row.id)
        planned = await plan_rerun(
            reader.store,
            reader.plans,
            earlier,
            from_step=from_step,
            input=input,
            version=version,
        )
        plan = planned.deployed.plan
        refuse_bad_input(plan, planned.started.input, DEFAULT_LIMITS)
        now = reader.clock.now()
        id = SystemIds().instance_id(now)
        foreseen = decide(plan, blank(id), planned.started, now, NO_POLICIES)
        raise_rejection(
            Answer(
                instance_id=id,
                status=foreseen.state.status,
                version=0,
                rejection=foreseen.rejection,
            )
        )
    status, by_others = await here_or_by_mail(
        url,
        lambda app: _start_here(app, id, planned),
        lambda: _start_by_mail(url, id, planned),
    )
    _tell(id, status, row.id, is_json=is_json)
    if is_json:
        return exits.DONE
    kept = ", ".join(each.node for each in planned.started.reused if each.status != "skipped")
    say(f"  Taken over from {row.id}: {kept or 'nothing'}")
    if not (by_others or status.is_final):
        say_how_to_run(url, id)
    return exits.DONE


def _tell(id: str, status: Status, earlier: str, *, is_json: bool) -> None:
    if is_json:
        show_json({"instanceId": id, "status": status.value, "rerunOf": earlier})
        return
    mark, _ = STATUS_MARKS[status]
    show(f"{mark} {status.value}  {id}")


async def _start_here(app: Tenuto, id: str, planned: Rerun) -> Status:
    started = planned.started
    deployed = await app.engine.plans.get(
        planned.tenant, started.definition_id, started.definition_version
    )
    answer = await app.engine.start(deployed.plan, started, instance_id=id, tenant=planned.tenant)
    raise_rejection(answer)
    return answer.status


async def _start_by_mail(url: str, id: str, planned: Rerun) -> tuple[Status, bool]:
    async with reading(url) as reader:
        mail = Mail(
            id=start_letter(id),
            instance_id=id,
            input=msgspec.json.encode(planned.started),
            created_at=reader.clock.now(),
        )

        async def look() -> Status | None:
            found = await reader.instances(InstanceQuery(ids=(id,), limit=1))
            return found.items[0].status if found.items else None

        async with handed_in(reader, mail, look) as (status, app):
            return status, app is None
