"""In every state of an instance, the commands that `show` and `explain` print are accepted."""

from __future__ import annotations

import asyncio
import shlex
from contextlib import suppress

import pytest

from tenuto import InstanceRef, TaskError, Tenuto, WorkflowFailed
from tenuto.engine.turns.draft import Draft
from tenuto.model.json import JSON, Object
from tenuto.model.status import NodeStatus
from tests.cli.conftest import Ended, Terminal
from tests.cli.waiting import until, waits_for_event
from tests.workspace.test_releasing import suspected

ONCE: Object = {"maxAttempts": 1}
BOOM: Object = {"stepId": "x", "type": "TASK", "taskId": "boom", "retry": ONCE}
FINE: Object = {"stepId": "a", "type": "TASK", "taskId": "fine", "transitions": {"default": "x"}}
UNDO: Object = {"stepId": "undo_a", "compensationFor": "a", "taskId": "fine"}
WAIT: Object = {"stepId": "x", "type": "EVENT_WAIT", "eventPattern": "paid"}
MINE = "event.payload.id === workflow.input.id"
APPROVAL: Object = {"stepId": "x", "type": "APPROVAL"}
TERMINATE: Object = {"stepId": "x", "type": "TERMINATE", "status": "FAILED", "reason": "no"}
CHILD: Object = {"stepId": "kid", "type": "SUB_WORKFLOW", "workflowId": "child"}
LOOP: Object = {
    "stepId": "each",
    "type": "LOOP",
    "source": [1, 2],
    "transitions": {"loop": "x", "done": "z"},
}


def flow(id: str, *steps: Object, **more: JSON) -> Object:
    return {"id": id, "steps": [*steps], **more}


async def ended(app: Tenuto, document: Object) -> None:
    await app.deploy(document)
    instance = await app.start(str(document["id"]), {"id": 7})
    with suppress(WorkflowFailed):
        await instance.result(timeout=60)


async def at_rest(app: Tenuto, document: Object, status: NodeStatus) -> InstanceRef:
    await app.deploy(document)
    instance = await app.start(str(document["id"]), {"id": 7})
    await until(app, instance, lambda state: any(n.status is status for n in state.nodes.values()))
    return instance


async def one_in_every_state(app: Tenuto) -> None:
    """Their workflows are named after the states."""

    @app.task
    async def boom(value: object) -> None:
        raise TaskError("BOOM", "always", retryable=True)

    @app.task
    async def fine(value: object) -> int:
        return 1

    await ended(app, flow("failed", FINE, BOOM))
    await ended(app, flow("failed-and-undone", FINE, BOOM, compensationSteps=[UNDO]))
    broken: Object = {**UNDO, "taskId": "boom", "retry": ONCE}
    await ended(app, flow("not-undone", FINE, BOOM, compensationSteps=[broken]))
    await ended(app, flow("terminated", {**TERMINATE}))
    await app.deploy(flow("child", BOOM))
    await ended(app, flow("child-failed", CHILD))
    await ended(app, flow("loop-failed", LOOP, BOOM, {**FINE, "stepId": "z", "transitions": {}}))
    removed = flow("removed", TERMINATE)
    await ended(app, removed)
    await app.remove_definition("removed")

    await at_rest(app, flow("waiting", {**WAIT, "eventCondition": MINE}), NodeStatus.WAITING)
    more = {**WAIT, "eventCondition": f"event.payload.amount > 5 && {MINE}"}
    await at_rest(app, flow("waiting-for-more", more), NodeStatus.WAITING)
    belonging: Object = {**WAIT, "eventPattern": "shipped", "correlationId": "a {{ctx.input.id}}"}
    await at_rest(app, flow("waiting-for-its-own", belonging), NodeStatus.WAITING)
    nope = "event.payload.id === workflow.input.nope"
    lost: Object = {**WAIT, "eventPattern": "lost", "eventCondition": nope}
    await at_rest(app, flow("waiting-for-what-is-missing", lost), NodeStatus.WAITING)
    by_name: Object = {**APPROVAL, "assignees": {"users": ["ann b"]}}
    await at_rest(app, flow("deciding", by_name), NodeStatus.WAITING)
    by_role: Object = {**APPROVAL, "assignees": {"roles": ["boss"]}}
    await at_rest(app, flow("deciding-by-role", by_role), NodeStatus.WAITING)
    later: Object = {"maxAttempts": 3, "initialDelay": "PT1H"}
    await at_rest(app, flow("retrying", {**BOOM, "retry": later}), NodeStatus.RETRYING)
    await app.deploy(flow("kid-waiting", {**WAIT, "eventPattern": "kid"}))
    parent: Object = {**CHILD, "workflowId": "kid-waiting"}
    waits = asyncio.Event()

    def look(draft: Draft) -> None:
        if draft.state.definition_id == "kid-waiting" and waits_for_event(draft.state):
            waits.set()

    unlisten = app.engine.listen(look)
    await at_rest(app, flow("child-runs", parent), NodeStatus.RUNNING)
    async with asyncio.timeout(20):
        await waits.wait()
    unlisten()
    cancelled = await at_rest(app, flow("cancelled", FINE, WAIT), NodeStatus.WAITING)
    await cancelled.cancel("enough")
    paused = await at_rest(app, flow("paused", WAIT), NodeStatus.WAITING)
    await paused.pause("lunch")
    quarantined = await at_rest(app, flow("quarantined", WAIT), NodeStatus.WAITING)
    await suspected(app, quarantined.id)


LEADS_ON = {
    "failed": ["retry"],
    "failed-and-undone": ["rerun"],
    "not-undone": ["rerun", "retry"],
    "terminated": ["rerun"],
    "child": ["explain"],
    "child-failed": ["retry"],
    "loop-failed": ["retry"],
    "removed": [],
    "waiting": ["events"],
    "waiting-for-more": ["events"],
    "waiting-for-its-own": ["events"],
    "waiting-for-what-is-missing": ["events"],
    "deciding": ["decide"],
    "deciding-by-role": ["decide"],
    "retrying": ["logs"],
    "kid-waiting": ["events"],
    "child-runs": ["explain"],
    "cancelled": [],
    "paused": ["resume", "events"],
    "quarantined": ["retry"],
}
"""By state, the commands that lead on."""


def advised(looked: Ended) -> list[list[str]]:
    """The commands that are printed, and that need nothing to be filled in but a name."""
    lines = [line.strip() for line in looked.err.splitlines() if line.startswith("    tenuto ")]
    return [
        shlex.split(line.replace("--by NAME", "--by zoe"))[1:]
        for line in lines
        if "MODULE|FILE" not in line
    ]


@pytest.mark.slow
def test_no_command_that_show_or_explain_print_is_refused_in_any_state(terminal: Terminal) -> None:
    terminal.past(one_in_every_state)
    listed = terminal.call("list", "--limit", "100", "-o", "json").json["items"]
    states = {each["workflowDefinitionId"]: each["id"] for each in listed}
    assert states.keys() == LEADS_ON.keys()
    for state, id in states.items():
        shown, explained = terminal.call("show", id), terminal.call("explain", id)
        assert (shown.code, explained.code) == (0, 0), state
        commands = advised(shown)
        assert commands == advised(explained), state
        assert [command[0] for command in commands] == LEADS_ON[state], (state, shown.err)
        for command in commands:
            followed = terminal.call(*command)
            assert followed.code == 0, (state, command, followed.err)
            if command[0] == "events" and "--dry-run" not in command:
                assert "resumed" in followed.out + followed.err, (state, command)
    sent = terminal.call("explain", states["waiting"], "-o", "json").json
    assert sent["status"] == "COMPLETED", "the event was the one that it waited for"


@pytest.mark.slow
def test_what_is_told_of_a_dead_letter_is_not_refused(terminal: Terminal) -> None:
    terminal.past(one_in_every_state)
    grouped = terminal.call("dead-letters", "groups")
    assert "BOOM" in grouped.out
    for command in advised(grouped):
        assert terminal.call(*command).code == 0, command
    letters = terminal.call("dead-letters", "list", "-o", "id").out.split()
    assert letters
    for letter in letters:
        commands = advised(terminal.call("dead-letters", "show", letter))
        assert commands, letter
        for command in commands[:1]:
            followed = terminal.call(*command)
            assert followed.code == 0, (command, followed.err)


def test_a_dry_run_of_a_retry_and_a_rerun_says_what_is_kept_and_changes_nothing(
    terminal: Terminal,
) -> None:
    async def failed(app: Tenuto) -> None:
        @app.task
        async def boom(value: object) -> None:
            raise TaskError("BOOM", "always", retryable=False)

        @app.task
        async def fine(value: object) -> int:
            return 1

        await ended(app, flow("failed", FINE, BOOM))

    terminal.past(failed)
    before = terminal.call("logs", "@last", "-o", "json").out
    for words in (("retry", "@last"), ("rerun", "@last", "--from", "x")):
        asked = terminal.call(*words, "--dry-run")
        assert asked.code == 0, asked.err
        assert [line.split() for line in asked.out.splitlines()[1:]] == [
            ["version", "failed@1", "(the", "newest)"],
            ["input", "unchanged"],
            ["kept", "a"],
            ["runs", "x"],
        ]
        assert terminal.call(*words, "--dry-run", "-o", "json").json["kept"] == ["a"]
    assert terminal.call("rerun", "@last", "--dry-run", "-o", "json").json["again"] == ["a", "x"]
    assert terminal.call("rerun", "@last", "--from", "nowhere", "--dry-run").code == 2
    assert terminal.call("resume", "@last", "--dry-run").code == 4
    assert terminal.call("cancel", "@last", "--dry-run").code == 4, "it has ended"
    assert terminal.call("logs", "@last", "-o", "json").out == before


def test_a_failure_whose_cause_is_in_the_definition_leads_to_a_rerun_with_another_version(
    terminal: Terminal,
) -> None:
    def purchase(spelled: str) -> Object:
        notify: Object = {**FINE, "stepId": "x", "input": {"to": spelled}, "transitions": {}}
        return flow("purchase", FINE, notify)

    async def failed(app: Tenuto) -> None:
        @app.task
        async def fine(value: object) -> int:
            return 1

        await ended(app, purchase("{{workflow.input.id.shout()}}"))

    async def corrected(app: Tenuto) -> None:
        await app.deploy(purchase("{{workflow.input.id}}"))

    terminal.past(failed)
    advice: list[str] = []
    for said in ("Correct the definition and deploy it, as purchase@2", "purchase@2 is newer"):
        for command in ("show", "explain"):
            looked = terminal.call(command, "@last-failed")
            assert said in looked.err
            (advice,) = advised(looked)
            assert advice[0::2] == ["rerun", "--from", "--version"]
            assert advice[3::2] == ["x", "2"]
        terminal.past(corrected)
    assert "the same version" in terminal.call("explain", "@last-failed").out
    retried = terminal.call("retry", "@last-failed", "--dry-run")
    assert "purchase@1 (newest is 2)" in retried.out
    edited = terminal.call(*advice, "--input", '{"id": 8}', "--dry-run", "-o", "json").json
    assert (edited["definitionVersion"], edited["newestVersion"]) == (2, 2)
    assert (edited["inputEdited"], edited["kept"]) == (True, ["a"])
    made = terminal.call(*advice)
    assert "purchase@2 (the newest)" in made.err
    assert "input     unchanged" in made.err
    assert "Taken over" in made.err


def test_an_input_that_does_not_fit_leads_to_a_rerun_or_to_another_input(
    terminal: Terminal,
) -> None:
    async def failed(app: Tenuto) -> None:
        @app.task
        async def hold(x: int) -> int:
            return x

        await ended(
            app,
            flow("held", {"stepId": "h", "type": "TASK", "taskId": "hold", "input": {"x": 1}}),
        )

    terminal.past(failed)
    looked = terminal.call("explain", "@last-failed")
    assert "a task with one parameter gets the whole input" in looked.out
    assert 'write the value of "x" as the `input` of the step' in looked.out
    assert "A retry gives the step the same input" in looked.out
    rerun, retried = advised(looked)
    assert rerun[0::2] == ["rerun", "--version"]
    assert (retried[:2], retried[-2:]) == (["dead-letters", "retry"], ["--input", "JSON"])
    foreseen = terminal.call(*retried[:-1], "1", "--dry-run")
    assert foreseen.code == 0, foreseen.err


def test_a_failure_in_the_definition_of_a_child_leads_to_a_rerun_that_starts_a_newer_one(
    terminal: Terminal,
) -> None:
    def child(spelled: str) -> Object:
        return flow("child", {**FINE, "stepId": "x", "input": spelled, "transitions": {}})

    async def failed(app: Tenuto) -> None:
        @app.task
        async def fine(value: object) -> int:
            return 1

        await app.deploy(child("{{workflow.input.id.shout()}}"))
        given: Object = {**CHILD, "input": "{{workflow.input}}"}
        middle = flow("middle", given)
        await app.deploy(middle)
        outer: Object = {**given, "workflowId": "middle"}
        await ended(app, flow("outer", {**FINE, "transitions": {"default": "kid"}}, outer))

    async def corrected(app: Tenuto) -> None:
        @app.task
        async def fine(value: object) -> int:
            return 1

        await app.deploy(child("{{workflow.input.id}}"))

    terminal.past(failed)
    advice: list[str] = []
    words = ("--workflow", "outer", "-o", "id")
    (id,) = terminal.call("list", *words).out.split()
    for said in ("Correct the definition and deploy it, as child@2", "child@2 is newer"):
        for command in ("show", "explain"):
            looked = terminal.call(command, id)
            assert said in looked.err
            (advice,) = advised(looked)
            assert advice == ["rerun", id, "--from", "kid"]
        assert "of a child" in terminal.call("explain", id).out
        terminal.past(corrected)
    assert "Taken over" in terminal.call(*advice).err


def test_a_rerun_that_keeps_nothing_says_why(terminal: Terminal) -> None:
    async def undone(app: Tenuto) -> None:
        @app.task
        async def boom(value: object) -> None:
            raise TaskError("BOOM", "always", retryable=False)

        @app.task
        async def fine(value: object) -> int:
            return 1

        await ended(app, flow("undone", FINE, BOOM, compensationSteps=[UNDO]))

    terminal.past(undone)
    why = "nothing: its steps were undone"
    assert why in terminal.call("rerun", "@last-failed", "--from", "x", "--dry-run").out
    assert why in terminal.call("rerun", "@last-failed", "--from", "x").err
    assert "1  undo_a  for a  done" in terminal.call("show", "@last-failed").out


def test_a_rerun_with_another_input_is_checked_and_warned_of_also_when_it_is_only_foreseen(
    terminal: Terminal,
) -> None:
    first: Object = {"stepId": "one", "type": "TASK", "taskId": "double", "input": 1}
    then: Object = {"stepId": "two", "type": "TASK", "taskId": "double", "input": 2}
    both: Object = {
        "id": "both",
        "inputSchema": {"type": "object", "required": ["n"]},
        "steps": [{**first, "transitions": {"default": "two"}}, then],
    }

    async def completed(app: Tenuto) -> None:
        await app.deploy(both)
        await (await app.start("both", {"n": 1})).result(timeout=60)

    terminal.past(completed)
    for words in ((), ("--dry-run",)):
        refused = terminal.call("rerun", "@last", "--input", "{}", *words)
        assert (refused.code, "TEN-2101" in refused.err) == (2, True), words
    [earlier] = terminal.call("list", "-o", "id").out.split()
    warned = "one was computed from the earlier input"
    for words in (("--dry-run",), ()):
        called = ("rerun", earlier, "--from", "two", "--input", '{"n": 2}', *words)
        assert warned in terminal.call(*called).err, words
        assert warned in terminal.call(*called, "-o", "json").json["warnings"][0]["message"], words
    assert f"rerun of    {earlier}  from two, took over one\n" in terminal.call("show", "@last").out
    assert terminal.call("rerun", earlier).code == 0
    assert f"rerun of    {earlier}  from the beginning\n" in terminal.call("show", "@last").out
