"""The database cannot be reached, or cannot be written to, for a while."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import pytest

from tests.crash.postgres.crew import ROOT
from tests.crash.postgres.outages import AWAY, CLOSED, FULL, NO_DISK, READ_ONLY, sit_out
from tests.kit.postgres_plugin import did_not_run
from tests.kit.postgres_server import running_server


@pytest.mark.slow
@pytest.mark.asyncio
async def test_work_goes_on_by_itself_when_the_database_is_back(tmp_path: Path) -> None:
    """It is stopped, then takes no connections, then may not be written to. Whoever asks meanwhile
    is told so, with a code; nothing that was accepted is lost.
    """
    with running_server(durable=True) as server:
        await sit_out(server, tmp_path, [AWAY, CLOSED, READ_ONLY])


# The codes of a full disk and the pause after them have tests of their own in `store` and `engine`.
@pytest.mark.soak
@pytest.mark.asyncio
async def test_work_goes_on_by_itself_when_the_disk_of_the_database_has_room_again(
    tmp_path: Path,
) -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        did_not_run(FULL.name, "there is no `unshare` to mount a small disk with")
        return
    process = await asyncio.create_subprocess_exec(
        *(unshare, "--mount", "--propagation", "private"),
        *(sys.executable, "-m", "tests.crash.postgres.outages", str(tmp_path)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = (await process.communicate())[0].decode()
    print(said)
    if process.returncode == NO_DISK or "unshare failed" in said:
        did_not_run(FULL.name, f"no small disk can be mounted here: {said}")
    else:
        assert process.returncode == 0, said
