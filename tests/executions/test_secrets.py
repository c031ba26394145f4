"""Workers get the values of secrets; whichever process takes their reports records none."""

from __future__ import annotations

from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.engine.engine import Engine
from tenuto.engine.secrets.vault import Vault
from tenuto.engine.settings import Settings
from tenuto.executions.broker import TaskBroker
from tenuto.executions.tokens import has_secrets
from tenuto.model.executions import ReportedError, TaskReport
from tenuto.model.json import Object
from tenuto.model.secret_place import about
from tenuto.model.task_logs import LogChunk, LogLine
from tenuto.store.memory import MemoryStore
from tenuto.store.parts.secrets import SecretRow
from tenuto.tasks.registry import Registry
from tests.executions.stage import LEASE, Stage, done, report
from tests.kit.workload.drawing import document, edge, node
from tests.store.situations import NOON

VALUE = "sk-live-51Hxyz"
BEARER = "Bearer {{secrets.KEY}}"
HIDDEN = "Bearer [secret KEY]"
RING = KeyRing([new_key("k1")])
FLOW = document(
    "w",
    [
        node("a", "task", taskId="ship", input={"auth": BEARER, "n": "{{ctx.input.n}}"}),
        node("b", "task", taskId="bill"),
    ],
    [edge("a", "b")],
)


async def process(stage: Stage) -> tuple[Engine, TaskBroker]:
    """One of several processes that share a store and its keys."""
    store = MemoryStore(stage.disk, shared=True)
    engine = Engine(
        store,
        registry=Registry(),
        clock=stage.clock,
        ids=stage.ids,
        settings=Settings(unknown_tasks="wait"),
        vault=Vault(store, stage.clock, RING),
    )
    await engine.open()
    return engine, TaskBroker(engine)


async def keep(engine: Engine, value: str = VALUE, *destinations: str) -> None:
    row = SecretRow(
        tenant="default",
        name="KEY",
        sealed=RING.seal(value.encode(), about("default", "KEY")),
        destinations=destinations or None,
        changed_at=NOON,
    )
    await engine.store.secrets.put(row)


async def kept(engine: Engine, id: str) -> str:
    await engine.effects.task_logs.written()
    rows = await engine.store.instances.entries(id)
    lines = await engine.store.task_logs.page("default", id, limit=100)
    return f"{rows} {lines}"


def test_a_claim_has_the_value_and_the_report_of_another_process_is_recorded_without_it() -> None:
    """Values are filled in right before an attempt runs, or is handed to a worker or an address."""

    async def story(stage: Stage) -> None:
        (first, claims), (second, reports) = await process(stage), await process(stage)
        await keep(first)
        id = await stage.started(first, FLOW, {"n": "{{secrets.KEY}}"})
        [task] = await claims.claim("default", "w1", ["ship"], lease=LEASE)
        assert task.input == {"auth": f"Bearer {VALUE}", "n": "{{secrets.KEY}}"}
        assert has_secrets(task.lease_token)
        line = LogLine(at=NOON, text=f"sent Bearer {VALUE}", stream="stdout")
        chunk = LogChunk(first=0, lines=(line,))
        await reports.heartbeat(
            "default", task.execution_id, task.lease_token, {"at": f"Bearer {VALUE}"}, chunk
        )
        echo: Object = {"echo": f"Bearer {VALUE}"}
        assert await report(reports, done(task, echo)) == [None]
        assert await report(reports, done(task, echo)) == [None], "the same report again"
        [other] = await reports.claim("default", "w1", ["bill"], lease=LEASE, wait=LEASE)
        assert not has_secrets(other.lease_token)
        assert other.input == {"n": "{{secrets.KEY}}"}
        assert VALUE not in await kept(second, id)
        assert HIDDEN in await kept(second, id)
        await second.close()
        await first.close()

    Stage().play(story)


def test_a_failure_of_a_worker_is_recorded_without_the_value() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await process(stage)
        await keep(engine)
        id = await stage.started(engine, FLOW, {"n": 1})
        [task] = await broker.claim("default", "w1", ["ship"], lease=LEASE)
        # A text that is cut would end in the middle of a value.
        message = "x" * 3_995 + VALUE
        error = ReportedError(code="REFUSED", message=message, details={"a": [VALUE]})
        said = TaskReport(execution_id=task.execution_id, lease_token=task.lease_token, error=error)
        assert await report(broker, said) == [None]
        assert "sk-live" not in await kept(engine, id)
        assert VALUE[:5] not in await kept(engine, id)
        await engine.close()

    Stage().play(story)


def test_an_unknown_secret_fails_the_attempt_and_hands_nothing_out() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await process(stage)
        id = await stage.started(engine, FLOW, {"n": 1})
        assert await broker.claim("default", "w1", ["ship"], lease=LEASE) == []
        state = (await engine.final_state(id)).state
        assert state.last_error is not None
        assert state.last_error.code == "UNKNOWN_SECRET"
        await engine.close()

    Stage().play(story)


def test_a_secret_with_destinations_is_handed_to_no_worker() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await process(stage)
        await keep(engine, VALUE, "api.example.com")
        id = await stage.started(engine, FLOW, {"n": 1})
        assert await broker.claim("default", "w1", ["ship"], lease=LEASE) == []
        state = (await engine.final_state(id)).state
        assert state.last_error is not None
        assert state.last_error.code == "SECRET_NOT_ALLOWED"
        await engine.close()

    Stage().play(story)


def test_a_repeated_claim_gets_the_value_again() -> None:
    async def story(stage: Stage) -> None:
        engine, broker = await process(stage)
        await keep(engine)
        await stage.started(engine, FLOW, {"n": 1})
        [first] = await broker.claim("default", "w1", ["ship"], lease=LEASE, request_id="r")
        [again] = await broker.claim("default", "w1", ["ship"], lease=LEASE, request_id="r")
        assert (again.input, again.lease_token) == (first.input, first.lease_token)
        await engine.close()

    Stage().play(story)
