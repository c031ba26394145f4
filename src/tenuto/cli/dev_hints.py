"""`tenuto dev`: the instances that it starts, and the commands that it prints to try."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tenuto.cli.backends.recorded import recorded_here
from tenuto.cli.event_hints import event_hint
from tenuto.cli.example_input import example_of
from tenuto.cli.open_instances import OPEN
from tenuto.cli.sources import Source, read_json
from tenuto.cli.views.errors import show_error
from tenuto.cli.views.terminal import say, say_command
from tenuto.definition.schemas import input_problems
from tenuto.model.errors import TenutoError
from tenuto.model.json import JSON, Object
from tenuto.model.tenants import DEFAULT_TENANT
from tenuto.ports import SystemClock
from tenuto.workspace.values import InstanceFilter

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.workspace.instance import InstanceRef

_COMES_TO_REST = 5.0
"""Seconds after which no event is suggested for an instance that is still running."""


class DevStart(NamedTuple):
    """An instance to start where none is under way."""

    workflow: str
    input: JSON
    key: str


def read_starts(given: Iterable[str]) -> list[DevStart]:
    """The values of `--start WORKFLOW=JSON`; InvalidInput."""
    found: list[DevStart] = []
    for each in given:
        workflow, _, text = each.partition("=")
        input = read_json(text, "--start") if text else None
        found.append(DevStart(workflow, input, f"dev/{each}"))
    return found


async def started(
    app: Tenuto, given: Iterable[DevStart], *, is_again: bool = False
) -> list[InstanceRef]:
    """An instance of each that has not ended, so that there is one to look at; of a reload as well.

    The error of one that cannot be started is printed; the others start, and the service serves.
    """
    found: list[InstanceRef] = []
    for each in given:
        try:
            found.append(await _begun(app, each, is_again=is_again))
        except TenutoError as error:
            show_error(error)
            say(f"  --start {each.workflow}: no instance was started.")
    return found


async def _begun(app: Tenuto, given: DevStart, *, is_again: bool) -> InstanceRef:
    space = app.workspace(DEFAULT_TENANT, "app")

    async def start(key: str | None) -> InstanceRef:
        begin = partial(space.start, given.workflow, given.input, key=key)
        return await recorded_here(app, space.tenant, "start_workflow", given.workflow, begin)

    known = await app.page(InstanceFilter(workflow=given.workflow, key=given.key), limit=1)
    first = app.at(known.items[0].id) if known.items else await start(given.key)
    if is_again or not (await first.status()).is_final:
        return first
    going = InstanceFilter(workflow=given.workflow, status=OPEN)
    for row in (await app.page(going, limit=1)).items:
        return app.at(row.id)
    return await start(None)


def say_where(url: str) -> None:
    """The address, before all else: the socket listens, and a request waits until it is served."""
    say(f"  Open   {url}", style="bold")


async def say_what_to_try(
    url: str,
    sources: Sequence[Source],
    starts: Sequence[DevStart],
    instances: Sequence[InstanceRef],
    stopped: asyncio.Event,
    *,
    flag: str,
    sample_in: str | None = None,
) -> None:
    """Commands to copy: to start, to list, and to send the events that are waited for.

    `sample_in`: the store of the sample that is served, where there are no other definitions.
    """
    # Again, below the lines about files: what is read is the end.
    say_where(url)
    say(f"  API    {url}/docs")
    if sample_in is not None:
        say(f"  This folder is empty: a built-in sample is served, an order kept in {sample_in}")
    elif not sources:
        say("  No definition is served; `tenuto init NAME` makes a project, or name a FILE.")
        say("  In an empty folder `tenuto dev` serves a sample.")
    say("  Try")
    for start in offered_starts(sources, starts)[:3]:
        say_command(f"tenuto start {start} --follow{flag}")
    say_command(f"tenuto list{flag}")
    for instance in instances:
        details = await _at_rest(instance, stopped)
        for event in _awaited(details, _taken_fields(sources, details)):
            say(f"  {details['workflowDefinitionId']} {instance.id} waits for it:")
            say_command(f"tenuto events send {event}{flag}")
            say_command(f"tenuto history {instance.id} -f{flag}")
    if sample_in is not None:
        say("  To make a project of your own:")
        say_command("tenuto init orders")


async def _at_rest(instance: InstanceRef, stopped: asyncio.Event) -> Object:
    """The instance once it waits or has ended, or as it is after a while."""
    clock = SystemClock()
    until = clock.ticks() + _COMES_TO_REST
    while True:
        details = await instance.details()
        is_moving = details["status"] in ("CREATED", "RUNNING") and clock.ticks() < until
        if not is_moving or await clock.wait(stopped, 0.1):
            return details


def offered_starts(sources: Sequence[Source], starts: Sequence[DevStart]) -> list[str]:
    """Starts that work: with an input given here or made from the schema, or that need none."""
    found = [
        f"{each.workflow} --input {shlex.quote(msgspec.json.encode(each.input).decode())}"
        for each in starts
    ]
    flows = [each.flow for each in sources if each.flow is not None]
    found += [flow.id for flow in flows if not flow.data.parameters]
    if found:
        # An example is made up: it is for those who have nothing else to try.
        return found
    for definition in (each.checked() for each in sources):
        if definition.input_schema is None:
            continue
        input = example_of(definition.input_schema)
        if not input_problems(definition, input):
            text = msgspec.json.encode(input).decode()
            found.append(f"{definition.id} --input {shlex.quote(text)}")
    return found


def _taken_fields(sources: Sequence[Source], details: Object) -> dict[str, list[str]]:
    """By step, the fields of an event that the definition maps to variables."""
    found: dict[str, list[str]] = {}
    id = details["workflowDefinitionId"]
    document = next((each.document for each in sources if each.checked().id == id), None)
    steps = document.get("steps") if isinstance(document, dict) else None
    for step in steps if isinstance(steps, list) else ():
        mapping = step.get("eventPayloadMapping") if isinstance(step, dict) else None
        if isinstance(step, dict) and isinstance(mapping, dict):
            places = [each for each in mapping.values() if isinstance(each, str)]
            found[str(step.get("stepId"))] = [each for each in places if each.isidentifier()]
    return found


def _awaited(details: Object, taken: Mapping[str, list[str]]) -> list[str]:
    """`PATTERN 'JSON'` for each event that would be taken, as far as the condition shows it."""
    state, input = details["state"], details["input"]
    assert isinstance(state, dict)
    waits = state["waits"]
    assert isinstance(waits, list)
    events: list[str] = []
    for wait in waits:
        if not isinstance(wait, dict) or "eventPattern" not in wait:
            continue
        condition = str(wait.get("eventCondition") or "")
        fields = taken.get(str(wait.get("stepId")), ())
        events.append(event_hint(str(wait["eventPattern"]), condition, input, fields).arguments)
    return events
