"""Settings of the default time-out, of the sizes of pools, and of where log lines go."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tenuto import Context, Settings, Tenuto
from tenuto.compose import open_store
from tenuto.config.sources import read_config
from tenuto.logs.setup import logging_to
from tenuto.model.errors import InvalidInput
from tenuto.model.json import Object
from tenuto.model.policy import Limits
from tenuto.model.quotas import Quotas
from tenuto.store.postgres import PostgresStore
from tenuto.tasks.registry import Registry

ONE: Object = {"id": "one", "steps": [{"stepId": "a", "type": "TASK", "taskId": "work"}]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("engine.task_timeout", "0"),
        ("engine.task_timeout", "-1"),
        ("engine.threads", "0"),
        ("engine.threads", "many"),
        ("engine.store_connections", "0"),
        ("engine.store_connections", "100000"),
        ("engine.attempts", "0"),
        ("engine.attempts", "-3"),
        ("engine.lanes", "0"),
        ("engine.lanes", "99"),
        ("engine.heartbeat_every", "0"),
        ("engine.dead_after", "0"),
        ("engine.dead_after", "100000"),
    ],
)
def test_a_size_that_cannot_be_is_refused_with_its_name(name: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_config({name: value}, {}, None)
    [problem] = refused.value.problems
    assert name in f"{problem.path} {problem.message}"
    field = name.partition(".")[2]
    if value.lstrip("-").isdigit():
        with pytest.raises(ValueError, match=field):
            msgspec.structs.replace(Settings(), **{field: int(value)})


@pytest.mark.parametrize(("kind", "least"), [(Limits, 1), (Quotas, 0)])
def test_every_size_and_every_quota_has_bounds(kind: type[Limits | Quotas], least: int) -> None:
    section = f"engine.{kind.__name__.lower()}"
    for field in kind.__struct_fields__:
        for value in (least - 1, -4, 10**15 + 1):
            with pytest.raises(InvalidInput) as refused:
                read_config({f"{section}.{field}": str(value)}, {}, None)
            [problem] = refused.value.problems
            assert (problem.code, problem.path) == ("TEN-2632", f"--set {section}.{field}")
            with pytest.raises(ValueError, match=f"^{field} is from {least} to"):
                kind(**{field: value})
        read_config({f"{section}.{field}": str(least)}, {}, None)
    given = {f"{section}.{field}": "-1" for field in kind.__struct_fields__}
    with pytest.raises(InvalidInput) as all_refused:
        read_config(given, {}, None)
    assert {each.path for each in all_refused.value.problems} == {f"--set {name}" for name in given}


def test_settings_are_read_by_their_names() -> None:
    given = {"engine.task_timeout": "5", "engine.threads": "7", "engine.store_connections": "9"}
    config = read_config({**given, "log_to": "service.log"}, {}, None).config
    engine = config.engine
    assert (engine.task_timeout, engine.threads, engine.store_connections) == (5, 7, 9)
    assert config.log_to == "service.log"


def test_a_store_has_as_many_connections_as_it_is_given() -> None:
    store = open_store("postgresql://u@h/d", settings=Settings(store_connections=9, lanes=3))
    assert isinstance(store, PostgresStore)
    assert (store.most_connections, store.lanes) == (9, 3)


def test_processes_beat_and_are_presumed_dead_as_is_set() -> None:
    settings = Settings(heartbeat_every=1, dead_after=3)
    store = open_store("postgresql://u@h/d", settings=settings)
    assert isinstance(store, PostgresStore)
    assert store.beat_every == timedelta(seconds=1)
    assert store._database.rhythm.dead_after == timedelta(seconds=3)


@pytest.mark.parametrize(
    "given",
    [
        {"engine.dead_after": "5"},
        {"engine.heartbeat_every": "4"},
        {"engine.heartbeat_every": "4", "engine.dead_after": "11"},
    ],
)
def test_a_death_that_comes_before_three_heartbeats_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_config({**given, "engine.lanes": "0"}, {}, None)
    lanes, death = refused.value.problems
    assert "engine.lanes" in lanes.message
    assert "at least three times heartbeat_every" in death.message
    assert death.path in {f"--set {name}" for name in given}
    with pytest.raises(ValueError, match="dead_after"):
        Settings(**{name.partition(".")[2]: float(value) for name, value in given.items()})  # type: ignore[arg-type]


@pytest.mark.asyncio
async def test_the_default_time_out_is_that_of_steps_that_say_none() -> None:
    registry = Registry()

    @registry.task
    async def work(ctx: Context) -> None:
        await asyncio.Event().wait()

    settings = Settings(task_timeout=0.01)
    async with Tenuto(tasks=registry, settings=settings) as app:
        await app.deploy({**ONE, "options": {"retry": {"maxAttempts": 1}}})
        ended = await app.engine.final_state((await app.start("one")).id)
        assert ended.state.last_error is not None
        assert ended.state.last_error.code == "TIMEOUT"


@pytest.mark.asyncio
async def test_no_more_tasks_run_at_once_in_threads_than_is_set() -> None:
    registry = Registry()
    lock, running, most = threading.Lock(), 0, 0

    @registry.task
    def work(ctx: Context) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with lock:
            running -= 1

    async with Tenuto(tasks=registry, settings=Settings(threads=1)) as app:
        await app.deploy(ONE)
        started = [await app.start("one") for _ in range(10)]
        for each in started:
            await each.result(timeout=60)
    assert most == 1


def test_log_lines_go_to_a_file_that_may_be_moved_away(tmp_path: Path) -> None:
    path = tmp_path / "service.log"
    with logging_to(to=str(path)):
        logging.getLogger("tenuto.test").warning("first")
        path.rename(tmp_path / "old.log")
        logging.getLogger("tenuto.test").warning("second")
    assert "first" in (tmp_path / "old.log").read_text()
    assert "second" in path.read_text()
    with pytest.raises(InvalidInput, match="log_to"), logging_to(to=str(tmp_path / "no" / "x")):
        pass
