"""What a process had in hand goes on in another, with the settings that everybody has."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.crash.postgres.aftermath import failures, judged
from tests.crash.postgres.crew import Member, Stopwatch, crew
from tests.crash.postgres.worker import Orders
from tests.kit.checker.record import Fields
from tests.kit.patience import until
from tests.kit.postgres_database import empty_database

INSTANCES = 20


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("ending", "code", "bound"),
    [
        ("stopped", "STOPPED", "a beat, 3 s"),
        # In virtual time: tests/simulation/test_default_rhythm.py.
        pytest.param("killed", "LOST", "15 s", marks=pytest.mark.soak),
    ],
)
async def test_another_process_goes_on(
    tmp_path: Path, ending: str, code: str, bound: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """ "Clean stop hands over at once", within a beat; what a killed process had in hand moves
    again within 15 s.
    """
    url = await empty_database("crash")
    async with crew(Orders(url=url, folder=str(tmp_path)), 2) as members:
        [leaver, heir] = members.members
        book = await asyncio.gather(*(_held(leaver, k) for k in range(INSTANCES)))

        async def holds_all(member: Member) -> bool:
            return bool((await member.ask("who"))["held"] == INSTANCES)

        await until(lambda: holds_all(leaver))
        watch = Stopwatch()
        await (leaver.stop() if ending == "stopped" else leaver.kill())
        await until(lambda: holds_all(heir))
        with capfd.disabled():
            print(f"\na process was {ending}; another went on after {watch} (promised: {bound})")
        for line in book:
            assert await heir.ask("release", instance=line["instance"], nodes=["hold"])
        ends = await asyncio.gather(*(heir.ask("end", instance=line["instance"]) for line in book))
        assert Counter(str(end["status"]) for end in ends) == {"COMPLETED": INSTANCES}
        await members.stop_all()
    run = await judged(url, tmp_path, book=book, faults=[ending])
    assert len(failures(run, code)) == INSTANCES


async def _held(member: Member, k: int) -> Fields:
    given: Fields = {"k": k, "flag": True}
    made = await member.ask("start", workflow="held", input=given, key=f"key {k}")
    return {"op": "start", "outcome": "ok", "key": f"key {k}", "input": given, **made}
