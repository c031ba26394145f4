"""The lines of an attempt: on one line each, and no more than are kept."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tenuto.model.task_logs import (
    MOST_BYTES,
    MOST_TEXT,
    LogChunk,
    LogLine,
    arrived_chunk,
    cleaned,
    recorded_chunk,
)
from tenuto.tasks.attempt_log import AttemptLog, Line

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    """Ticks that a test sets."""

    def __init__(self) -> None:
        self.ticks = 100.0

    def __call__(self) -> float:
        return self.ticks


def made(clock: Clock | None = None) -> AttemptLog:
    return AttemptLog(clock or Clock(), lambda: None)


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (["a\nb\n"], ["a", "b"]),
        (["a", " ", "b", "\n"], ["a b"]),
        (["no end"], ["no end"]),
        (["\n"], [""]),
        (["windows\r\n"], ["windows"]),
        (["1%\r2%\r", "3%\r", "4%"], ["4%"]),
        (["9%\r"], ["9%"]),
        (["\x1b[31mred\x1b[0m\n"], ["red"]),
        (["\x1b]0;title\x07text\n"], ["text"]),
        (["nul\0 bell\a \u202ereversed\n"], ["nul\\u0000 bell\\u0007 \\u202ereversed"]),
        (["lone \ud800\n"], ["lone ?"]),
        (["x" * (MOST_TEXT + 5) + "\n"], ["x" * MOST_TEXT + "…"]),
        (["x" * MOST_TEXT, "y" * MOST_TEXT], ["x" * MOST_TEXT + "…"]),
    ],
)
def test_what_is_printed_becomes_lines_that_control_no_terminal(
    written: list[str], kept: list[str]
) -> None:
    log = made()
    for text in written:
        log.write("stdout", text)
    assert texts(log.end()) == kept


def test_streams_do_not_mix_and_order_is_kept() -> None:
    log = made()
    log.write("stdout", "out ")
    log.write("stderr", "err\n")
    log.write("stdout", "put\n")
    assert [(each.stream, each.text) for each in log.end()] == [
        ("stderr", "err"),
        ("stdout", "out put"),
    ]


def test_the_first_and_the_last_lines_are_kept_and_the_number_of_those_between() -> None:
    log = made()
    first = []
    for number in range(10_000):
        log.write("stdout", f"line {number}\n")
        first += log.take()
    rest = log.end()
    lines = [*first, *rest]
    assert lines[0].text == "line 0"
    assert lines[-1].text == "line 9999"
    [mark] = [each for each in lines if each.dropped]
    assert mark.text == f"… {mark.dropped:,} lines were left out"
    assert mark.dropped + len(lines) - 1 == 10_000
    chunk = log.chunk(lines, NOON)
    assert sum(line.size for line in chunk.lines) <= MOST_BYTES
    assert recorded_chunk(chunk) == chunk
    log.write("stdout", "too late\n")
    assert log.end() == []


def test_one_huge_text_is_bounded_too() -> None:
    log = made()
    log.write("stderr", "begin\n" + "x\n" * 2_000_000 + "end\n")
    lines = log.end()
    assert (lines[0].text, lines[-1].text) == ("begin", "end")
    assert sum(each.dropped or 1 for each in lines) == pytest.approx(2_000_002, abs=3)


def test_a_record_has_its_level_its_logger_and_its_traceback() -> None:
    log = made()
    with pytest.raises(ValueError, match="no") as caught:
        int("no")
    told = (caught.type, caught.value, caught.tb)
    log.record(logging.LogRecord("shop", logging.ERROR, "f", 1, "%s failed", ("it",), told))
    log.record(logging.LogRecord("shop", logging.INFO, "f", 1, "%d", ("no number",), None))
    lines = log.end()
    assert lines[0].text == "it failed"
    assert lines[1].text == "Traceback (most recent call last):"
    assert lines[-2].text.startswith("ValueError: ")
    assert lines[-1].text == "%d"
    assert {(each.level, each.logger) for each in lines[:-1]} == {("error", "shop")}


def test_the_names_of_a_record_are_cleaned_cut_and_counted() -> None:
    log = made()
    for _ in range(1_000):
        name = "file-\udcff.txt" + "x" * 10_000
        log.record(logging.LogRecord(name, logging.ERROR, "f", 1, "a", (), None))
    lines = log.end()
    assert lines[0].logger == "file-?.txt" + "x" * 190
    chunk = log.chunk(lines, NOON)
    assert len(msgspec.json.encode(chunk)) < 2 * MOST_BYTES
    assert recorded_chunk(chunk) == chunk


def test_lines_are_numbered_over_chunks_and_have_the_time_at_which_they_came() -> None:
    clock = Clock()
    log = made(clock)
    log.write("stdout", "a\n")
    clock.ticks += 2
    log.write("stdout", "b\n")
    early = log.chunk(log.take(), NOON)
    log.write("stdout", "c\n")
    late = log.chunk(log.end(), NOON)
    assert [line.at for line in early.lines] == [NOON - timedelta(seconds=2), NOON]
    assert (early.first, late.first, late.lines[0].text) == (0, 2, "c")


def test_lines_of_a_worker_are_cleaned_and_bounded_and_have_no_secrets() -> None:
    def line(text: str) -> LogLine:
        return LogLine(at=NOON, text=text, level="in\nfo", logger="x" * 500)

    sent = LogChunk(lines=(line("\x1b[2Ja\n"), line("postgresql://ann:hunter2@db"), line("é" * 9)))
    [first, second, third] = recorded_chunk(sent).lines
    assert (first.text, first.level, len(first.logger or "")) == ("a\\u000a", "in\\u000afo", 200)
    assert second.text == "postgresql://…@db"
    assert third.size == 64 + 18 + len(third.level or "") + 200
    many = LogChunk(lines=tuple(line("x" * 1_000) for _ in range(100)))
    assert len(recorded_chunk(many).lines) == MOST_BYTES // (1_000 + 64 + 10 + 200)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode({"lines": [{"text": "x"}]}), type=LogChunk)


def test_what_a_worker_sends_is_cut_before_it_is_cleaned() -> None:
    huge = LogLine(
        at=NOON, text="abcd" + "\x1b[0m" * 250_000, level="l" * 10**6, logger="n" * 10**6
    )
    chunk = arrived_chunk(LogChunk(first=7, lines=(huge,) * 100))
    assert sum(line.size for line in chunk.lines) <= 2 * MOST_BYTES
    [line, *_] = recorded_chunk(chunk).lines
    assert (chunk.first, line.text, line.logger) == (7, "abcd…", "n" * 200)
    usual = LogChunk(lines=(LogLine(at=NOON, text="b", stream="stdout"),))
    assert arrived_chunk(usual) == usual


def test_ordinary_text_is_kept_as_it_is() -> None:
    for text in ("", "a b", "naïve 日本", "tab\there"):
        assert cleaned(text) == text


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("connect password=hunter2 host=db", "connect password=… host=db"),
        ("token: abc.def-1, next", "token: …, next"),
        ('{"client_secret": "s3", "n": 1}', '{"client_secret": "…", "n": 1}'),
        ("DB_PASSWORD='x y'", "DB_PASSWORD='…'"),
        ("Authorization: Bearer abc", "Authorization: Bearer …"),
        ("key AKIA" + "IOSFODNN7EXAMPLE used", "key … used"),
        ("paid with sk_live_4eC39HqLyjWD", "paid with …"),
        ("the token has expired; 3 tokens, keys: 4", "the token has expired; 3 tokens, keys: 4"),
    ],
)
def test_a_secret_that_a_task_logs_by_its_name_is_hidden(said: str, kept: str) -> None:
    [line] = recorded_chunk(LogChunk(lines=(LogLine(at=NOON, text=said),))).lines
    assert line.text == kept
