"""Schedules are checked when they are saved, with all problems at once."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.engine.settings import Settings
from tenuto.model.errors import Conflict, InvalidInput, NotFound
from tenuto.model.json import Object
from tenuto.model.quotas import QuotaExceeded, Quotas
from tests.engine.schedules.clockwork import FLOW, Clockwork, at


def problems(world: Clockwork, **fields: Any) -> list[tuple[str, str]]:  # noqa: ANN401
    with pytest.raises(InvalidInput) as raised:
        world.save(**fields)
    return [(each.code, each.path) for each in raised.value.problems]


def test_a_target_that_does_not_exist_is_refused_with_the_nearest_name() -> None:
    with Clockwork() as world:
        with pytest.raises(InvalidInput) as raised:
            world.save(target={"workflowId": "reports"})
        [problem] = raised.value.problems
        assert (problem.code, problem.path) == ("TEN-2730", "$.target.workflowId")
        assert "report" in str(problem.advice)
        assert problems(world, target={"workflowId": "report", "version": 9}) == [
            ("TEN-2730", "$.target.version")
        ]
        assert problems(world, target={"taskId": "nothing"}) == [("TEN-2730", "$.target.taskId")]


def test_an_input_that_does_not_fit_is_refused() -> None:
    with Clockwork() as world:
        assert problems(world, input=[1])[0][1].startswith("$.input")
        assert problems(world, input={"x": "{{ctx.input}}"}) == [("TEN-1031", "$.input.x")]
        assert problems(world, input={"x": "{{schedule.}}"}) == [("TEN-1031", "$.input.x")]


def test_all_problems_of_a_document_are_named_at_once() -> None:
    with Clockwork() as world:
        found = problems(world, cron="61 * * * *", timezone="Berlin", calendar="none", overlap="no")
        assert len(found) >= 3


def test_an_unknown_calendar_is_refused() -> None:
    with Clockwork() as world:
        assert problems(world, calendar="office") == [("TEN-2726", "$.calendar")]


def test_private_addresses_of_callbacks_are_refused_unless_allowed() -> None:
    target = {"callbackUrl": "http://127.0.0.1:9/x"}
    with Clockwork() as world:
        assert problems(world, target=target) == [("TEN-2301", "$.target.callbackUrl")]
        with pytest.raises(InvalidInput) as raised:
            world.save(target=target)
        assert "`engine.private_webhooks`" in str(raised.value.problems[0].advice)
    with Clockwork(settings=Settings(private_webhooks=True)) as world:
        assert world.save(target=target).status == "active"


def test_a_change_is_made_to_the_revision_that_was_read() -> None:
    with Clockwork() as world:
        document = {"id": "s", "cron": "0 * * * *", "target": {"workflowId": "report"}, "input": {}}

        def save(**how: Any) -> int:  # noqa: ANN401
            changed = document | {"overlap": how.pop("overlap", "skip")}
            saved = world.of(lambda them: them.save("default", changed, by="ada", **how))
            return saved.revision

        assert save(only_after=0) == 1
        with pytest.raises(Conflict) as raised:
            save(is_new=True)
        assert raised.value.code == "TEN-3081"
        assert save() == 1, "nothing has changed"
        assert save(overlap="allow", only_after=1) == 2
        with pytest.raises(Conflict) as raised:
            save(overlap="queue", only_after=1)
        assert raised.value.code == "TEN-3082"
        world.skip(hours=3)
        assert save(overlap="queue", only_after=2) == 3, "ticks change no revision"


def test_new_times_count_from_now_on_and_old_ones_are_kept_apart() -> None:
    with Clockwork() as world:
        world.save(catchUp={"mode": "all"}, overlap="allow")
        world.skip(minutes=7)
        world.save(cron="*/2 * * * *", catchUp={"mode": "all"}, overlap="allow")
        world.skip(minutes=4)
        assert world.started() == [5, 8, 10]


def test_a_change_of_anything_else_loses_no_tick() -> None:
    with Clockwork() as world:
        world.save(jitter="PT4M")
        due = world.row().next_at
        world.skip(minutes=5)
        assert due is not None
        assert due > at("00:05"), "it is due, and was not started yet"
        world.save(jitter="PT4M", name="another name")
        world.skip(minutes=5)
        assert world.started()[0] == 5


def test_a_tenant_has_so_many_schedules() -> None:
    with Clockwork(settings=Settings(quotas=Quotas(schedules=2))) as world:
        world.save("a")
        world.save("b")
        with pytest.raises(QuotaExceeded):
            world.save("c")
        world.save("b", overlap="allow")


def test_a_schedule_that_is_over_can_be_used_again() -> None:
    with Clockwork() as world:
        world.save(executeAt="2026-01-01T00:02:00Z")
        world.skip(minutes=10)
        assert world.row().status == "completed"
        world.save(executeAt="2026-01-01T00:12:00Z")
        world.skip(minutes=10)
        assert world.started() == [2, 12]
        assert world.row().revision == 2


def test_one_of_another_tenant_is_not_there() -> None:
    with Clockwork() as world:
        world.save()
        for ask in ("get", "pause", "resume", "trigger", "remove"):
            more = {} if ask in ("get", "remove") else {"by": "eve"}
            with pytest.raises(NotFound) as raised:
                world.of(lambda them: getattr(them, ask)("other", "s", **more))  # noqa: B023
            assert raised.value.code == "TEN-3080"


def test_the_preview_has_the_reason_for_every_skip() -> None:
    with Clockwork() as world:
        week: Object = {"thu": ["09:00-17:00"]}
        office: Object = {"id": "office", "timezone": "UTC", "week": week}
        world.ask(lambda app: app.engine.calendars.save("default", office, by="ada"))
        world.save(cron="0 10 * * *", calendar="office")

        async def preview(app: Any) -> list[Any]:  # noqa: ANN401
            checked = await app.engine.schedules.check(
                "default",
                {
                    "id": "s",
                    "cron": "0 10 * * *",
                    "calendar": "office",
                    "target": {"workflowId": "report"},
                    "input": {},
                },
            )
            assert checked.problems == ()
            return list(await app.engine.schedules.preview("default", checked.schedule, count=2))

        first, second = world.ask(preview)
        assert (first.nominal, first.skipped) == (at("10:00"), None)
        assert second.skipped == "Fri 2 Jan 2026 is not a working day"


def test_versions_of_a_workflow_are_as_the_schedule_says() -> None:
    with Clockwork() as world:
        world.save("newest")
        world.save("first", target={"workflowId": "report", "version": 1})
        world.engine.deploy({**FLOW, "name": "two"})
        world.skip(minutes=6)

        def version_of(id: str) -> int:
            [tick] = world.ticks(id=id)
            held = world.ask(lambda app: app.engine.state_of(tick.instance_id or ""))
            return held.state.definition_version

        assert version_of("newest") == 2
        assert version_of("first") == 1
