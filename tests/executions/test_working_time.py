"""A `timeout` in working time counts from when the attempt is claimed, as every other does."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tenuto.app import Tenuto
from tenuto.engine.settings import Settings
from tenuto.executions.broker import TaskBroker
from tenuto.model.executions import ClaimedTask
from tenuto.model.json import Object
from tenuto.model.task_definition import TaskDefinition
from tests.engine.schedules.clockwork import Clockwork, at
from tests.engine.schedules.test_calendars import office, save

FLOW: Object = {
    "id": "slow",
    "steps": [
        {
            "stepId": "a",
            "type": "TASK",
            "taskId": "remote",
            "timeout": {"duration": "PT2H", "calendar": "office"},
        }
    ],
}


def claimed(begun: datetime, then: datetime) -> tuple[ClaimedTask, datetime]:
    """The task of an instance that begins at one moment and is claimed at another, and its end."""
    with Clockwork(settings=Settings(unknown_tasks="wait")) as world:
        save(world, office())
        task = TaskDefinition(id="remote", kind="pull")
        world.ask(lambda app: app.task_definitions.put(task))
        world.engine.deploy(FLOW)
        world.skip(seconds=(begun - at("00:00")).total_seconds())
        started = world.engine.start("slow", {})
        world.skip(seconds=(then - begun).total_seconds())

        async def claim(app: Tenuto) -> ClaimedTask:
            broker = TaskBroker(app.engine)
            lease = timedelta(days=7)
            [found] = await broker.claim("default", "w1", ["remote"], lease=lease)
            return found

        found = world.ask(claim)
        world.skip(days=7)
        [failed] = [each for each in started.history if each["eventType"] == "NODE_FAILED"][:1]
        return found, datetime.fromisoformat(str(failed["at"]))


@pytest.mark.parametrize(
    ("begun", "then", "end"),
    [
        # Offered at night and claimed in the morning: two hours, and not the rest of the night too.
        (at("03:00", 5), at("10:00", 5), at("12:00", 5)),
        # Offered in the morning and claimed before the evening: the rest comes the next day.
        (at("10:00", 5), at("15:30", 5), at("09:30", 6)),
    ],
)
def test_an_attempt_that_is_claimed_later_has_all_of_its_working_time(
    begun: datetime, then: datetime, end: datetime
) -> None:
    task, failed = claimed(begun, then)
    assert (task.timeout, task.lease_until) == ((end - then).total_seconds(), end)
    assert timedelta() <= failed - end < timedelta(seconds=1)
