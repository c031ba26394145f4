"""A failing test tells what its instances did, and keeps it in a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tenuto.testing import Engine
from tenuto.testing.__main__ import main
from tenuto.testing.failure_file import described, kept, read
from tests.kit.inner_pytest import ALONE
from tests.testing_kit.shop import APPROVED, ORDER, a_task, charge, in_a_row

ROOT = Path(__file__).parents[2]

FAILING = """
from tenuto.testing import Engine
from tests.testing_kit.shop import APPROVED, ORDER, charge


def test_it_ships(engine: Engine) -> None:
    engine.stub(charge, ConnectionError("down"), {"paymentId": "P1"})
    run = engine.start(APPROVED, ORDER).finished()
    assert "ship" in run.path
"""

WAITING_FOR_EVER = """
def test_it_is_approved(engine: Engine) -> None:
    engine.start(APPROVED, ORDER).until(step="ship")
"""

MISSPELT = """
def test_it_is_spelt_well(engine: Engine) -> None:
    engine.stub("shop.chrage", {})
"""

TIMELINE = """\
approved-order@1  COMPLETED  019b76da-a800-7002-8e3e-7068c2094cac
  input {"orderId":7,"amount":9}
  0.0 s            RUNNING
  0.0 s  reserve   starts
  0.0 s  reserve   done → {"held":7}
  0.0 s  charge    starts
  0.0 s  charge    fails: ConnectionError: down
  0.0 s  charge    will be tried again in 1.1 s
  1.1 s  charge    starts (attempt 2)
  1.1 s  charge    done (attempt 2) → {"paymentId":"P1"}
  1.1 s  approval  waits for approval.given
  1.1 s            WAITING_FOR_EVENT
    3 d  approval  waits no more: timeout
    3 d  approval  done
    3 d  ship      skipped: dead-path
    3 d  escalate  starts
    3 d            RUNNING
    3 d  escalate  done → "escalated"
    3 d            COMPLETED"""


def finished_order(engine: Engine) -> None:
    engine.stub(charge, ConnectionError("down"), {"paymentId": "P1"})
    engine.start(APPROVED, ORDER).finished()


def test_a_timeline_shows_steps_attempts_events_and_times(engine: Engine) -> None:
    finished_order(engine)
    assert engine.instances[0].timeline == TIMELINE


def test_the_file_has_log_definition_input_and_calls(engine: Engine, tmp_path: Path) -> None:
    finished_order(engine)
    said = kept(engine, "tests/test_x.py::test_it[a/b]", tmp_path)
    [file] = tmp_path.iterdir()
    assert file.name == "test_x-test_it-a-b.json"
    assert TIMELINE in said
    assert os.path.relpath(file) in said
    content = msgspec.json.decode(file.read_bytes())
    [instance] = content["instances"]
    assert (instance["definition"], instance["input"]) == (APPROVED, ORDER)
    assert instance["history"] == engine.instances[0].history
    assert [call["task"] for call in instance["calls"]][:2] == ["shop.reserve", "shop.charge"]


def test_a_kept_instance_can_be_started_again(engine: Engine, tmp_path: Path) -> None:
    finished_order(engine)
    kept(engine, "it", tmp_path)
    [instance] = read(tmp_path / "it.json").instances
    with Engine() as other:
        other.stub(charge, ConnectionError("down"), {"paymentId": "P1"})
        assert isinstance(instance.definition, dict)
        assert other.start(instance.definition, instance.input).finished().timeline == TIMELINE


def test_the_file_is_shown_by_a_command(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished_order(engine)
    kept(engine, "it", tmp_path, story="once upon a time")
    assert main([str(tmp_path / "it.json")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("it\n\nonce upon a time\n\n" + TIMELINE)


def test_the_command_says_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other.json").write_text("{}")
    assert main([]) == 2
    assert main([str(tmp_path / "missing.json")]) == 3
    assert main([str(tmp_path / "other.json")]) == 3
    said = capsys.readouterr().err
    assert "usage: python -m tenuto.testing FILE" in said
    assert said.count("TEN-2206") == 2


def test_many_instances_are_kept_and_a_few_are_told(engine: Engine, tmp_path: Path) -> None:
    for _ in range(5):
        engine.start(in_a_row(a_task("ship")))
    said = kept(engine, "many", tmp_path)
    assert "and 2 more instances" in said
    record = read(tmp_path / "many.json")
    assert len(record.instances) == 5
    assert described(record).count("row@1  COMPLETED") == 5


def test_an_engine_that_is_down_says_where_it_died(engine: Engine, tmp_path: Path) -> None:
    engine.crash_once(1, "before")
    engine.start(APPROVED, ORDER)
    said = kept(engine, "down", tmp_path)
    assert "no instance was started" in said
    assert "the engine is down: crash before write" in said
    engine.recover()


def test_without_pytest_the_exception_carries_the_timeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def fail() -> None:
        with Engine() as engine:
            finished_order(engine)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    [note] = caught.value.__notes__
    assert TIMELINE in note
    assert (tmp_path / ".tenuto" / "failed" / "test.json").exists()


def test_a_timeline_that_the_error_shows_is_not_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def fail() -> None:
        with Engine() as engine:
            finished_order(engine)
            engine.instances[0].until(status="PAUSED")

    with pytest.raises(AssertionError) as caught:
        fail()
    [note] = caught.value.__notes__
    assert str(caught.value).count(TIMELINE) == 1
    assert TIMELINE not in note
    assert "the clock says" in note
    assert "kept: python -m tenuto.testing" in note
    assert TIMELINE in described(read(tmp_path / ".tenuto" / "failed" / "test.json"))


def _at_a_desk() -> dict[str, str]:
    """Where pytest knows of a gate it shows values in full, and what is counted here more often."""
    return {name: value for name, value in os.environ.items() if name not in {"CI", "BUILD_NUMBER"}}


@pytest.mark.slow
def test_pytest_shows_and_keeps_a_failing_test_and_only_that(tmp_path: Path) -> None:
    passing = FAILING.replace("it_ships", "it_escalates").replace('"ship" in', '"escalate" in')
    (tmp_path / "test_shop.py").write_text(FAILING + passing + WAITING_FOR_EVER + MISSPELT)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *ALONE, "test_shop.py"],
        cwd=tmp_path,
        env=_at_a_desk() | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 failed, 1 passed" in done.stdout, done.stdout
    assert done.stdout.count("what the engine did") == 2
    assert done.stdout.count("waits no more: timeout") == 2
    assert "Did you mean shop.charge" in done.stdout
    assert "task_mocks.py" not in done.stdout
    assert TIMELINE in done.stdout
    name = ".tenuto/failed/test_shop-test_it_ships.json"
    assert f"python -m tenuto.testing {name}" in done.stdout
    assert len(list((tmp_path / ".tenuto" / "failed").iterdir())) == 2
    assert read(tmp_path / name).test == "test_shop.py::test_it_ships"


def test_a_folder_that_cannot_be_written_hides_no_failure(engine: Engine, tmp_path: Path) -> None:
    finished_order(engine)
    (tmp_path / "taken").write_text("")
    said = kept(engine, "it", tmp_path / "taken")
    assert TIMELINE in said
    assert "it could not be kept" in said
