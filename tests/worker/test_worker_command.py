"""`tenuto worker` as a real process, beside a service that it reaches over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Caller, served
from tests.kit.command_forks import ForkedCommand, run

TASKS = Path(__file__).parent / "pausing_tasks.py"
SHIP = {"id": "ship", "steps": [{"stepId": "a", "type": "TASK", "taskId": "pausing.ship"}]}
AT_MOST = 60.0


@contextmanager
def worker(url: str, *said: str) -> Iterator[subprocess.Popen[str]]:
    process = ForkedCommand(
        ["worker", str(TASKS), "--lease", "1", *said],
        cwd=TASKS.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TENUTO_SERVER": url},
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.communicate()


async def begun(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return (await asyncio.to_thread(process.stdout.readline)).split()


async def told(process: subprocess.Popen[str]) -> None:
    """The task may end."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@asynccontextmanager
async def shipping() -> AsyncIterator[tuple[Caller, str]]:
    async with served() as call, asyncio.timeout(AT_MOST):
        await call.post("/workflows", SHIP)
        yield call, str((await call.start("ship"))["instanceId"])


async def ended(call: Caller, id: str) -> dict[str, Any]:
    await call.app.engine.final_state(id)
    instance = (await call.get(f"/instances/{id}")).json
    assert isinstance(instance, dict)
    return instance


@pytest.mark.slow
@pytest.mark.asyncio
async def test_tasks_of_a_killed_worker_return_after_the_lease() -> None:
    """A lost worker's tasks come back when the lease runs out."""
    async with shipping() as (call, id):
        with worker(call.url) as first:
            assert await begun(first) == [id, "1"]
            first.send_signal(signal.SIGKILL)
        with worker(call.url) as second:
            assert await begun(second) == [id, "2"]
            await told(second)
            assert (await ended(call, id))["output"] == {"attempt": 2}
            second.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(second.wait) == 0


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_late_result_of_a_zombie_is_409_and_changes_nothing() -> None:
    """A stale `leaseToken` gets 409 and changes nothing."""
    async with shipping() as (call, id):
        claim = {"workerId": "zombie", "taskIds": ["pausing.ship"], "lease": 1}
        [late] = (await call.post("/executions/claim", claim)).json["tasks"]
        with worker(call.url) as other:
            assert await begun(other) == [id, "2"]
            path = f"/executions/{late['executionId']}"
            body = {"leaseToken": late["leaseToken"]}
            for verb, said in (("complete", {"output": "late"}), ("heartbeat", {})):
                refused = await call.post(f"{path}/{verb}", {**body, **said})
                assert (refused.status, refused.json["code"]) == (409, "TEN-3012")
            await told(other)
            before = await ended(call, id)
        assert before["output"] == {"attempt": 2}
        refused = await call.post(f"{path}/complete", {**body, "output": "late"})
        assert refused.status == 409
        assert await ended(call, id) == before


def test_a_module_without_tasks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    done = run("worker", "empty.py", "--server", "http://127.0.0.1:1", cwd=tmp_path)
    assert done.returncode == 2
    assert "TEN-2601" in done.stderr


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_worker_goes_on_at_the_next_of_several_addresses() -> None:
    async with shipping() as (call, id):
        with worker(f"http://127.0.0.1:1,{call.url}", "-o", "json") as process:
            assert process.stdout is not None
            line = await asyncio.to_thread(process.stdout.readline)
            begins = {"servers": ["http://127.0.0.1:1", call.url], "tasks": ["pausing.ship"]}
            assert json.loads(line) == begins
            assert await begun(process) == [id, "1"]
            await told(process)
            assert (await ended(call, id))["output"] == {"attempt": 1}


def test_an_address_that_is_none_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("from tenuto import task\n@task\ndef ship(): ...\n")
    done = run(
        *("worker", "some.py", "-o", "json"),
        *("--api-key", "tnt_1_x", "--server", "http://,ftp://a,http://a:b"),
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stdout.count("TEN-2602") >= 3
    assert json.loads(done.stdout)["error"]["code"] == "TEN-2602"
