"""The state that the browser shows is the engine's: the same log gives the same state in both."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.golden.shelf import NAMES
from tests.ui.fold_cases import SIMULATED, WALKS, Case, case_of, cases
from tests.ui.node import bundled, run

_encode = msgspec.json.Encoder(decimal_format="number").encode


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundled("tests/fold-cases.ts", tmp_path_factory.mktemp("fold"))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The engine's own words about simulated faults are not shown."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def compared(program: Path, given: list[Case], folder: Path) -> tuple[int, list[str]]:
    """How many states were compared, and every difference."""
    file = folder / "cases.jsonl"
    file.write_bytes(b"\n".join(map(_encode, given)))
    count, *differences = run(str(program), str(file)).splitlines()
    return int(count), differences


@pytest.mark.slow
def test_a_log_folded_in_the_browser_is_as_the_engine_folds_it(
    program: Path, tmp_path: Path
) -> None:
    """Every prefix of every stored log, and parts of 200 simulated ones and of random walks."""
    given = list(cases())
    assert len(given) == len(NAMES) + SIMULATED + WALKS
    count, differences = compared(program, given, tmp_path)
    assert differences == []
    assert count == sum(len(case.states) for case in given) > 1_500


@pytest.mark.slow
def test_a_state_that_is_another_one_is_seen(program: Path, tmp_path: Path) -> None:
    case = case_of("order_retried")
    shown = case.states[-1]["instance"]
    assert isinstance(shown, dict)
    shown["status"] = "PAUSED"
    del case.log[3]
    _, differences = compared(program, [case], tmp_path)
    assert any(".status is " in line for line in differences)
    assert any("order_retried at 10" in line for line in differences)
