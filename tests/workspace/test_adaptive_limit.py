"""The adaptive limit as users set and see it, over an engine and over HTTP."""

from __future__ import annotations

import pytest

from tenuto.model.errors import InvalidInput
from tenuto.model.json import Object
from tenuto.model.load import LoadReport, LoadTargets, ResourceBasedLimits
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

RULES: Object = {
    "enabled": True,
    "min": 3,
    "max": 30,
    "targets": {"loopLagMs": 50, "commitMs": 40, "memoryPercent": 70},
}


async def test_the_adaptive_limit_is_set_seen_and_removed(place: Place) -> None:
    """`GET/PUT /concurrency` (`If-Match`): `{globalMaxConcurrent, workflowTypeLimits, tenantLimits,
    userLimits, resourceBasedLimits: {enabled, min, max, targets: {loopLagMs, commitMs,
    memoryPercent}}, queue: {order: fifo|priority|deadline, bound, aging, perTenantShare}}`; only an
    admin of the whole service sets global ones."""
    limits = place.workspace.limits
    saved = await limits.set({"globalMaxConcurrent": 20, "resourceBasedLimits": RULES})
    targets = LoadTargets(loop_lag_ms=50, commit_ms=40, memory_percent=70)
    assert saved.resource_based_limits == ResourceBasedLimits(
        enabled=True, min=3, max=30, targets=targets
    )
    assert saved.effective is not None
    assert 3 <= saved.effective.limit <= 20
    await place.app.engine.store.load_reports.report(
        LoadReport(
            process_id="another",
            asked=2,
            loop_lag_ms=1,
            commit_ms=80,
            memory_percent=9,
            reason="lowered: commit latency 80 ms of 40 ms",
            at_ms=int(place.app.engine.clock.now().timestamp() * 1_000),
        ),
        before=None,
    )
    seen = (await limits.get()).effective
    assert seen is not None
    assert (seen.limit, seen.reason) == (3, "lowered: commit latency 80 ms of 40 ms")
    assert seen.readings is not None
    assert seen.readings.commit_ms == 80
    off = await limits.set({"resourceBasedLimits": {**RULES, "enabled": False}})
    assert off.effective is None
    assert off.resource_based_limits is not None
    again = await limits.set({**RULES_GONE, "version": off.version, "effective": None})
    assert again.resource_based_limits is None


async def test_the_adaptive_limit_is_switched_on_and_off_by_true_and_false(place: Place) -> None:
    limits = place.workspace.limits
    for is_enabled in (True, False):
        saved = await limits.set({"resourceBasedLimits": is_enabled})
        assert saved.resource_based_limits == ResourceBasedLimits(enabled=is_enabled)
        assert (saved.effective is not None) is is_enabled
        assert (await limits.get()).resource_based_limits == saved.resource_based_limits


RULES_GONE: Object = {"globalMaxConcurrent": 20}


@pytest.mark.parametrize(
    ("rules", "paths"),
    [
        ({"enabled": True, "min": 50, "max": 10}, ["min"]),
        ({"min": 50, "max": 10, "cpu": 3}, ["cpu", "min"]),
        ({"enabled": "yes", "min": 0, "max": 10**9}, ["enabled", "min", "max"]),
        (
            {"targets": {"loopLagMs": 0, "commitMs": -1, "memoryPercent": 101, "cpu": 1}},
            ["targets.loopLagMs", "targets.commitMs", "targets.memoryPercent", "targets.cpu"],
        ),
        ({"least": 1, "targets": 5}, ["least", "targets"]),
        ("yes", [""]),
    ],
)
async def test_rules_that_cannot_be_used_are_refused_with_all_their_problems(
    place: Place, rules: Object, paths: list[str]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await place.workspace.limits.set({"resourceBasedLimits": rules})
    problems = refused.value.problems
    assert {each.code for each in problems} == {"TEN-2860"}
    where = [each.path.removeprefix("$.resourceBasedLimits").lstrip(".") for each in problems]
    assert sorted(where) == sorted(paths)
    assert all(each.advice for each in problems)
    assert (await place.workspace.limits.get()).resource_based_limits is None
