"""Limits and the queue: set, seen, and obeyed at once, over an engine and over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from tenuto import sleep, wait_event, workflow
from tenuto.model.errors import (
    Conflict,
    InvalidDefinition,
    InvalidInput,
    NotFound,
    Overloaded,
    TenutoError,
)
from tenuto.model.json import JSON, Object
from tenuto.model.status import Status
from tenuto.python_form.workflow import WorkflowFunction
from tenuto.workspace.values import Start
from tests.workspace.conftest import Place

pytestmark = pytest.mark.asyncio

HELD: Object = {
    "id": "held",
    "steps": [{"stepId": "go", "type": "EVENT_WAIT", "eventPattern": "go.on"}],
    "options": {"concurrency": {"limit": 100, "holdWhileWaiting": True}},
}
STEP: Object = {"stepId": "print", "type": "TASK", "taskId": "by-a-worker"}
GUARDED: Object = {"id": "guarded", "steps": [{**STEP, "mutex": "printer"}]}
LATE = "019b76da-a80b-700b-8bfa-7f79677734d0"


async def started(place: Place, count: int) -> list[str]:
    await place.app.deploy(HELD)
    return [(await place.workspace.start("held", {"n": n})).id for n in range(count)]


async def test_instances_beyond_a_limit_wait_and_a_raised_one_admits_them(place: Place) -> None:
    limits = place.workspace.limits
    assert (await limits.get()).global_max_concurrent is None
    saved = await limits.set({"globalMaxConcurrent": 1})
    ids = await started(place, 3)
    await until(place, ids[0], Status.WAITING_FOR_EVENT)
    page = await limits.queue()
    assert [(each.instance_id, each.position) for each in page.items] == [(ids[1], 1), (ids[2], 2)]
    assert page.items[0].waiting_for[0].limit == "global"
    assert (page.items[0].waiting_for[0].held, page.items[0].waiting_for[0].max) == (1, 1)
    explained = await (await place.workspace.instance(ids[2])).explain()
    [cause, *_] = msgspec.convert(explained["causes"], list[Object])
    message = f"position 2 of 2; limit global 1 of 1, held by {ids[0]}"
    assert (cause["kind"], cause["message"]) == ("slot", message)
    raised = await limits.set({"globalMaxConcurrent": 2}, only_after=saved.version)
    assert raised.version > saved.version
    await until(place, ids[1], Status.WAITING_FOR_EVENT)
    assert await (await place.workspace.instance(ids[2])).status() is Status.CREATED
    await limits.set({})
    await until(place, ids[2], Status.WAITING_FOR_EVENT)


async def test_a_waiting_instance_is_promoted_kept_back_and_released(place: Place) -> None:
    """`GET /queue?limit=&workflowId=` items `{instanceId, position, waitingFor: [{limit, held,
    max}], priority, deadline, since, held?}`, `POST /queue/{instanceId}/promote · hold · release`,
    `POST /queue/rules {when (expression over the instance), priority?, hold?}`."""
    limits = place.workspace.limits
    await limits.set({"workflowTypeLimits": {"*": 1}})
    ids = await started(place, 4)
    await until(place, ids[0], Status.WAITING_FOR_EVENT)
    await limits.hold(ids[1])
    await limits.promote(ids[3])
    page = await limits.queue(workflow="held", limit=2)
    assert [each.instance_id for each in page.items] == [ids[3], ids[1]]
    assert [each.held for each in page.items] == [False, True]
    assert page.next_cursor is not None
    assert len(page.next_cursor) < 100, "it is typed after `--cursor`"
    rest = await limits.queue(cursor=page.next_cursor)
    assert [(each.instance_id, each.position) for each in rest.items] == [(ids[2], 3)]
    await (await place.workspace.instance(ids[0])).cancel()
    await until(place, ids[3], Status.WAITING_FOR_EVENT)
    await (await place.workspace.instance(ids[3])).cancel()
    await until(place, ids[2], Status.WAITING_FOR_EVENT)
    await limits.release(ids[1])
    await (await place.workspace.instance(ids[2])).cancel()
    await until(place, ids[1], Status.WAITING_FOR_EVENT)
    with pytest.raises(NotFound):
        await limits.hold(LATE)


async def test_what_cannot_be_promoted_held_or_released_is_told_why(place: Place) -> None:
    limits = place.workspace.limits
    await limits.set({"workflowTypeLimits": {"*": 1}})
    running, waiting = await started(place, 2)
    await until(place, running, Status.WAITING_FOR_EVENT)

    async def said(act: Callable[[str], Awaitable[None]], id: str) -> str:
        with pytest.raises(Conflict) as refused:
            await act(id)
        assert refused.value.code == "TEN-3193"
        return refused.value.message.removeprefix(f"instance {id} ")

    runs = "does not wait in the queue: it has its slot, and runs"
    for act in (limits.promote, limits.hold, limits.release):
        assert await said(act, running) == runs
    assert await said(limits.release, waiting) == "waits in the queue, and is not held back"
    await (await place.workspace.instance(running)).cancel()
    await until(place, running, Status.CANCELLED)
    gone = "does not wait in the queue: it needs no slot now"
    assert await said(limits.promote, running) == gone


async def test_steps_that_wait_for_a_mutex_leave_no_gaps_in_the_queue(place: Place) -> None:
    limits = place.workspace.limits
    await place.app.deploy(GUARDED)
    for n in range(5):
        await place.workspace.start("guarded", {"n": n})
    await limits.set({"workflowTypeLimits": {"held": 0}})
    ids = await started(place, 3)
    page = await limits.queue(limit=2)
    assert [(each.instance_id, each.position) for each in page.items] == [(ids[0], 1), (ids[1], 2)]
    rest = await limits.queue(limit=2, cursor=page.next_cursor)
    assert [(each.instance_id, each.position) for each in rest.items] == [(ids[2], 3)]
    assert rest.next_cursor is None


async def test_an_instance_has_one_position_in_the_queue_with_a_filter_and_without(
    place: Place,
) -> None:
    limits = place.workspace.limits
    await place.app.deploy({**HELD, "id": "plain"})
    await limits.set({"workflowTypeLimits": {"*": 0}})
    await started(place, 2)
    plain = [(await place.workspace.start("plain", {})).id for _ in range(2)]
    await started(place, 1)
    last = (await place.workspace.start("plain", {})).id
    await place.app.engine.admissions.run_once()
    whole = {each.instance_id: each.position for each in (await limits.queue()).items}
    page = await limits.queue(workflow="plain", limit=2)
    rest = await limits.queue(workflow="plain", cursor=page.next_cursor)
    found = {each.instance_id: each.position for each in (*page.items, *rest.items)}
    assert found == {plain[0]: 3, plain[1]: 4, last: 6}
    assert found.items() <= whole.items()
    explained = await (await place.workspace.instance(last)).explain()
    said = "position 3 of 3 for this limit, 6 in the queue; limit type:default/plain 0 of 0"
    assert str(explained["summary"]).startswith(said)


async def test_a_waiting_instance_is_cancelled_and_never_runs(place: Place) -> None:
    await place.workspace.limits.set({"globalMaxConcurrent": 0})
    [id] = await started(place, 1)
    await (await place.workspace.instance(id)).cancel("not needed")
    assert await (await place.workspace.instance(id)).status() is Status.CANCELLED
    assert (await place.workspace.limits.queue()).items == []


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"globalMaxConcurrent": -1}, "$.globalMaxConcurrent"),
        ({"globalMaxConcurrent": 10**9}, "$.globalMaxConcurrent"),
        ({"tenantLimits": {"a": "many"}}, "$.tenantLimits.a"),
        ({"userLimits": {"": 1}}, "$.userLimits['']"),
        ({"workflowTypeLimits": 3}, "$.workflowTypeLimits"),
        ({"queue": {"order": "random"}}, "$.queue.order"),
        ({"queue": {"aging": "soon"}}, "$.queue.aging"),
        ({"queue": {"aging": "PT0S"}}, "$.queue.aging"),
        ({"queue": {"aging": "PT0.999S"}}, "$.queue.aging"),
        ({"queue": {"aging": "P31D"}}, "$.queue.aging"),
        ({"queue": {"aging": "P100Y"}}, "$.queue.aging"),
        ({"globalLimit": 1}, "$.globalLimit"),
        ([], "$"),
    ],
)
async def test_limits_that_cannot_be_used_are_refused_with_their_place(
    place: Place, document: Object, path: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await place.workspace.limits.set(document)
    assert [(each.code, each.path) for each in refused.value.problems] == [("TEN-2835", path)]


async def test_all_problems_of_limits_are_reported_at_once(place: Place) -> None:
    document: Object = {
        "globalMaxConcurrent": -1,
        "tenantLimits": {"a": 1, "b": 2.5},
        "queue": {"order": "random", "bound": 0, "perTenantShare": {"a": 0}},
        "limits": {},
    }
    with pytest.raises(InvalidInput) as refused:
        await place.workspace.limits.set(document)
    assert [each.path for each in refused.value.problems] == [
        "$.globalMaxConcurrent",
        "$.tenantLimits.b",
        "$.queue.order",
        "$.queue.bound",
        "$.queue.perTenantShare.a",
        "$.limits",
    ]
    assert (await place.workspace.limits.get()).version == 0, "nothing was saved"


async def test_of_thousands_of_problems_of_limits_a_few_are_listed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def did_you_mean(name: str, names: object, otherwise: str) -> str:
        asked.append(name)
        return otherwise

    monkeypatch.setattr("tenuto.workspace.limits_document.did_you_mean", did_you_mean)
    cases: tuple[tuple[JSON, str], ...] = (
        ({f"globalMaxConcurren{n}": 1 for n in range(3_000)}, "2,980 more fields"),
        ({"workflowTypeLimits": {f"w{n}": -1 for n in range(3_000)}}, "there are more problems"),
        ({"resourceBasedLimits": {f"w{n}": -1 for n in range(3_000)}}, "no such field"),
        ({"resourceBasedLimits": {"targets": {f"w{n}": -1 for n in range(3_000)}}}, "no such"),
    )
    for document, last in cases:
        asked.clear()
        with pytest.raises(InvalidInput) as refused:
            await place.workspace.limits.set(document)
        assert 20 <= len(refused.value.problems) <= 101
        assert last in refused.value.problems[-1].message
        assert len(asked) <= 20


async def test_a_dry_run_says_what_a_change_would_do_and_saves_nothing(place: Place) -> None:
    """With `?dryRun=true` nothing is saved, and `preview` says how many instances would begin at
    once, how many would wait, and what becomes of each limit."""
    limits = place.workspace.limits
    saved = await limits.set({"globalMaxConcurrent": 1, "workflowTypeLimits": {"held": 3}})
    ids = await started(place, 5)
    await until(place, ids[0], Status.WAITING_FOR_EVENT)
    document: Object = {"globalMaxConcurrent": 4, "workflowTypeLimits": {"held": 3}}
    seen = await limits.set(document, dry_run=True)
    assert seen.preview is not None
    assert (seen.preview.admitted, seen.preview.waiting, seen.preview.is_complete) == (2, 2, True)
    found = {each.limit: each for each in seen.preview.limits}
    change = found["global"]
    assert (change.before.max, change.after.max) == (1, 4)
    assert (change.before.held, change.after.held, change.admitted) == (1, 3, 2)
    assert (change.before.waiting, change.after.waiting) == (4, 0)
    own = found["type:default/held"]
    assert (own.before.waiting, own.after.waiting, own.after.held) == (0, 2, 3)
    assert (await limits.get()).version == seen.version == saved.version
    assert (await limits.get()).global_max_concurrent == 1
    with pytest.raises(Conflict):
        await limits.set(document, dry_run=True, only_after=saved.version + 1)


async def test_a_dry_run_does_not_admit_what_waits_for_its_rate(place: Place) -> None:
    await place.app.deploy({**HELD, "options": {"rate": {"limit": 1, "per": "P1D"}}})
    ids = [(await place.workspace.start("held", {})).id for _ in range(2)]
    await until(place, ids[0], Status.WAITING_FOR_EVENT)
    await place.app.engine.admissions.run_once()
    seen = await place.workspace.limits.set({"globalMaxConcurrent": 9}, dry_run=True)
    assert seen.preview is not None
    assert (seen.preview.admitted, seen.preview.waiting) == (0, 1)


async def test_a_limit_below_what_runs_ends_nothing_and_says_so(place: Place) -> None:
    limits = place.workspace.limits
    await limits.set({"globalMaxConcurrent": 3})
    ids = await started(place, 3)
    for id in ids:
        await until(place, id, Status.WAITING_FOR_EVENT)
    foreseen = await limits.set({"globalMaxConcurrent": 2}, dry_run=True)
    saved = await limits.set({"globalMaxConcurrent": 2})
    for each in (foreseen, saved):
        [warning] = each.warnings
        assert (warning.code, warning.path) == ("TEN-2840", "$.globalMaxConcurrent")
        assert warning.message == "limit global 2, 3 run; nothing is ended"
        assert warning.severity == "warning"
    assert saved.preview is None
    states = [await (await place.workspace.instance(id)).status() for id in ids]
    assert states == [Status.WAITING_FOR_EVENT] * 3


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("tenantLimits", "default", "$.tenantLimits.default"),
        ("tenantLimits", "*", "$.tenantLimits.default"),
        ("workflowTypeLimits", "held", "$.workflowTypeLimits.held"),
        ("workflowTypeLimits", "*", "$.workflowTypeLimits.held"),
        ("userLimits", "*", "$.userLimits"),
    ],
)
async def test_a_limit_of_any_kind_below_what_runs_ends_nothing_and_says_so(
    place: Place, kind: str, name: str, path: str
) -> None:
    limits = place.workspace.limits
    await limits.set({kind: {name: 3}})
    for id in await started(place, 3):
        await until(place, id, Status.WAITING_FOR_EVENT)
    for dry_run in (True, False):
        [warning] = (await limits.set({kind: {name: 2}}, dry_run=dry_run)).warnings
        assert (warning.code, warning.severity) == ("TEN-2840", "warning")
        assert warning.path.startswith(path)
        assert warning.message.endswith(" 2, 3 run; nothing is ended")
    running = await place.workspace.instances(status=["WAITING_FOR_EVENT"])
    assert len(running) == 3


@pytest.mark.parametrize(
    "document",
    [
        {"globalMaxConcurrent": 1},
        {"tenantLimits": {"default": 1}},
        {"tenantLimits": {"*": 1}},
        {"workflowTypeLimits": {"*": 1}},
        {"userLimits": {"*": 1}},
        {"resourceBasedLimits": True},
    ],
)
async def test_the_first_limit_of_any_kind_says_what_it_does_not_count(
    place: Place, document: Object
) -> None:
    """One that counts another tenant alone is no limit of this one, and counts nothing of it."""
    limits = place.workspace.limits
    await place.app.deploy(GUARDED)
    for n in range(2):
        await place.workspace.start("guarded", {"n": n})
    elsewhere: Object = {"tenantLimits": {"other": 5}}
    assert (await limits.set(elsewhere)).warnings == []
    for dry_run in (True, False):
        [warning] = (await limits.set(document, dry_run=dry_run)).warnings
        assert (warning.code, warning.severity) == ("TEN-2847", "warning")
    assert (await limits.set(document)).warnings == [], "it was said when it was set"


@pytest.mark.parametrize("is_large", [False, True])
async def test_a_version_with_a_lower_limit_of_a_key_ends_nothing_and_says_so(
    place: Place, *, is_large: bool
) -> None:
    def keyed(limit: int, note: str = "") -> Object:
        concurrency: Object = {
            "limit": limit,
            "key": "{{ctx.input.customer}}",
            "holdWhileWaiting": True,
        }
        description = note + "x" * 50_000 * is_large
        return {**HELD, "description": description, "options": {"concurrency": concurrency}}

    save = place.workspace.save
    assert (await save(keyed(3))).problems == ()
    start = place.workspace.start
    ids = [(await start("held", {"customer": name})).id for name in ("a", "a", "a", "b")]
    for id in ids:
        await until(place, id, Status.WAITING_FOR_EVENT)
    assert (await save(keyed(4))).problems == ()
    [warning] = (await save(keyed(2))).problems
    assert (warning.code, warning.severity) == ("TEN-2840", "warning")
    assert warning.path == "$.options.concurrency.limit"
    assert warning.message == "limit key:default/held/a 2, 3 run; nothing is ended"
    assert (await save(keyed(2))).problems == (), "it makes no version"
    assert (await save(keyed(2, "more"))).problems == (), "it was said when it was lowered"
    states = [await (await place.workspace.instance(id)).status() for id in ids]
    assert states == [Status.WAITING_FOR_EVENT] * 4
    late = (await start("held", {"customer": "a"})).id
    await (await place.workspace.instance(ids[0])).cancel("enough")
    await until(place, ids[0], Status.CANCELLED)
    await place.app.engine.admissions.run_once()
    assert await (await place.workspace.instance(late)).status() is Status.CREATED
    await (await place.workspace.instance(ids[1])).cancel("enough")
    await until(place, late, Status.WAITING_FOR_EVENT)


async def test_a_warning_of_the_adaptive_limit_names_its_place_in_the_document(
    place: Place,
) -> None:
    for id in (ids := await started(place, 3)):
        await until(place, id, Status.WAITING_FOR_EVENT)
    assert len(ids) == 3
    rules: Object = {"enabled": True, "min": 2, "max": 2}
    saved = await place.workspace.limits.set({"resourceBasedLimits": rules})
    [warning] = saved.warnings
    assert (warning.code, warning.path) == ("TEN-2840", "$.resourceBasedLimits")


async def test_a_bound_of_the_queue_below_what_waits_is_told(place: Place) -> None:
    limits = place.workspace.limits
    await limits.set({"globalMaxConcurrent": 0})
    await started(place, 3)
    document: Object = {"globalMaxConcurrent": 0, "queue": {"bound": 2}}
    for each in (await limits.set(document, dry_run=True), await limits.set(document)):
        [warning] = each.warnings
        assert (warning.code, warning.path) == ("TEN-2846", "$.queue.bound")
        assert warning.message == "bound 2, more than that wait already; nothing is ended"
        assert warning.severity == "warning"
    assert (await limits.set(document)).warnings == [], "it was said when it was set"
    assert (await limits.set({**document, "queue": {"bound": 3}})).warnings == []
    assert len((await limits.queue()).items) == 3


async def test_limits_that_do_not_count_what_runs_say_so(place: Place) -> None:
    limits = place.workspace.limits
    await place.app.deploy(GUARDED)
    await limits.set({})
    for n in range(2):
        await place.workspace.start("guarded", {"n": n})
    document: Object = {"workflowTypeLimits": {"guarded": 1}}
    for dry_run in (True, False):
        [warning] = (await limits.set(document, dry_run=dry_run)).warnings
        assert (warning.code, warning.severity) == ("TEN-2847", "warning")
        assert warning.message.startswith("of the instances that run 2 have no slot")
    assert (await limits.set({"workflowTypeLimits": {"guarded": 2}})).warnings == []


async def test_limits_that_were_changed_meanwhile_are_not_overwritten(place: Place) -> None:
    saved = await place.workspace.limits.set({"userLimits": {"*": 5}})
    await place.workspace.limits.set({"userLimits": {"*": 6}})
    with pytest.raises(Conflict) as refused:
        await place.workspace.limits.set({"userLimits": {"*": 7}}, only_after=saved.version)
    assert refused.value.code == "TEN-3194"


async def test_starts_beyond_the_bound_of_the_queue_are_refused(place: Place) -> None:
    await place.workspace.limits.set({"globalMaxConcurrent": 0, "queue": {"bound": 2}})
    await started(place, 2)
    with pytest.raises(Overloaded) as refused:
        await place.workspace.start("held", {})
    assert refused.value.code == "TEN-2836"


async def test_limits_say_how_full_they_are_and_what_holds_their_slots(place: Place) -> None:
    """`GET /concurrency/usage`: `{items: [{limit, held, max, waiting, holders: [{instanceId,
    stepId, iteration, since}]}], isComplete}`, of the tenant's limits that are set by name or
    waited for."""
    limits = place.workspace.limits
    assert (await limits.uses()).items == []
    await limits.set({"globalMaxConcurrent": 3, "workflowTypeLimits": {"held": 1, "idle": 4}})
    ids = await started(place, 3)
    await until(place, ids[0], Status.WAITING_FOR_EVENT)
    await limits.hold(ids[2])
    await place.app.engine.admissions.run_once()
    found = await limits.uses()
    assert found.is_complete
    assert [(each.limit, each.held, each.max, each.waiting) for each in found.items] == [
        ("global", 1, 3, 0),
        ("type:default/held", 1, 1, 1),
        ("type:default/idle", 0, 4, 0),
    ]
    [holder] = found.items[1].holders
    assert (holder.instance_id, holder.step_id) == (ids[0], None)
    assert holder.since is not None


@pytest.mark.parametrize("pace", ["rate", "debounce"])
async def test_rates_and_debounces_that_are_waited_for_say_how_many_wait(
    place: Place, pace: str
) -> None:
    """Rates and debounces that instances wait for are among them, a debounce without `max`, with
    `until`: when one of them may begin."""
    day: Object = {
        "rate": {"limit": 1, "per": "P1D"},
        "debounce": {"period": "P1D", "key": "{{ctx.input.n}}"},
    }
    await place.app.deploy({**HELD, "id": "paced", "options": {pace: day[pace]}})
    ids = [(await place.workspace.start("paced", {"n": n})).id for n in (1, 2)]
    await place.app.engine.admissions.run_once()
    found = await place.workspace.limits.uses()
    assert found.is_complete
    said = [(each.limit, each.held, each.max, each.waiting) for each in found.items]
    if pace == "rate":
        assert said == [("rate:default/paced/", 1, 1, 1)]
    else:
        assert said == [(f"debounce:default/paced/{n}", 0, None, 1) for n in (1, 2)]
    assert found.items[-1].waiters[0].instance_id == ids[1]
    assert all(each.until is not None for each in found.items)


async def test_steps_that_wait_for_a_mutex_are_named_beside_its_holder(place: Place) -> None:
    """`waiters` are the first of those that wait, steps with a mutex as well."""
    await place.app.deploy(GUARDED)
    ids = [(await place.workspace.start("guarded", {})).id for _ in range(7)]
    await place.app.engine.admissions.run_once()
    [use] = (await place.workspace.limits.uses()).items
    assert (use.limit, use.held, use.max, use.waiting) == ("mutex:default/printer", 1, 1, 6)
    [holder] = use.holders
    assert (holder.instance_id, holder.step_id) == (ids[0], "print")
    assert [(each.instance_id, each.step_id) for each in use.waiters] == [
        (id, "print") for id in ids[1:6]
    ]


async def test_a_full_queue_refuses_starts_that_would_wait_and_no_repeat(place: Place) -> None:
    await place.workspace.limits.set({"globalMaxConcurrent": 0, "queue": {"bound": 3}})
    await place.app.deploy(HELD)
    results = await place.workspace.start_many(
        [Start(workflow="held", input={"n": n}, key=f"k{n}") for n in range(20)]
    )
    begun = [each for each in results if not isinstance(each, TenutoError)]
    refused = [each for each in results if isinstance(each, Overloaded)]
    assert (len(begun), len(refused)) == (3, 17), "exact for one process"
    assert {each.code for each in refused} == {"TEN-2836"}
    numbers = [n for n, each in enumerate(results) if not isinstance(each, TenutoError)]
    for n, each in zip(numbers, begun, strict=True):
        again = await place.workspace.start("held", {"n": n}, key=f"k{n}")
        assert again.id == each.id


async def test_a_queue_full_of_others_refuses_no_start_that_begins_at_once(place: Place) -> None:
    await place.workspace.limits.set({"workflowTypeLimits": {"held": 0}, "queue": {"bound": 2}})
    await place.app.deploy({**HELD, "id": "free"})
    await started(place, 2)
    with pytest.raises(Overloaded):
        await place.workspace.start("held", {})
    begun = await place.workspace.start("free", {})
    assert await begun.status() is not Status.CREATED


async def test_a_start_beyond_a_limit_that_rejects_is_refused_with_the_time_to_try_again(
    place: Place,
) -> None:
    options: Object = {"limit": 1, "key": "{{ctx.input.k}}", "onFull": "reject"}
    single: Object = {**HELD, "options": {"concurrency": {**options, "holdWhileWaiting": True}}}
    await place.app.deploy(single)
    first = await place.workspace.start("held", {"k": "a"}, key="once")
    [refused] = await place.workspace.start_many([Start(workflow="held", input={"k": "a"})])
    assert isinstance(refused, Overloaded)
    assert refused.code == "TEN-2837"
    assert (await place.workspace.start("held", {"k": "a"}, key="once")).id == first.id
    other = await place.workspace.start("held", {"k": "b"})
    await until(place, other.id, Status.WAITING_FOR_EVENT)
    await (await place.workspace.instance(first.id)).cancel()
    again = await place.workspace.start("held", {"k": "a"})
    await until(place, again.id, Status.WAITING_FOR_EVENT)
    with pytest.raises(InvalidInput) as unresolved:
        await place.workspace.start("held", {})
    [problem] = unresolved.value.problems
    assert (problem.code, problem.path) == ("TEN-2834", "$.options.concurrency.key")
    assert problem.message == "`options.concurrency.key` gives no value for this input"


@workflow("one-each", singleton="{{ctx.input.k}}", on_full="replace-oldest")
def one_each(order: dict[str, str]) -> None:
    wait_event("go.on")


@workflow("newest", singleton="{{ctx.input.k}}", on_full="keep-newest")
def newest(order: dict[str, str]) -> None:
    wait_event("go.on")


async def collapsed(place: Place, id: str) -> bool:
    """Wait until one is cancelled; whether that is because of a newer start."""
    await until(place, id, Status.CANCELLED)
    history = await (await place.workspace.instance(id)).history()
    [asked] = [each for each in history if each["eventType"] == "CANCEL_REQUESTED"]
    payload = msgspec.convert(asked["payload"], Object)
    return payload["source"] == "COLLAPSED"


async def test_a_start_beyond_a_limit_takes_the_place_of_the_oldest_that_runs(place: Place) -> None:
    await place.app.deploy(one_each)
    first, other = [(await place.workspace.start(one_each, {"k": k})).id for k in "ab"]
    for id in (first, other):
        await until(place, id, Status.WAITING_FOR_EVENT)
    second = (await place.workspace.start(one_each, {"k": "a"})).id
    assert await collapsed(place, first)
    await until(place, second, Status.WAITING_FOR_EVENT)
    assert await (await place.workspace.instance(other)).status() is Status.WAITING_FOR_EVENT


async def test_of_starts_beyond_a_limit_only_the_newest_stays(place: Place) -> None:
    await place.app.deploy(newest)
    ids = [(await place.workspace.start(newest, {"k": "a"})).id for _ in range(3)]
    assert await collapsed(place, ids[1])
    await until(place, ids[0], Status.WAITING_FOR_EVENT)
    assert [each.instance_id for each in (await place.workspace.limits.queue()).items] == [ids[2]]
    await (await place.workspace.instance(ids[0])).cancel()
    await until(place, ids[2], Status.WAITING_FOR_EVENT)


async def test_a_rule_applies_to_what_waits_and_to_new_ones_while_it_is_kept(place: Place) -> None:
    """`GET /queue?limit=&workflowId=` items `{instanceId, position, waitingFor: [{limit, held,
    max}], priority, deadline, since, held?}`, `POST /queue/{instanceId}/promote · hold · release`,
    `POST /queue/rules {when (expression over the instance), priority?, hold?}`."""
    limits = place.workspace.limits
    await limits.set({"globalMaxConcurrent": 0, "queue": {"order": "priority"}})
    await started(place, 3)
    when = "ctx.input.n >= 2 && workflow.id === 'held'"
    seen = await limits.add_rule(when, priority=7, dry_run=True)
    assert (seen.matched, seen.examined, seen.matches_all) == (1, 3, False)
    assert await limits.rules() == []
    saved = await limits.add_rule(when, priority=7, note="gold")
    assert (await limits.add_rule(when, priority=7, note="gold")).id == saved.id
    assert [(each.id, each.note) for each in await limits.rules()] == [(saved.id, "gold")]
    await place.workspace.start("held", {"n": 5})
    assert [each.priority for each in (await limits.queue()).items] == [7, 7, 0, 0]
    held = await limits.add_rule("ctx.input.n === 1", hold=True)
    assert [each.held for each in (await limits.queue()).items] == [False, False, False, True]
    for rule in (saved, held):
        await limits.remove_rule(rule.id)
    with pytest.raises(NotFound):
        await limits.remove_rule(held.id)
    await place.workspace.start("held", {"n": 9})
    assert (await limits.queue()).items[-1].priority == 0
    assert [each.priority for each in (await limits.queue()).items][:2] == [7, 7]


async def test_a_rule_that_holds_new_ones_back_lets_them_begin_once_they_are_released(
    place: Place,
) -> None:
    limits = place.workspace.limits
    await limits.add_rule("ctx.input.n === 0", hold=True, confirm=True)
    [id] = await started(place, 1)
    page = await limits.queue()
    assert [(each.instance_id, each.held) for each in page.items] == [(id, True)]
    await limits.release(id)
    await until(place, id, Status.WAITING_FOR_EVENT)


async def test_a_rule_that_matches_everything_needs_a_confirmation(place: Place) -> None:
    limits = place.workspace.limits
    await limits.set({"globalMaxConcurrent": 0})
    await started(place, 2)
    for when in ("true", "ctx.input.n >= 0"):
        assert (await limits.add_rule(when, hold=True, dry_run=True)).matches_all
        with pytest.raises(InvalidInput) as refused:
            await limits.add_rule(when, hold=True)
        assert [each.code for each in refused.value.problems] == ["TEN-2842"]
    assert [each.held for each in (await limits.queue()).items] == [False, False]
    await limits.add_rule("true", hold=True, confirm=True)
    assert [each.held for each in (await limits.queue()).items] == [True, True]


async def test_a_rule_that_holds_back_needs_a_confirmation_where_nothing_tells_what_it_matches(
    place: Place,
) -> None:
    limits = place.workspace.limits
    for when in ("workflow.version >= 1", "ctx.input.tier === 'gold'"):
        assert (await limits.add_rule(when, hold=True, dry_run=True)).matches_all
        with pytest.raises(InvalidInput) as refused:
            await limits.add_rule(when, hold=True)
        [problem] = refused.value.problems
        assert (problem.code, problem.path) == ("TEN-2842", "$.when")
        assert problem.message == "it cannot be judged: there are fewer than two instances"
    assert not (await limits.add_rule("workflow.version >= 1", priority=1)).matches_all
    [id] = await started(place, 1)
    await until(place, id, Status.WAITING_FOR_EVENT)
    assert not (await limits.add_rule("ctx.input.tier === 'gold'", hold=True)).matches_all


async def test_a_rule_is_judged_by_the_newest_instances_where_fewer_than_two_wait(
    place: Place,
) -> None:
    limits = place.workspace.limits
    for id in await started(place, 3):
        await until(place, id, Status.WAITING_FOR_EVENT)
    for many in (False, True):
        if many:  # one waits
            await limits.set({"globalMaxConcurrent": 0})
            await started(place, 1)
        with pytest.raises(InvalidInput) as refused:
            await limits.add_rule("workflow.version >= 1", priority=3)
        [problem] = refused.value.problems
        assert (problem.code, problem.path) == ("TEN-2842", "$.when")
        assert problem.message == f"the newest {3 + many} instances all match"
        saved = await limits.add_rule("ctx.input.n < 1", hold=True)
        assert (saved.examined, saved.matches_all) == (many, False)


async def test_a_constant_rule_matches_everything_or_is_refused_as_one_that_matches_nothing(
    place: Place,
) -> None:
    limits = place.workspace.limits
    for when in ("true", "1 + 1", "'a'"):
        assert (await limits.add_rule(when, hold=True, dry_run=True)).matches_all
    for when in ("false", "0", "1 > 2", "null"):
        with pytest.raises(InvalidInput) as refused:
            await limits.add_rule(when, hold=True, confirm=True, dry_run=True)
        [problem] = refused.value.problems
        assert (problem.code, problem.path) == ("TEN-2841", "$.when")
        assert problem.message == "it is true for no instance: the rule does nothing"


async def test_a_rule_that_cannot_be_used_is_refused_with_all_its_problems(place: Place) -> None:
    with pytest.raises(InvalidInput) as refused:
        await place.workspace.limits.add_rule("ctx.input.n ===", priority=10**9)
    found = [(each.code, each.path) for each in refused.value.problems]
    assert found == [("TEN-2841", "$.when"), ("TEN-2841", "$.priority")]
    with pytest.raises(InvalidInput) as empty:
        await place.workspace.limits.add_rule("steps.a.output")
    assert [each.path for each in empty.value.problems] == ["$.when", "$"]


@pytest.mark.parametrize(
    ("when", "named"),
    [
        ("workflow === 'held'", "Compare one of `workflow.id`,"),
        ("ctx == 'gold'", "Compare one of `ctx.input`."),
        ("['a'].includes(workflow.instance)", "Compare one of `workflow.instance.correlationId`,"),
        ("workflow.name === 'held'", "`workflow` has id, input, instance, version."),
        ("workflow.instance.prioritty > 1", "Did you mean `priority`?"),
        ("ctx.tier === 'gold'", "`ctx` has input."),
    ],
)
async def test_a_rule_that_names_no_value_is_refused(place: Place, when: str, named: str) -> None:
    """A rule that names no value, such as `workflow` alone, is refused."""
    with pytest.raises(InvalidInput) as refused:
        await place.workspace.limits.add_rule(f"workflow.id === 'x' || {when}", priority=10**9)
    [first, second] = refused.value.problems
    assert (first.code, first.path, second.path) == ("TEN-2845", "$.when", "$.priority")
    assert first.advice is not None
    assert first.advice.startswith(named)
    await place.workspace.limits.add_rule("workflow.id.length > 3", priority=1, dry_run=True)


async def until(place: Place, id: str, status: Status) -> None:
    """Wait for a status; looked at again after each durable change."""
    changed = asyncio.Event()
    stop = place.app.engine.listen(lambda _draft: changed.set())
    try:
        while await (await place.workspace.instance(id)).status() is not status:
            changed.clear()
            if await (await place.workspace.instance(id)).status() is status:
                return
            await changed.wait()
    finally:
        stop()


@workflow("both", singleton=True, options={"concurrency": {"limit": 2}})
def both() -> None:
    sleep("PT1S")


@workflow("five", singleton=5)  # type: ignore[call-overload,untyped-decorator]
def five() -> None:
    sleep("PT1S")


@workflow("alone", on_full="reject")
def alone() -> None:
    sleep("PT1S")


@pytest.mark.parametrize(
    ("flow", "name"), [(both, "singleton"), (five, "singleton"), (alone, "on_full")]
)
async def test_a_singleton_that_cannot_be_one_is_neither_saved_nor_started(
    place: Place, flow: WorkflowFunction[[], None], name: str
) -> None:
    for act in (place.workspace.deploy, place.workspace.start):
        with pytest.raises(InvalidDefinition) as refused:
            await act(flow)
        [problem] = refused.value.problems
        assert problem.code == "TEN-1802"
        assert problem.message.startswith(f"`$.{name}`: ")
    with pytest.raises(NotFound):
        await place.workspace.start(flow.id)
