"""The note of what a process decides on: who reads it, and when it accuses anybody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from stat import S_IMODE

import pytest

from tenuto.engine.membership import watchdog, watchdog_process
from tenuto.engine.membership.note_files import NoteFiles
from tenuto.engine.membership.watchdog_process import KILL, STOP, Rule, _state
from tenuto.engine.turns import note as notes
from tenuto.engine.turns.note import (
    ACCUSED,
    HUNG,
    SIZE,
    TEXT,
    DecisionStopped,
    Note,
    Noted,
    place_of,
    read,
)
from tenuto.engine.turns.quarantine import Left
from tenuto.model.inputs import TaskSucceeded, TimerDue, TimerKey, TimerKind


def test_a_note_says_what_is_decided_on_and_whether_it_hangs() -> None:
    note, memory = Note(), bytearray(SIZE)
    note.keep_in(memory)
    assert read(bytes(memory)) is None
    note.on("i1", "TimerDue nap")
    assert read(bytes(memory)) == Noted("i1", "TimerDue nap")
    memory[HUNG : HUNG + 8] = (1).to_bytes(8, "little")
    assert read(bytes(memory)) == Noted("i1", "TimerDue nap", is_hung=True)
    note.off()
    assert read(bytes(memory)) is None
    note.on("ž" * 3_000, "x")
    assert (found := read(bytes(memory))) is not None
    assert found.instance_id.startswith("žž")
    assert not found.is_hung, "the next decision is another one"
    memory[TEXT : TEXT + 4] = b"torn"
    assert read(bytes(memory)) is None


def test_only_the_accused_decision_is_stopped() -> None:
    note, memory = Note(), bytearray(SIZE)
    note.keep_in(memory)
    note.on("i1", "x")
    memory[ACCUSED : ACCUSED + 8] = (1).to_bytes(8, "little")
    with pytest.raises(DecisionStopped):
        note.stop_if_accused()
    note.off()
    note.stop_if_accused()
    note.on("i2", "x")
    note.stop_if_accused()


def test_the_place_of_an_input_is_the_same_when_it_comes_again() -> None:
    first = TaskSucceeded(node="a", attempt=1, output=1, iteration="7")
    assert place_of(first) == place_of(TaskSucceeded(node="a", attempt=2, output=2, iteration="7"))
    assert place_of(first) == "TaskSucceeded a[7]"
    due = TimerDue(key=TimerKey(TimerKind.DELAY, "nap"), due=datetime.now(UTC))
    assert place_of(due) == "TimerDue nap"


def test_only_the_notes_of_dead_processes_are_read(tmp_path: Path) -> None:
    living, reading = (NoteFiles(tmp_path / "folder" / "store") for _ in range(2))
    note = Note()
    living.open("p1", note)
    note.on("i1", "x")
    assert list(reading.left()) == []
    [file] = (tmp_path / "folder").iterdir()
    assert (S_IMODE(file.stat().st_mode), S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    living.let_go()  # as the kernel does when a process ends
    assert list(reading.left()) == [Left("p1", Noted("i1", "x"))] == list(reading.left())
    reading.forget("p1")
    assert list(reading.left()) == []


def left_behind(folder: Path, *, is_private: bool = False) -> NoteFiles:
    """The notes of a process that died of i1."""
    files, note = NoteFiles(folder / "store", is_private=is_private), Note()
    files.open("p1", note)
    note.on("i1", "x")
    files.let_go()
    return files


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_folder_of_notes_that_others_may_enter_is_neither_written_nor_read(
    tmp_path: Path, mode: int
) -> None:
    folder = tmp_path / "notes"
    left_behind(folder, is_private=True)
    reading = NoteFiles(folder / "store", is_private=True)
    assert len(list(reading.left())) == 1
    folder.chmod(mode)
    assert list(reading.left()) == []
    reading.open("p2", Note())
    assert [each.name for each in folder.iterdir()] == ["store.deciding-p1"]


def test_a_folder_of_notes_of_another_user_is_neither_written_nor_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "notes"
    left_behind(folder, is_private=True)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    for is_private in (True, False):
        assert list(NoteFiles(folder / "store", is_private=is_private).left()) == []
    NoteFiles(folder / "store", is_private=True).open("p2", Note())
    assert [each.name for each in folder.iterdir()] == ["store.deciding-p1"]


def test_a_note_that_others_may_have_written_accuses_no_instance(tmp_path: Path) -> None:
    left_behind(tmp_path)
    note, reading = tmp_path / "store.deciding-p1", NoteFiles(tmp_path / "store")
    assert len(list(reading.left())) == 1
    note.chmod(0o622)
    assert list(reading.left()) == []
    note.chmod(0o600)
    note.rename(tmp_path / "elsewhere")
    note.symlink_to(tmp_path / "elsewhere")
    assert list(reading.left()) == []


def test_a_note_that_cannot_be_removed_stops_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = left_behind(tmp_path)

    def refused(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(Path, "unlink", refused)
    reading.forget("p1")
    reading.close()


def test_a_process_that_stops_or_dies_between_decisions_leaves_no_note(tmp_path: Path) -> None:
    files = [NoteFiles(tmp_path / "store") for _ in range(2)]
    for number, each in enumerate(files):
        each.open(f"p{number}", Note())
    files[0].close()
    files[1].let_go()
    assert list(NoteFiles(tmp_path / "store").left()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_costs_the_note_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "in the way").touch()
    note = Note()
    files = NoteFiles(tmp_path / "in the way" / "store", seconds=10)
    files.open("p1", note)
    note.on("i1", "x")
    note.off()
    files.close()


def test_the_system_says_whether_a_process_is_paused_and_how_long_it_has_computed() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        is_paused, computed = _state(process.pid, process.pid)
        assert (is_paused, computed is not None) == (False, True)
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert _state(process.pid, process.pid)[0]
        process.send_signal(signal.SIGCONT)
        process.kill()
    assert _state(process.pid, process.pid) == (False, None)


def verdicts(
    looks: int, *, computing: float | None, is_paused: bool = False, can_stop: bool = True
) -> list[tuple[int, str]]:
    """What is done at which look, where one may take ten and a look computes for a share of it."""
    rule, found = Rule(10.0, can_stop=can_stop), list[tuple[int, str]]()
    for look in range(looks):
        computed = None if computing is None else 7.0 + computing * look
        if (verdict := rule.look(3, computed, is_paused=is_paused)) is not None:
            found.append((look, verdict))
            if verdict == KILL:
                break
    return found


def test_a_decision_that_computes_on_is_stopped_and_then_its_process_killed() -> None:
    assert verdicts(99, computing=1.0) == [(10, STOP), (15, KILL)]
    assert verdicts(99, computing=1.0, can_stop=False) == [(10, KILL)]
    assert verdicts(99, computing=None) == [(10, STOP), (15, KILL)], "where all time counts"


def test_a_decision_that_gets_no_processor_or_whose_process_is_paused_is_left_alone() -> None:
    assert verdicts(99, computing=0.0) == []
    assert verdicts(99, computing=0.1) == [], "a tenth of a processor"
    assert verdicts(999, computing=0.0, is_paused=True) == []


def test_a_decision_that_blocks_for_much_longer_without_computing_is_found() -> None:
    assert verdicts(999, computing=0.0) == [(100, STOP), (150, KILL)]
    assert verdicts(999, computing=0.0, can_stop=False) == [(100, KILL)]


def test_each_decision_has_its_own_time() -> None:
    rule = Rule(10.0, can_stop=True)
    for look in range(200):
        assert rule.look(1 + look // 9, float(look)) is None
    assert rule.look(0, 500.0) is None


def test_the_watchdog_reads_what_the_process_writes() -> None:
    """It is a program of its own, which imports nothing: both must mean the same bytes."""
    there = watchdog_process
    assert (there._SIZE, there._ACCUSED, there._HUNG, there._TEXT) == (
        notes.SIZE,
        notes.ACCUSED,
        notes.HUNG,
        notes.TEXT,
    )
    assert Path(there.__file__) == watchdog._SCRIPT
