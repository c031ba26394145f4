"""`tenuto rerun`: make a new instance of one that was.

What it takes over is read here. The engine that has the store open starts it: it is left in the
mailbox of the new instance, or, when nobody holds the store, this process opens it for a moment.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import redirect_stdout
from typing import Final

import msgspec
from msgspec import UnsetType

from tenuto.cli import exits
from tenuto.cli.commanding import LOCKED, TAKEN_WITHIN
from tenuto.cli.finding import find_instance
from tenuto.cli.progress import STATUS_MARKS
from tenuto.cli.running import engine
from tenuto.cli.showing import held_instance
from tenuto.cli.stores import reading, store_flag
from tenuto.cli.terminal import say, show, show_json
from tenuto.core import blank, decide
from tenuto.engine.requests import Answer
from tenuto.engine.rerunning import Rerun, plan_rerun
from tenuto.engine.starting import raise_rejection, refuse_bad_input
from tenuto.model.errors import StoreUnavailable
from tenuto.model.json import JSON
from tenuto.model.policy import DEFAULT_LIMITS
from tenuto.model.status import Status
from tenuto.ports import SystemIds
from tenuto.store.protocol import InstanceQuery, Mail

_LOOK_EVERY: Final = 0.1


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
    async with reading(url) as reader:
        row = await find_instance(reader.store, text)
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
        foreseen = decide(plan, blank(id), planned.started, now)
        raise_rejection(
            Answer(
                instance_id=id,
                status=foreseen.state.status,
                version=0,
                rejection=foreseen.rejection,
            )
        )
    is_held = False
    try:
        status = await _start_here(url, id, planned)
    except StoreUnavailable as error:
        if error.code != LOCKED:
            raise
        is_held = True
        status = await _start_by_mail(url, id, planned)
    if is_json:
        show_json({"instanceId": id, "status": status.value, "rerunOf": row.id})
        return exits.DONE
    mark, _ = STATUS_MARKS[status]
    show(f"{mark} {status.value}  {id}")
    kept = ", ".join(each.node for each in planned.started.reused if each.status != "skipped")
    say(f"  Taken over from {row.id}: {kept or 'nothing'}")
    if not (is_held or status.is_final):
        say("  No process has the store open. To run its steps:")
        say(f"    tenuto run --instance {id} --tasks MODULE|FILE{store_flag(url)}")
    return exits.DONE


async def _start_here(url: str, id: str, planned: Rerun) -> Status:
    started = planned.started
    with redirect_stdout(sys.stderr):
        async with engine(url, is_brief=True) as app:
            deployed = await app.engine.plans.get(
                planned.tenant, started.definition_id, started.definition_version
            )
            answer = await app.engine.start(
                deployed.plan, started, instance_id=id, tenant=planned.tenant
            )
            raise_rejection(answer)
            return answer.status


async def _start_by_mail(url: str, id: str, planned: Rerun) -> Status:
    async with reading(url) as reader:
        mail = Mail(
            id=f"{id}/start",
            instance_id=id,
            input=msgspec.json.encode(planned.started),
            created_at=reader.clock.now(),
        )
        await reader.store.send([mail])
        say("left it for the process that has the store open …", style="dim")
        try:
            async with asyncio.timeout(TAKEN_WITHIN):
                while True:
                    found = await reader.store.instances(InstanceQuery(ids=(id,), limit=1))
                    if found.items:
                        return found.items[0].status
                    await reader.clock.sleep(_LOOK_EVERY)
        except TimeoutError:
            raise StoreUnavailable(
                f"the rerun was left, but not taken within {TAKEN_WITHIN:g} s",
                code=LOCKED,
                advice=f"It will be instance {id}, as soon as that process looks in its mailbox.",
            ) from None
