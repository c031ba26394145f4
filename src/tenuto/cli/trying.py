"""What `tenuto dev` says there is to try."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from tenuto.cli.terminal import say, say_command
from tenuto.model.json import Object
from tenuto.ports import SystemClock

if TYPE_CHECKING:
    from tenuto.app import Tenuto
    from tenuto.instances import InstanceRef

_COMES_TO_REST = 5.0
"""Seconds after which nothing is said of an instance that is still running."""
_EQUAL = re.compile(r"event\.payload\.(\w+) === workflow\.input\.(\w+)")
"""The parts of a condition that say what an event has to carry."""


async def begun(app: Tenuto, given: Iterable[str]) -> list[InstanceRef]:
    """An instance of each `WORKFLOW=JSON`, begun once however often this process is."""
    instances: list[InstanceRef] = []
    for each in given:
        workflow, _, text = each.partition("=")
        input = msgspec.json.decode(text) if text else None
        instances.append(await app.start(workflow, input, key=f"dev/{each}"))
    return instances


def stop_with_parent(stopped: asyncio.Event) -> None:
    """Stop when the process is gone that holds the other end of stdin."""
    loop = asyncio.get_running_loop()

    def ended() -> None:
        loop.remove_reader(0)
        stopped.set()

    loop.add_reader(0, ended)


async def say_what_to_try(
    url: str, workflows: Iterable[str], instances: list[InstanceRef], stopped: asyncio.Event
) -> None:
    """Commands to copy: how to start, to look, and to send what is waited for."""
    say(f"  API    {url}/docs")
    say("  Try")
    for workflow in list(workflows)[:3]:
        say_command(f"tenuto start {workflow} --follow --server {url}")
    say_command(f"tenuto list --server {url}")
    for instance in instances:
        details = await _at_rest(instance, stopped)
        for event in _awaited(details):
            say(f"  {details['workflowDefinitionId']} {instance.id} waits for it:")
            say_command(f"tenuto events send {event} --server {url}")
            say_command(f"tenuto logs {instance.id} -f --server {url}")


async def _at_rest(instance: InstanceRef, stopped: asyncio.Event) -> Object:
    """The instance once it waits or has ended, or as it is after a while."""
    clock = SystemClock()
    until = clock.ticks() + _COMES_TO_REST
    while True:
        details = await instance.details()
        is_moving = details["status"] in ("CREATED", "RUNNING") and clock.ticks() < until
        if not is_moving or await clock.wait(stopped, 0.1):
            return details


def _awaited(details: Object) -> list[str]:
    """`PATTERN 'JSON'` for each event that would be taken, as far as that can be told."""
    state, input = details["state"], details["input"]
    assert isinstance(state, dict)
    waits = state["waits"]
    assert isinstance(waits, list)
    events: list[str] = []
    for wait in waits:
        if not isinstance(wait, dict) or "eventPattern" not in wait:
            continue
        given = input if isinstance(input, dict) else {}
        payload = {
            name: given.get(place)
            for name, place in _EQUAL.findall(str(wait.get("eventCondition") or ""))
        }
        text = msgspec.json.encode(payload).decode() if payload else "{}"
        events.append(f"{wait['eventPattern']} '{text}'")
    return events
