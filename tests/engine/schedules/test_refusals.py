"""What cannot be started is recorded, visibly, and others go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from msgspec.structs import replace

from tenuto.engine.events.mailbox_messages import InInbox
from tenuto.engine.settings import Settings
from tenuto.engine.turns.requests import IndexAgain, LookAgain, ScheduledStart
from tenuto.model.family import scheduled_id
from tenuto.model.ids import start_letter
from tenuto.model.inputs import Occurrence, ScheduleCause, Started
from tenuto.model.json import Object
from tenuto.model.quotas import Quotas
from tenuto.model.task_definition import TaskDefinition
from tenuto.store.errors import DataRefused
from tenuto.store.parts.mailbox import Mail
from tenuto.store.parts.schedules import Fire, ScheduleKey, ScheduleRow, Schedules
from tests.engine.schedules.clockwork import FLOW, Clockwork, at, minutes

STRICT: Object = {
    **FLOW,
    "inputSchema": {
        "type": "object",
        "properties": {"day": {"type": "string", "maxLength": 24}, "next": {"type": "string"}},
        "required": ["next"],
    },
}


def hide(world: Clockwork, id: str = "report") -> None:
    world.ask(lambda app: app.engine.plans.hide("default", id))


def test_an_input_that_does_not_fit_is_a_refusal_of_that_tick_alone() -> None:
    """Input that does not fit at a tick is a recorded refusal of that tick; a schedule is in
    `error` only where no tick can succeed (target gone, zone unknown), and comes back by
    itself.
    Input that fails `inputSchema`: 422, by trigger or schedule a recorded refusal.
    """
    with Clockwork() as world:
        world.save(input={"next": "{{schedule.next}}"}, endDate="2026-01-01T00:15:00Z")
        world.engine.deploy(STRICT)
        world.skip(minutes=16)
        assert world.started() == [5, 10]
        [refused] = world.ticks("refused")
        assert refused.nominal == at("00:15")
        assert refused.reason is not None
        assert "$.next" in refused.reason
        assert world.row().status == "completed"


def test_an_input_that_cannot_be_made_is_a_refusal_of_that_tick_alone() -> None:
    with Clockwork() as world:
        world.save(input={"x": "{{schedule.next.slice(0, 10)}}"}, endDate="2026-01-01T00:10:00Z")
        world.skip(minutes=11)
        assert world.started() == [5]
        assert minutes(world.ticks("refused")) == [10]


def test_without_its_workflow_it_is_in_error_and_comes_back_when_that_is_saved() -> None:
    """Input that does not fit at a tick is a recorded refusal of that tick; a schedule is in
    `error` only where no tick can succeed (target gone, zone unknown), and comes back by
    itself.
    """
    with Clockwork() as world:
        world.save(overlap="allow")
        world.save("other")
        world.engine.deploy({**FLOW, "id": "theirs"})
        world.save("theirs", target={"workflowId": "theirs"})
        world.skip(minutes=6)
        hide(world)
        world.skip(minutes=17)
        row = world.row()
        assert (row.status, row.next_tick) == ("error", None)
        assert row.problem == "there is no workflow report"
        assert row.tries > 1, "it was looked at again"
        assert world.started("theirs") == [5, 10, 15, 20], "others go on"
        world.engine.deploy({**FLOW, "name": "again"})
        world.skip(seconds=1)
        row = world.row()
        assert (row.status, row.problem, row.next_tick) == ("active", None, at("00:25"))
        assert world.started() == [5, 20], "as after an outage"
        assert sum(each.count for each in world.ticks("missed")) == 2


def test_a_removal_says_how_many_schedules_it_stops() -> None:
    with Clockwork() as world:
        for id in ("a", "b", "c"):
            world.save(id)
        world.of(lambda schedules: schedules.pause("default", "c", by="ada"))
        hide(world)
        stopped = world.of(lambda schedules: schedules.removed_workflow("default", "report"))
        assert stopped == 2
        assert [world.row(id).status for id in ("a", "b", "c")] == ["error", "error", "paused"]
        world.skip(hours=1)
        assert world.engine.instances == []


def test_a_schedule_that_is_fired_while_its_workflow_is_removed_is_stopped_all_the_same() -> None:
    page = Schedules.page

    async def overtaken(self: Schedules, *given: Any, **which: Any) -> list[ScheduleRow]:  # noqa: ANN401
        """Each row is of the version before."""
        return [replace(row, version=row.version - 1) for row in await page(self, *given, **which)]

    with Clockwork() as world:
        world.save()
        world.skip(minutes=6)
        hide(world)
        with patch.object(Schedules, "page", overtaken):
            stopped = world.of(lambda schedules: schedules.removed_workflow("default", "report"))
        assert (stopped, world.row().status) == (1, "error")
        assert world.row().problem == "there is no workflow report"


def test_a_start_that_is_overtaken_by_a_removal_ends_as_a_refused_tick() -> None:
    with Clockwork() as world:
        world.save()
        world.skip(minutes=5, seconds=3)
        [tick] = world.ticks()
        first = world.engine.instances[0].id

        async def start_after_removal(app: Any) -> bool:  # noqa: ANN401
            """What a process writes whose message is delivered only after the removal."""
            engine, nominal = app.engine, at("00:10")
            id = scheduled_id("default", "s", nominal)
            await engine.plans.hide("default", "report")
            cause = ScheduleCause(id="s", nominal=nominal)
            started = Started(
                definition_id="report", definition_version=1, input={}, schedule=cause
            )
            content = msgspec.json.encode(ScheduledStart(started))
            mail = Mail(id=start_letter(id), instance_id=id, input=content, created_at=nominal)
            now = await engine.schedules.get("default", "s")
            fire = Fire(
                row=replace(now, version=now.version + 1, handled=nominal),
                ticks=(
                    replace(
                        tick, nominal=nominal, instance_id=id, is_open=True, is_confirmed=False
                    ),
                ),
                mail=(mail,),
            )
            lost = await engine.store.schedules.fire([fire])
            engine.effects.mail_hint()
            return not lost

        assert world.ask(start_after_removal)
        world.skip(seconds=5)
        assert [each.id for each in world.engine.instances] == [first]
        [refused] = world.ticks("refused")
        assert (refused.nominal, refused.is_open) == (at("00:10"), False)
        assert "there is no workflow report" in str(refused.reason)


def test_without_its_calendar_it_is_in_error_and_comes_back_with_it() -> None:
    with Clockwork() as world:
        week: Object = {day: ["00:00-24:00"] for day in ("mon", "tue", "wed", "thu", "fri")}
        office: Object = {"id": "office", "timezone": "UTC", "week": week}
        saved = world.ask(lambda app: app.engine.calendars.save("default", office, by="ada"))
        world.save(calendar="office")
        world.skip(minutes=6)

        async def lose(app: Any) -> bool:  # noqa: ANN401
            # Users cannot: it is refused while it is used.
            removal = replace(saved, version=2, document=b"", is_removed=True)
            return bool(await app.engine.store.calendars.put(removal))

        world.ask(lose)
        world.skip(minutes=5)
        assert world.row().status == "error"
        assert world.row().problem == "there is no calendar office"
        world.ask(lambda app: app.engine.calendars.save("default", office, by="ada"))
        world.skip(minutes=2)
        assert world.row().status == "active"
        assert 10 in world.started()


def test_a_document_that_cannot_be_read_any_more_is_an_error() -> None:
    """Input that does not fit at a tick is a recorded refusal of that tick; a schedule is in
    `error` only where no tick can succeed (target gone, zone unknown), and comes back by
    itself.
    """
    with Clockwork() as world:
        saved = world.save()
        world.save("other")

        async def spoil(app: Any) -> bool:  # noqa: ANN401
            gone = saved.content.replace(b'"UTC"', b'"Europe/Atlantis"')
            broken = replace(saved, content=gone, version=2, revision=2)
            return bool(await app.engine.store.schedules.save(broken))

        assert world.ask(spoil)
        world.skip(minutes=11)
        row = world.row()
        assert row.status == "error"
        assert row.problem is not None
        assert "Europe/Atlantis" in row.problem
        assert world.started("other") == [5, 10]
        world.save()
        world.skip(minutes=5)
        assert world.row().status == "active"
        assert 15 in world.started()


def test_a_tenant_with_too_many_instances_has_refused_ticks() -> None:
    with Clockwork(settings=Settings(quotas=Quotas(instances=2)), takes="PT50M") as world:
        world.save(overlap="allow")
        world.skip(minutes=21)
        assert world.started() == [5, 10]
        refused = world.ticks("refused")
        assert minutes(refused) == [15, 20]
        assert "quota `instances`" in str(refused[0].reason)


def test_a_tick_whose_key_is_in_use_has_that_instance() -> None:
    with Clockwork() as world:
        world.save()
        key = "schedule:s:2026-01-01T00:05:00.000Z"
        first = world.engine.start("report", {}, key=key)
        world.skip(minutes=7)
        assert [each.id for each in world.engine.instances] == [first.id]
        [tick] = world.ticks()
        assert (tick.outcome, tick.instance_id) == ("started", first.id)


def test_ticks_that_the_store_refuses_stop_no_others() -> None:
    fire = Schedules.fire

    async def refusing(self: Schedules, fires: Sequence[Fire]) -> set[ScheduleKey]:
        if any(each.row.id == "bad" and each.ticks for each in fires):
            raise DataRefused("it cannot be stored")
        return await fire(self, fires)

    with Clockwork() as world, patch.object(Schedules, "fire", refusing):
        world.save("bad")
        world.save("good")
        world.skip(minutes=11)
        assert world.started("good") == [5, 10]
        row = world.row("bad")
        assert (row.status, row.problem) == ("error", "the store refuses its ticks")


def test_a_task_that_is_gone_is_an_error_and_comes_back_with_it() -> None:
    with Clockwork(settings=Settings(unknown_tasks="wait")) as world:

        def declare(app: Any) -> Any:  # noqa: ANN401
            return app.task_definitions.put(TaskDefinition(id="remote", kind="pull"))

        world.ask(declare)
        world.save(target={"taskId": "remote"}, overlap="allow")
        world.skip(minutes=6)
        world.engine.lives.ask(lambda app: app.task_definitions.remove("remote"))
        world.skip(minutes=5)
        row = world.row()
        assert (row.status, row.problem) == ("error", "there is no task remote")
        world.ask(declare)
        world.skip(minutes=2)
        assert world.row().status == "active"
        assert minutes(world.ticks("started")) == [5, 10]


def test_a_program_that_knows_no_schedules_leaves_their_starts_alone() -> None:
    started = Started(
        definition_id="report",
        definition_version=1,
        input={},
        schedule=ScheduleCause(id="s", nominal=at("00:05")),
    )
    message = msgspec.json.encode(ScheduledStart(started))
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(message, type=Occurrence | LookAgain | IndexAgain | InInbox)


def test_a_row_that_cannot_be_read_at_all_stops_no_others() -> None:
    with Clockwork() as world:
        world.save("bad")
        world.save("good")
        row = world.row("bad")
        spoilt = replace(
            row, content=b'{"id": "bad", "cron', version=row.version + 1, revision=row.revision + 1
        )
        assert world.ask(lambda app: app.engine.store.schedules.save(spoilt))
        world.skip(minutes=11)
        assert world.started("good") == [5, 10]
        found = world.row("bad")
        assert found.status == "error"
        assert "cannot be read" in str(found.problem)


def test_one_in_error_is_looked_at_less_and_less_and_not_after_its_end() -> None:
    with Clockwork() as world:
        world.save(endDate="2026-01-03T00:00:00Z", catchUp={"mode": "none"})
        world.skip(minutes=6)
        hide(world)
        world.skip(days=1)
        row = world.row()
        assert row.next_at is not None
        assert row.tries < 40, "at most about every hour"
        world.skip(days=2)
        row = world.row()
        assert (row.status, row.next_at) == ("error", None)
        world.engine.deploy({**FLOW, "name": "again"})
        world.skip(seconds=1)
        row = world.row()
        assert (row.status, row.problem) == ("completed", None)
        assert sum(each.count for each in world.ticks("missed")) > 500


def test_ticks_of_an_error_are_answered_when_the_times_change_meanwhile() -> None:
    with Clockwork() as world:
        world.engine.deploy({**FLOW, "id": "theirs"})
        world.save(catchUp={"mode": "none"})
        hide(world)
        world.skip(minutes=21)
        assert world.row().status == "error"
        world.save(target={"workflowId": "theirs"}, cron="*/7 * * * *")
        [skipped] = world.ticks("skipped")
        assert (skipped.nominal, skipped.last, skipped.count) == (at("00:05"), at("00:20"), 4)
        assert skipped.reason == "in error: there is no workflow report"
        world.skip(minutes=8)
        assert world.started() == [28]
