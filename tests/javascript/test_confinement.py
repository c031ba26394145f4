"""What a process of the sandbox can reach, even if an attacker has taken it over: nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenuto.sandbox.confined_process import start_process
from tenuto.sandbox.confinement import (
    ALL,
    FILTER,
    LIMITS,
    NO_FILES,
    NO_NETWORK,
    OWN_USER,
)
from tenuto.sandbox.messages import LENGTH, Confinement
from tenuto.tasks.child_process import ChildProcess, niceness
from tests.javascript.stage import Switches, sandbox

ROOT = Path(__file__).parents[2]


def probed(switches: dict[str, bool] | None = None, user: str = "-") -> dict[str, Any]:
    """What a confined process got and could do."""
    folders = [str(ROOT), str(ROOT / "src"), str(Path(msgspec.__file__).parents[1])]
    program = (
        f"import sys; sys.path += {folders!r}; from tests.javascript.probes import main; main()"
    )
    wanted = Confinement(parent=os.getpid(), memory=64 << 20, **(switches or {}))
    arguments = (user, msgspec.json.encode(wanted).decode())
    child = ChildProcess("-I", "-S", "-c", program, *arguments, environment={}, goes_after=True)
    try:
        said = b""
        while data := os.read(child.reading, 1 << 16):
            said += data
        assert said, str(child.death())
        found: dict[str, Any] = json.loads(said[LENGTH.size :])
        return found
    finally:
        child.kill()


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"namespaces": False},
        {"filter": False},
        {"namespaces": False, "filter": False},
        {"namespaces": False, "own_user": False},
    ],
    ids=["all", "no-namespaces", "no-filter", "limits-and-user", "filter-alone"],
)
def test_a_process_that_is_taken_over_reaches_nothing(
    switches: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENUTO_SECRET", "canary")
    found = probed(switches)
    # Both are set by the process itself.
    assert found["environment"].keys() <= {"TZ", "LC_CTYPE"}
    assert LIMITS in found["got"]
    done = {name for name, how in found["happened"].items() if how == "done"}
    assert done == set()
    named = [each.partition(":")[0] for each in found["missing"]]
    assert sorted([*found["got"], *named]) == sorted(ALL)


def test_a_process_says_which_protections_it_got() -> None:
    found = probed({"namespaces": False, "filter": False})
    assert {f"{NO_NETWORK}: it is switched off", f"{FILTER}: it is switched off"} <= set(
        found["missing"]
    )
    assert found["niceness"] >= 10
    if os.geteuid() == 0:
        assert OWN_USER in found["got"]
        assert found["user"] not in {0, 65534}


def test_a_process_of_a_user_without_rights_reaches_nothing_either() -> None:
    found = probed(user="12345")
    done = {name for name, how in found["happened"].items() if how == "done"}
    assert done == set()
    assert f"{OWN_USER}: only root can change its user" in found["missing"]


@pytest.mark.asyncio
async def test_a_sandbox_says_which_protections_its_processes_got() -> None:
    async with sandbox() as box:
        ready = await box.protections()
        assert LIMITS in ready.protections
        named = {each.partition(":")[0] for each in ready.missing}
        assert set(ready.protections) | named == set(ALL)
    switched_off: Switches = {"namespaces": False, "own_user": False, "call_filter": False}
    async with sandbox(**switched_off) as box:
        ready = await box.protections()
        assert set(ready.protections) & {NO_NETWORK, NO_FILES, OWN_USER, FILTER} == set()


def test_a_process_goes_after_the_service_from_its_first_moment() -> None:
    """In a session of its own it would have as much of a processor, whatever its priority."""
    child = start_process(Confinement(parent=os.getpid(), memory=64 << 20))
    try:
        # Its first message: it has computed more than for most calls.
        assert os.read(child.reading, 1)
        assert os.getpriority(os.PRIO_PROCESS, child.pid) >= niceness()
        assert os.getsid(child.pid) == os.getsid(0)
        assert os.getpgid(child.pid) == child.pid
    finally:
        child.kill()
