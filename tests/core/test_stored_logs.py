"""Logs written once are read for ever: the same bytes, the same state."""

from __future__ import annotations

import msgspec
import pytest

from tenuto.core import Plan, blank, decide, fold, outstanding, snapshot
from tenuto.definition import compile_definition
from tenuto.model.entries import Entry, EventType
from tenuto.model.log import KINDS, LogRow, UnknownEntry, from_row, to_row, to_rows
from tests.core.holding import check_snapshot, folded
from tests.core.play import ID, Run
from tests.golden.shelf import (
    FOLDER,
    INPUTS,
    NAMES,
    STORIES,
    SUPERSEDED,
    inputs_of,
    shown,
    stored,
)


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_log_is_read_as_it_was_written(name: str) -> None:
    for row in stored(name).rows:
        assert to_row(row.seq, from_row(row)) == row


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_log_folds_to_what_it_did(name: str) -> None:
    log = stored(name)
    run = Run(log.definition)
    run.state = blank(ID)
    for row in log.rows:
        entry = from_row(row)
        run.state = fold(run.plan, run.state, entry)
        run.entries.append(entry)
        check_snapshot(run.state, run.entries)
    assert run.state.status.is_final
    assert outstanding(run.plan, run.state, run.policies) == ()
    assert msgspec.to_builtins(shown(run)) == log.folds_to


@pytest.mark.parametrize("name", sorted({*NAMES} - SUPERSEDED.keys()))
def test_the_inputs_of_a_stored_log_are_decided_on_as_they_were(name: str) -> None:
    """A decision depends on its arguments alone: plan, state, input, moment and policies."""
    log = stored(name)
    plan, state = Plan(compile_definition(log.definition)), blank(ID)
    policies = {each.policies.version: each.policies for each in STORIES[name]().told}
    rows: list[LogRow] = []
    for each in inputs_of(name):
        decision = decide(plan, state, each.input, each.at, policies[each.policies])
        assert len(decision.entries) == each.entries
        rows += to_rows(state.version + 1, decision.entries)
        state = decision.state
    assert rows == log.rows


def test_snapshots_of_an_older_program_are_read_as_what_their_logs_fold_to() -> None:
    """In shape 4, by a program that spelled out every field of a snapshot."""
    for each in msgspec.json.decode((FOLDER / "snapshots" / "shape_4.json").read_bytes()):
        log, kept = stored(each["log"]), each["snapshot"].encode()
        entries = [from_row(row) for row in log.rows[: each["version"]]]
        needed = {seq: entries[seq - 1] for seq in snapshot.references(kept)}
        plan = Plan(compile_definition(log.definition))
        assert snapshot.decode(kept, needed) == folded(plan, ID, entries)


def test_every_kind_of_entry_that_is_written_has_a_stored_example() -> None:
    """A new type needs a changelog line and a stored example log."""
    written = {row.event_type for name in NAMES for row in stored(name).rows}
    assert written == set(KINDS)
    assert written <= {kind.value for kind in EventType}


def test_every_stored_log_is_read_by_these_tests() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.json")) == sorted(NAMES)
    assert {file.stem for file in INPUTS.glob("*.json")} == {*NAMES} - SUPERSEDED.keys()


def rows() -> list[LogRow]:
    return [row for name in NAMES for row in stored(name).rows]


def read(row: LogRow) -> Entry | None:
    """The entry, or None when the damage was seen; anything else is an error."""
    try:
        return from_row(row)
    except UnknownEntry:
        return None


def test_a_payload_cut_short_is_seen() -> None:
    for row in rows():
        for length in range(1, len(row.payload or b"")):
            assert row.payload is not None
            assert read(row._replace(payload=row.payload[:length])) is None


def test_a_flipped_bit_is_seen_or_leaves_an_entry_that_can_be_kept() -> None:
    """Text and numbers may change unseen; what comes out is an entry all the same."""
    damaged = unseen = 0
    for row in rows():
        body = row.payload or b""
        for place in range(len(body)):
            bit = 1 << (place + row.seq) % 8
            payload = body[:place] + bytes([body[place] ^ bit]) + body[place + 1 :]
            entry = read(row._replace(payload=payload))
            damaged += 1
            if entry is not None:
                unseen += 1
                assert from_row(to_row(row.seq, entry)) == entry
    assert damaged > 5_000
    assert unseen < damaged


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("event_type", "NODE_VANISHED"),
        ("event_type", ""),
        ("payload", b"null"),
        ("payload", b"[1]"),
        ("payload", b'"text"'),
        ("payload", b"\xff\xfe"),
        ("payload", b'{"$shape":9}'),
        ("payload", b'{"$shape":0}'),
        ("payload", b'{"$shape":"1"}'),
        ("payload", b'{"output":' + b"[" * 5_000),
        ("at_ms", 10**18),
        ("at_ms", -(10**18)),
    ],
)
def test_a_damaged_column_is_seen(column: str, value: object) -> None:
    for row in rows():
        assert read(row._replace(**{column: value})) is None  # type: ignore[arg-type]


def test_a_row_without_its_node_is_seen() -> None:
    for row in rows():
        if row.node_id is not None:
            assert read(row._replace(node_id=None)) is None


@pytest.mark.parametrize("status", ["", "fine", None])
def test_an_outcome_that_is_none_is_seen(status: str | None) -> None:
    for row in rows():
        if row.event_type == "NODE_COMPLETED":
            assert read(row._replace(node_status=status)) is None
