from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "order" / "order.json"


@pytest.mark.slow
def test_the_demonstration_is_killed_twice_and_ends_well(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tenuto.demo", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("kill -9") == 2
    assert "attempt 1 was lost with its process" in done.stderr
    assert "Verified" in done.stderr
    assert json.loads(done.stdout) == {"orderId": "A1", "shipped": ["metronome"]}
    saw = (tmp_path / "what-the-tasks-saw.txt").read_text().split("\n")
    first, second, third = (line.split() for line in saw if line)
    assert (first[:2], second[:2], third[:2]) == (
        ["process_order", "1"],
        ["process_order", "2"],
        ["complete_order", "1"],
    )
    assert first[2] == second[2], "both attempts carry the same idempotency key"


def test_the_demonstration_runs_the_order_of_the_examples() -> None:
    shipped = files("tenuto.demo").joinpath("order.json").read_text(encoding="utf-8")
    assert shipped == EXAMPLE.read_text(encoding="utf-8")
