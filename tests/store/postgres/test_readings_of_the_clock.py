"""Limits that are set together rest on one reading of the server's clock."""

from __future__ import annotations

import pytest

from tenuto.store.parts.jobs import Lapsed, Overrun
from tests.store.postgres.conftest import Opener, run
from tests.store.situations import NOON
from tests.store.test_jobs_of_workers import AT_ONCE, LEASE, claim, job, leases, offer

pytestmark = pytest.mark.asyncio

_HASTY = """
CREATE SEQUENCE tenuto.readings;
CREATE OR REPLACE FUNCTION tenuto.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint + nextval('tenuto.readings')
$$;
"""
"""As on a machine that is so busy that a millisecond passes between any two readings."""


async def test_a_lease_that_ends_with_the_time_out_says_so_on_a_busy_server(
    bare_url: str, opened: Opener
) -> None:
    store = await opened(bare_url)
    await run(bare_url, _HASTY)
    await offer(store, job("i1", timeout=AT_ONCE))
    [lease] = leases(await store.jobs.claim_for_worker(claim(), NOON))
    [lapsed] = (await store.jobs.claim([], 0, LEASE, NOON)).lapsed
    assert lapsed == Lapsed(lease, clean=False, overrun=Overrun("timeout", 0.0))
