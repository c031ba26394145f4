"""Tables full of dead rows, plans made for empty tables, somebody who reads for ages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.postgres.pathologies import (
    Pathology,
    dead_rows,
    endure,
    long_snapshot,
    stale_statistics,
)

PATHOLOGIES = [long_snapshot, stale_statistics, dead_rows]


@pytest.mark.slow
@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("pathology", "rows"),
    [(long_snapshot, 10_000), (stale_statistics, 10_000), (dead_rows, 100_000)],
)
async def test_claims_keep_to_their_limit_and_work_goes_on(
    tmp_path: Path, pathology: Pathology, rows: int
) -> None:
    """ "Store pathologies": a long snapshot, stale statistics, 100,000 dead rows in each queue."""
    await endure(tmp_path, pathology, rows)


@pytest.mark.soak
@pytest.mark.asyncio
@pytest.mark.parametrize("pathology", PATHOLOGIES)
async def test_work_goes_on_beside_a_million_rows_that_are_dead(
    tmp_path: Path, pathology: Pathology
) -> None:
    await endure(tmp_path, pathology, 1_000_000)
