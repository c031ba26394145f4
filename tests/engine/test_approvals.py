"""Decisions through the engine: what is refused, what is kept, and by whom."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tenuto import (
    Conflict,
    Forbidden,
    InstanceRef,
    InvalidInput,
    NotFound,
    Status,
    Tenuto,
    WorkflowFailed,
)
from tenuto.engine.settings import Settings
from tenuto.engine.upkeep.verification import verify
from tenuto.model.json import JSON, Object
from tenuto.model.log import LogRow
from tenuto.model.policy import Limits
from tests.cli.waiting import until, waits_for_event
from tests.kit.postgres_database import fresh_database

pytestmark = pytest.mark.asyncio

FORM: Object = {
    "type": "object",
    "required": ["note"],
    "properties": {"note": {"type": "string"}, "limit": {"type": "number", "minimum": 1}},
    "additionalProperties": False,
}
ASKS: Object = {
    "id": "asks",
    "steps": [
        {
            "stepId": "ok",
            "type": "APPROVAL",
            "assignees": {"users": ["ann", "bob"], "roles": ["board"]},
            "formSchema": FORM,
            "deadline": "P3D",
            "outputVariable": "said",
            "transitions": {"approved": "done", "rejected": "no"},
        },
        {"stepId": "done", "type": "TASK", "taskId": "note", "input": "{{ctx.said.by}}"},
        {
            "stepId": "no",
            "type": "TERMINATE",
            "status": "FAILED",
            "reason": "{{ctx.said.form.note}}",
        },
    ],
}
FINE: JSON = {"note": "fine"}


def app_with_tasks(store: str = "memory://", settings: Settings | None = None) -> Tenuto:
    app = Tenuto(store, settings=settings or Settings())

    @app.task
    async def note(by: str) -> str:
        return f"noted for {by}"

    return app


async def asking(app: Tenuto) -> InstanceRef:
    await app.deploy(ASKS)
    instance = await app.start("asks")
    await until(app, instance, waits_for_event)
    return instance


async def test_a_decision_is_answered_once_it_is_durable_and_the_instance_goes_on() -> None:
    async with app_with_tasks() as app:
        instance = await asking(app)
        assert await instance.decide("ok", "approved", by="ann", form=FINE) is Status.RUNNING
        assert await instance.result(timeout=20) == "noted for ann"
        said = (await instance.state())["variables"]
        assert isinstance(said, dict)
        assert isinstance(said["said"], dict)
        assert said["said"]["form"] == FINE
        again = await instance.decide("ok", "approved", by="ann", form=FINE)
        assert again is Status.COMPLETED, "the same again is answered as it is"


async def test_a_rejection_takes_its_own_way() -> None:
    async with app_with_tasks() as app:
        instance = await asking(app)
        await instance.decide(
            "ok", "rejected", by="eve", roles=["board"], form={"note": "too much"}
        )
        with pytest.raises(WorkflowFailed, match="too much"):
            await instance.result(timeout=20)


async def test_what_is_refused_is_told_and_changes_nothing() -> None:
    async with app_with_tasks(settings=Settings(limits=Limits(input_bytes=100))) as app:
        instance = await asking(app)
        before = await instance.history()
        with pytest.raises(Forbidden, match="that is for ann, bob or anybody with the role board"):
            await instance.decide("ok", "approved", by="eve", roles="staff", form=FINE)
        with pytest.raises(Forbidden):
            await instance.decide("ok", "approved", by="eve", form={"limit": 0})
        with pytest.raises(InvalidInput) as wrong:
            await instance.decide("ok", "approved", by="ann", form={"limit": 0, "extra": 1})
        assert wrong.value.code == "TEN-2110"
        places = sorted(each.path for each in wrong.value.problems)
        assert places == ["$.form", "$.form", "$.form.limit"], "all problems at once"
        with pytest.raises(InvalidInput, match="a form is asked for, and none was given"):
            await instance.decide("ok", "approved", by="ann")
        with pytest.raises(InvalidInput) as words:
            await instance.decide("ok", "yes", by=" ")
        assert [each.path for each in words.value.problems] == ["$.decision", "$.by"]
        unfit: list[JSON] = [{"note": float("nan")}, {"note": "\x00"}]
        for bad in unfit:
            with pytest.raises(InvalidInput, match="TEN-2004"):
                await instance.decide("ok", "approved", by="ann", form=bad)
        with pytest.raises(InvalidInput, match="TEN-2005"):
            await instance.decide("ok", "approved", by="ann", form={"note": "x" * 100})
        with pytest.raises(InvalidInput, match="TEN-2012"):
            await instance.decide("ok", "approved", by="a" * 300, form=FINE)
        with pytest.raises(InvalidInput, match="TEN-2004"):
            await instance.decide("ok", "approved", by="ann", roles=["a\x00"], form=FINE)
        with pytest.raises(NotFound, match="TEN-3020"):
            await instance.decide("okk", "approved", by="ann")
        with pytest.raises(NotFound, match="TEN-3020"):
            await instance.decide("done", "approved", by="ann")
        nobody = InstanceRef(app.engine, "00000000-0000-7000-8000-000000000009")
        with pytest.raises(NotFound):
            await nobody.decide("ok", "approved", by="ann")
        assert await instance.history() == before
        await instance.decide("ok", "approved", by="bob", form=FINE)
        with pytest.raises(Conflict, match="ok was approved by bob at "):
            await instance.decide("ok", "approved", by="ann", form=FINE)
        with pytest.raises(Conflict, match="TEN-3021"):
            await instance.decide("ok", "approved", by="bob", form={"note": "another"})


async def test_an_approval_outlives_its_process(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    async with app_with_tasks(store) as app:
        id = (await asking(app)).id
    async with app_with_tasks(store) as app:
        instance = await app.instance(id)
        [waiting] = await instance.waits()
        assert isinstance(waiting, dict)
        assert (waiting["stepId"], waiting["eventPattern"]) == ("ok", None)
        assert waiting["nearMisses"] == []
        await instance.decide("ok", "approved", by="ann", form=FINE)
        assert await instance.result(timeout=20) == "noted for ann"
        async for verdict in verify(app.engine.store, app.engine.plans):
            assert not verdict.differences, verdict


EACH: Object = {
    "id": "each",
    "steps": [
        {
            "stepId": "all",
            "type": "LOOP",
            "source": ["ann", "bob"],
            "transitions": {"loop": "ok"},
        },
        {"stepId": "ok", "type": "APPROVAL", "assignees": {"users": ["{{item}}"]}},
    ],
}


async def test_a_decision_of_an_iteration_that_has_ended_is_known_from_the_log() -> None:
    async with app_with_tasks() as app:
        await app.deploy(EACH)
        instance = await app.start("each")
        await until(app, instance, waits_for_event)
        await instance.decide("ok", "approved", by="ann", iteration="0")
        await until(app, instance, waits_for_event)
        again = await instance.decide("ok", "approved", by="ann", iteration="0")
        assert again is Status.WAITING_FOR_EVENT, "the same again is answered as it is"
        with pytest.raises(Conflict, match=r"ok\[0\] was approved by ann at "):
            await instance.decide("ok", "rejected", by="ann", iteration="0")
        with pytest.raises(Conflict, match=r"ok\[7\] is not open"):
            await instance.decide("ok", "rejected", by="ann", iteration="7")
        await instance.decide("ok", "rejected", by="bob", iteration="1")
        assert await instance.result(timeout=20) is not None


async def test_a_late_decision_reads_no_more_of_the_log_than_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looping = EACH["steps"]
    assert isinstance(looping, list)
    steps: list[JSON] = [
        {"stepId": "first", "type": "TASK", "taskId": "note", "transitions": {"default": "all"}},
        *looping,
    ]
    async with app_with_tasks() as app:
        await app.deploy({**EACH, "steps": steps})
        instance = await app.start("each", "ann")
        await until(app, instance, waits_for_event)
        await instance.decide("ok", "approved", by="ann", iteration="0")
        await until(app, instance, waits_for_event)
        store, read = app.engine.store, list[int]()
        entries = store.instances.entries

        async def noting(id: str, *, after: int = 0, limit: int = 1000) -> list[LogRow]:
            read.append(after)
            return await entries(id, after=after, limit=1)

        monkeypatch.setattr(store.instances, "entries", noting)
        await instance.decide("ok", "approved", by="ann", iteration="0")
        assert read[0] == 5, "what was before the loop is not read"
        assert read == [5, 6, 7, 8], "nor what came after the decision"


async def test_a_rerun_takes_a_decision_over() -> None:
    async with app_with_tasks() as app:
        instance = await asking(app)
        await instance.decide("ok", "approved", by="ann", form=FINE)
        await instance.result(timeout=20)
        again = await instance.rerun("done")
        assert await again.result(timeout=20) == "noted for ann"
        with pytest.raises(Conflict, match="ok was approved by ann"):
            await again.decide("ok", "rejected", by="bob", form=FINE)
        anew = await instance.rerun()
        await until(app, anew, waits_for_event)
        await anew.decide("ok", "approved", by="bob", form=FINE)
        assert await anew.result(timeout=20) == "noted for bob"


async def test_of_two_processes_that_decide_at_once_one_wins_and_the_other_is_told_who() -> None:
    url = await fresh_database("tenuto_approvals")
    settings = Settings(watch_every=0.05, mail_every=0.2)
    async with app_with_tasks(url, settings) as here, app_with_tasks(url, settings) as there:
        await here.deploy(ASKS)
        for _ in range(10):
            instance = await here.start("asks")
            await until(here, instance, waits_for_event)
            asked = [
                (await here.instance(instance.id)).decide("ok", "approved", by="ann", form=FINE),
                (await there.instance(instance.id)).decide("ok", "rejected", by="bob", form=FINE),
            ]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            [refused] = [each for each in answers if isinstance(each, BaseException)]
            assert isinstance(refused, Conflict)
            steps = (await instance.state())["steps"]
            assert isinstance(steps, dict)
            output = steps["ok"]["output"]  # type: ignore[index, call-overload]
            assert isinstance(output, dict)
            assert f"ok was {output['decision']} by {output['by']} at" in refused.message
            kinds = [row["eventType"] for row in await instance.history()]
            assert kinds.count("WAIT_RESOLVED") == 1
