"""What a turn writes, as arrays."""

from __future__ import annotations

from tenuto.store.parts.jobs import JobKey, JobRow, Lease
from tenuto.store.postgres.turn_rows import ended_jobs, leased, other_parts, part
from tests.store.situations import NOON, step, turn

KEY = JobKey("i1", "a", "", 1)
LEASE = Lease(KEY, 7)


def test_a_column_without_a_value_is_sent_empty() -> None:
    """`unnest` fills up with NULL, and nobody has to say it for each row."""
    made = part("keys", [("t", None, "a", None), ("t", None, "b", b"x")])
    assert made.parameters() == {
        "tenant": ("t", "t"),
        "key": (),
        "instance_id": ("a", "b"),
        "content_hash": (None, b"x"),
    }


def test_without_rows_all_columns_are_empty() -> None:
    assert part("owned", []).parameters() == {"instance_id": ()}


def test_a_job_that_ends_under_its_lease_is_looked_up_once() -> None:
    """The gate itself withdraws it: no part beside it checks the lease, or deletes the row."""
    writes = [step("i1", 1, leases=(LEASE,), jobs_withdrawn=(KEY,))]
    ended = ended_jobs(writes)
    assert ended == {KEY: 7}
    assert leased(writes, ended) == []
    assert other_parts(turn("t1", *writes), writes, 0, ended.keys()) == []


def test_a_lease_on_what_goes_on_or_is_offered_anew_is_only_checked() -> None:
    again = JobRow(key=KEY, task_id="ship", offered_at=NOON)
    for write in (
        step("i1", 1, leases=(LEASE,)),
        step("i1", 1, leases=(LEASE,), jobs_withdrawn=(KEY,), jobs_offered=(again,)),
    ):
        assert ended_jobs([write]) == {}
        assert leased([write]) == [("i1", "a", "", 1, 7)]
