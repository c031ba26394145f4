"""Two processes on one database that call the same host."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from tenuto import Tenuto
from tenuto.engine.settings import Settings
from tenuto.model.errors import WorkflowFailed
from tenuto.model.host_limits import HostLimits
from tenuto.model.json import Object
from tests.built_in.test_http import HERE, answer_once_full, cause_of, step
from tests.kit.postgres_database import fresh_database
from tests.kit.turns import turns
from tests.kit.web_site import web_site

pytestmark = pytest.mark.asyncio


def settings(limits: HostLimits) -> Settings:
    return Settings(private_networks=HERE, host_limits={"*": limits}, watch_every=0.05)


async def test_the_limit_of_a_host_holds_exactly_for_processes_that_share_a_database() -> None:
    limited = settings(HostLimits(concurrency=2))
    url = await fresh_database()
    async with (
        web_site() as site,
        Tenuto(url, settings=limited) as one,
        Tenuto(url, settings=limited) as other,
    ):
        site.answers["/"] = partial(answer_once_full, site, 2)
        await one.deploy(step(site.url))
        started = [await (one, other)[number % 2].start("w") for number in range(10)]
        await asyncio.gather(*(each.result(60) for each in started))
        assert (len(site.asked), site.most_at_once) == (10, 2)


async def test_a_breaker_that_one_process_opens_holds_the_other_and_is_explained() -> None:
    """Breaker, bulkhead and rate limit exist per push target, per host of `http` nodes and per data
    source."""
    limited = settings(HostLimits(breaker_failures=3, breaker_open_for=3_600))
    url = await fresh_database()
    async with (
        web_site() as site,
        Tenuto(url, settings=limited) as one,
        Tenuto(url, settings=limited) as other,
    ):
        site.says("/", "{}", 500)
        retry: Object = {"maxAttempts": 3, "initialDelay": 1, "maxDelay": 1}
        await one.deploy(step(site.url, retry=retry))
        with pytest.raises(WorkflowFailed):
            await (await one.start("w")).result(60)
        while not one.engine.gate.open_breakers("default"):
            await turns(1)
        assert len(site.asked) == 3
        waiting = await other.start("w")
        for process in (other, one):
            cause = await cause_of(await process.instance(waiting.id), "breaker")
            assert cause["details"]["target"] == f"127.0.0.1:{site.port}"
            assert cause["since"] < cause["until"]
        assert len(site.asked) == 3
