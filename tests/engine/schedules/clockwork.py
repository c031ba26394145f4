"""A world for tests of schedules: the shipped engine on a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, Self, TypeVar

from tenuto.app import Tenuto
from tenuto.engine.schedules.schedules import Schedules
from tenuto.engine.settings import Settings
from tenuto.model.json import Object
from tenuto.store.parts.schedules import ScheduleRow, TickRow
from tenuto.testing import Engine
from tenuto.testing.fault_plan import Fault
from tenuto.testing.unrest import Unrest

T = TypeVar("T")

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
FLOW: Object = {
    "id": "report",
    "inputSchema": {"type": "object"},
    "steps": [{"stepId": "a", "type": "TASK", "taskId": "work", "timeout": "PT1H"}],
}
EVERY_5 = "*/5 * * * *"


def at(clock: str, day: int = 1) -> datetime:
    """A moment of January 2026: `at("00:05")`."""
    return datetime.fromisoformat(f"2026-01-{day:02}T{clock}:00+00:00")


def minutes(ticks: list[TickRow]) -> list[int]:
    """The minutes after midnight of nominal times."""
    return [(tick.nominal - BEGIN) // timedelta(minutes=1) for tick in ticks]


class EveryWrite(Unrest):
    """Counts every durable write but those about processes: faults strike schedules and ticks."""

    def on_write(self, verb: str) -> Fault | None:
        return None if verb.startswith("members.") else super().on_write("turns.commit")


class Clockwork:
    """An engine with a workflow `report`, whose task may take its time."""

    def __init__(self, *, settings: Settings | None = None, takes: str = "PT0S") -> None:
        self.engine = Engine(settings=settings)
        self.engine.world.unrest = EveryWrite()
        self.inputs: list[object] = []

        @self.engine.task
        def work(input: Any = None) -> object:  # noqa: ANN401
            return input

        self.engine.stub(work, self._noted, takes=takes)
        self.engine.deploy(FLOW)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.lives.end()

    def _noted(self, input: Any = None) -> object:  # noqa: ANN401
        self.inputs.append(input)
        return input

    # -- asking

    def ask(self, request: Callable[[Tenuto], Coroutine[Any, Any, T]]) -> T:
        answer = self.engine.lives.ask(request)
        assert answer is not None
        return answer

    def of(self, request: Callable[[Schedules], Coroutine[Any, Any, T]]) -> T:
        return self.ask(lambda app: request(app.engine.schedules))

    def save(self, id: str = "s", **fields: Any) -> ScheduleRow:  # noqa: ANN401
        """Save a schedule of every five minutes, or another one."""
        given = {"id": id, "target": {"workflowId": "report"}, "input": {}} | fields
        if "executeAt" not in given:
            given.setdefault("cron", EVERY_5)
        return self.of(lambda schedules: schedules.save("default", given, by="ada"))

    def row(self, id: str = "s") -> ScheduleRow:
        return self.of(lambda schedules: schedules.get("default", id))

    def ticks(self, *outcomes: str, id: str = "s") -> list[TickRow]:
        """The ticks with some outcomes, or all of them, oldest first."""
        found = self.ask(lambda app: app.engine.store.schedules.ticks("default", id, 10_000))
        return [each for each in reversed(found) if not outcomes or each.outcome in outcomes]

    def started(self, id: str = "s") -> list[int]:
        """The minutes after midnight of the ticks that were started."""
        ticks = self.ticks("started", id=id)
        instances = {each.id for each in self.engine.instances}
        assert {each.instance_id for each in ticks} <= instances, "a phantom"
        return minutes(ticks)

    # -- time

    def skip(self, **span: float) -> None:
        self.engine.skip(timedelta(**span))

    def down_for(self, **span: float) -> None:
        """Kill the process, and start the next one after a while."""
        self.engine.lives.kill()
        self.engine.world.passed += timedelta(**span).total_seconds()
        self.engine.recover()

    def set_clock(self, **span: float) -> None:
        """Set the machine's clock forward, or back."""
        self.engine.world.wall.set(timedelta(**span).total_seconds())
