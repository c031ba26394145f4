"""Which commits wait for the disk: all but those whose work can be done again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tenuto.store.sqlite.session import Session

NORMAL, FULL = 1, 2


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    made = Session(str(tmp_path / "ahead.db"), "writer_settings", may_create=True)
    yield made
    made.close()


def waits_for_disk(session: Session) -> int:
    [(found,)] = session.connection.execute("PRAGMA synchronous")
    assert isinstance(found, int)
    return found


def test_a_write_durable_later_waits_for_no_disk_and_the_next_write_does(session: Session) -> None:
    assert session.write_durable_later(lambda: waits_for_disk(session)) == NORMAL
    assert session.write(lambda: waits_for_disk(session)) == FULL


def test_a_write_durable_later_that_fails_leaves_the_next_write_as_durable_as_ever(
    session: Session,
) -> None:
    def fail() -> None:
        session.connection.execute("CREATE TABLE half_done (a)")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        session.write_durable_later(fail)
    assert session.write(lambda: waits_for_disk(session)) == FULL
    with pytest.raises(apsw.SQLError):
        session.connection.execute("SELECT * FROM half_done")
