"""Several real processes are told the same at the same moment, and one of them acts."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.postgres.aftermath import judged
from tests.crash.postgres.crew import Crew, Refused, crew, soon
from tests.crash.postgres.worker import Orders
from tests.kit.checker.record import Fields
from tests.kit.patience import until
from tests.kit.postgres_database import empty_database

ROUNDS = 12


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize("processes", [pytest.param(2, marks=pytest.mark.soak), 4])
async def test_what_several_processes_are_told_at_once_is_done_once(
    tmp_path: Path, processes: int
) -> None:
    """Starts with one key make one instance, an event with one id is stored once and resumes its
    wait once, a command acts once, a result that everybody reports is recorded once, and of those
    who decide one does.
    """
    url = await empty_database("crash")
    orders = Orders(url=url, folder=str(tmp_path), beat_every=1, dead_after=30, work_takes=0)
    async with crew(orders, processes, chance=random.Random(6)) as members:
        stories = [_story(members, k) for k in range(ROUNDS)]
        book = [line for story in await asyncio.gather(*stories) for line in story]
        await members.at_rest()
        await members.stop_all()
    run = await judged(url, tmp_path, book=book, faults=["haste"])
    statuses = Counter(str((instance.row or {})["status"]) for instance in run.instances)
    assert statuses == {"COMPLETED": 3 * ROUNDS, "CANCELLED": ROUNDS}
    # A second instance of anything, a second delivery or a second outcome breaks an invariant; what
    # is told twice without need is seen here.
    for instance in run.instances:
        kinds = Counter(str(row["eventType"]) for row in instance.history)
        assert kinds["CANCEL_REQUESTED"] <= 1
        assert kinds["PAUSE_REQUESTED"] <= 1
        assert kinds["RESUME_REQUESTED"] <= 1


async def _story(members: Crew, k: int) -> list[Fields]:
    """Everybody sends the event that one workflow waits for, cancels another, and reports the
    result of a third.
    """
    given: Fields = {"k": k, "flag": True}
    book: list[Fields] = []

    async def all_ask(op: str, **what: object) -> list[Fields]:
        """Everybody is told at once; what those said who did not refuse."""
        at = soon()
        answers = await asyncio.gather(
            *(member.ask(op, at=at, **what) for member in members.living), return_exceptions=True
        )
        wrong = [each for each in answers if isinstance(each, Exception)]
        assert all(isinstance(each, Refused) and each.kind == "Conflict" for each in wrong), wrong
        said = [each for each in answers if isinstance(each, dict)]
        book.extend({"op": op, "outcome": "ok", **what, **each} for each in said)
        return said

    async def start(workflow: str, key: str) -> str:
        made = await all_ask("start", workflow=workflow, input=given, key=key)
        assert len(made) == len(members.living)
        [instance] = {str(each["instance"]) for each in made}
        return instance

    waiting = await start("waiting", f"waiting {k}")
    assert await all_ask("pause", instance=waiting)
    await all_ask("publish", pattern="word", payload={"k": k}, event=f"event {k}")
    assert await all_ask("resume", instance=waiting)
    ends = await all_ask("end", instance=waiting)
    assert {str(each["status"]) for each in ends} == {"COMPLETED"}

    held = await start("held", f"held {k}")
    assert await all_ask("cancel", instance=held)
    ends = await all_ask("end", instance=held)
    assert {str(each["status"]) for each in ends} == {"CANCELLED"}

    asked = await start("asked", f"asked {k}")
    said = await _all_decide(members, asked)
    [decided] = [line for line in said if line["outcome"] == "ok"]
    refusals = {str(line["why"]) for line in said if line["outcome"] == "refused"}
    assert len(refusals) == 1, "everybody hears of the same"
    assert f"ask was {decided['decision']} by {decided['by']} at" in refusals.pop()
    book.extend(said)
    ends = await all_ask("end", instance=asked)
    assert {str(each["status"]) for each in ends} == {"COMPLETED"}

    reported = await start("held", f"reported {k}")
    await until(lambda: _is_under_way(members, reported))
    assert await all_ask("report", instance=reported, node="hold", attempt=1)
    ends = await all_ask("end", instance=reported)
    assert {str(each["status"]) for each in ends} == {"COMPLETED"}
    return book


async def _all_decide(members: Crew, instance: str) -> list[Fields]:
    """Everybody decides at once, each in another name and every second one otherwise."""
    at = soon()
    lines: list[Fields] = [
        {"op": "decide", "instance": instance, "node": "ask", "iteration": "", "roles": []}
        | {"by": f"person {number}", "decision": ("approved", "rejected")[number % 2]}
        for number in range(len(members.living))
    ]
    answers = await asyncio.gather(
        *(
            member.ask("decide", at=at, **{name: line[name] for name in _SAID})
            for member, line in zip(members.living, lines, strict=True)
        ),
        return_exceptions=True,
    )
    for line, answer in zip(lines, answers, strict=True):
        if isinstance(answer, Refused):
            assert answer.kind == "Conflict", answer
            line |= {"outcome": "refused", "why": answer.args[0]}
        else:
            assert isinstance(answer, dict), answer
            line["outcome"] = "ok"
    return lines


_SAID = ("instance", "node", "decision", "by")


async def _is_under_way(members: Crew, instance: str) -> bool:
    answers = [await member.ask("holds", instances=[instance]) for member in members.living]
    return any(answer["holds"] for answer in answers)
