"""An instance goes on until what the test waits for, and says why when it never comes to that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tenuto import InvalidDefinition, InvalidInput, NotFound, Settings, TenutoError
from tenuto.model.policy import RetryPolicy
from tenuto.testing import Engine
from tests.testing_kit.shop import (
    APPROVED,
    ORDER,
    a_delay,
    a_task,
    a_wait,
    charge,
    fan_out,
    in_a_row,
)


def test_an_event_goes_to_its_wait(engine: Engine) -> None:
    run = engine.start(APPROVED, ORDER).until(waiting_for="approval.given")
    published = engine.publish("approval.given", {"by": "ada"})
    assert published is not None
    assert published.resumed == 1
    assert run.path == ["reserve", "charge", "approval", "ship"]
    assert run.status == "COMPLETED"


def test_until_stops_where_it_was_asked_to(engine: Engine) -> None:
    run = engine.start(in_a_row(a_delay("first", "PT1H"), a_delay("second", "PT1H")))
    before = engine.now
    assert run.until(step="first") is run
    assert engine.now - before == timedelta(hours=1)
    assert run.path == ["first"]


def test_until_takes_a_status_of_a_step_or_of_the_instance(engine: Engine) -> None:
    engine.stub(charge, ConnectionError("down"), {"n": 1}, takes="PT1M")
    run = engine.start(APPROVED, ORDER)
    run.until(step="charge", status="RETRYING")
    assert len(run.calls(charge)) == 1
    run.until(status="WAITING_FOR_EVENT")
    assert len(run.calls(charge)) == 2


def test_until_takes_any_condition(engine: Engine) -> None:
    run = engine.start(in_a_row(*(a_delay(f"nap_{n}", "PT1M") for n in range(5))))
    run.until(lambda run: len(run.path) == 3)
    assert run.path == ["nap_0", "nap_1", "nap_2"]


def test_finished_sees_it_through_retries_delays_and_time_outs(engine: Engine) -> None:
    engine.stub(charge, ConnectionError("down"), {"n": 1})
    run = engine.start(APPROVED, ORDER).finished()
    assert run.path == ["reserve", "charge", "approval", "escalate"]
    assert timedelta(days=3) <= engine.now - run.calls()[0].at <= timedelta(days=3, minutes=1)


def test_a_failed_instance_is_finished_too(engine: Engine) -> None:
    engine.stub(charge, ConnectionError("down"))
    run = engine.start(APPROVED, ORDER).finished()
    assert (run.status, run.output, run.path) == ("FAILED", None, ["reserve"])


def test_commands_work_as_in_the_app(engine: Engine) -> None:
    run = engine.start(APPROVED, ORDER)
    run.pause("stock-taking")
    assert run.status == "PAUSED"
    run.resume()
    assert run.status == "WAITING_FOR_EVENT"
    run.cancel("no longer wanted")
    assert run.finished().status == "CANCELLED"


def test_what_never_comes_is_told_with_the_reason_and_the_timeline(engine: Engine) -> None:
    run = engine.start(in_a_row(a_task("first"), a_wait("answer", "mail.came")))
    with pytest.raises(AssertionError) as caught:
        run.finished()
    said = str(caught.value)
    assert "it does not end: it waits for mail.came, which is never published" in said
    assert "waits for mail.came" in said.splitlines()[-2]


def test_what_comes_too_late_is_told(engine: Engine) -> None:
    run = engine.start(in_a_row(a_delay("nap", "P2D")))
    before = engine.now
    with pytest.raises(AssertionError, match="it never came to step nap COMPLETED"):
        run.until(step="nap", within="P1D")
    assert engine.now - before == timedelta(days=1)


def test_until_of_an_instance_that_has_ended_says_so(engine: Engine) -> None:
    run = engine.start(in_a_row(a_task("ship"))).finished()
    with pytest.raises(AssertionError, match="it has ended COMPLETED"):
        run.until(waiting_for="approval.given")


def test_steps_that_do_not_exist_are_refused(engine: Engine) -> None:
    run = engine.start(APPROVED, ORDER)
    with pytest.raises(TenutoError, match="no step 'chrage'") as caught:
        run.until(step="chrage")
    assert "charge" in caught.value.advice
    with pytest.raises(TenutoError, match="waits for nothing"):
        run.until()
    with pytest.raises(TenutoError, match="cannot ask 'COMPLETED'"):
        run.until("COMPLETED")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "whose", "known"),
    [
        ({"status": "DONE"}, "an instance", "CREATED, RUNNING, WAITING_FOR_EVENT"),
        ({"status": "PAUSED", "step": "charge"}, "a step", "PENDING, RUNNING, WAITING, RETRYING"),
    ],
)
def test_statuses_that_do_not_exist_are_refused(
    engine: Engine, asked: dict[str, str], whose: str, known: str
) -> None:
    run = engine.start(APPROVED, ORDER)
    with pytest.raises(TenutoError, match=f"'{asked['status']}' is no status of {whose}") as caught:
        run.until(**asked)  # type: ignore[arg-type]
    assert caught.value.code == "TEN-2206"
    assert known in caught.value.advice


def test_an_error_seems_to_come_of_nothing_else(engine: Engine) -> None:
    with pytest.raises(NotFound) as caught:
        engine.start("never-deployed")
    assert caught.value.__context__ is None
    with pytest.raises(AssertionError) as failed:
        engine.start(in_a_row(a_wait("answer", "mail.came"))).finished()
    assert failed.value.__context__ is None


def test_what_the_app_refuses_is_refused(engine: Engine) -> None:
    with pytest.raises(NotFound):
        engine.start("never-deployed")
    with pytest.raises(InvalidDefinition):
        engine.start({"id": "x", "steps": []})
    with pytest.raises(InvalidInput, match=r"no task is called 'nobody\.knows'"):
        engine.start(in_a_row(a_task("it", "nobody.knows")))


def test_the_same_key_is_the_same_instance(engine: Engine) -> None:
    engine.deploy(APPROVED)
    first = engine.start("approved-order", ORDER, key="order-7")
    again = engine.start("approved-order", ORDER, key="order-7")
    assert first.id == again.id
    assert [each.id for each in engine.instances] == [first.id]


def test_many_instances_live_in_one_engine(engine: Engine) -> None:
    runs = [engine.start(APPROVED, {"orderId": n, "amount": n}) for n in range(20)]
    engine.publish("approval.given")
    assert {run.status for run in runs} == {"COMPLETED"}
    assert len(engine.calls(charge)) == 20


def test_parallel_steps_are_joined(engine: Engine) -> None:
    assert engine.start(fan_out(8)).finished().path.count("join") == 1


def test_a_task_may_publish_and_cancel(engine: Engine) -> None:
    engine.stub(
        charge,
        lambda order: engine.publish("approval.given"),
        lambda order: engine.instances[-1].cancel("from within"),
    )
    assert engine.start(APPROVED, ORDER).path == ["reserve", "charge", "approval", "ship"]
    assert engine.start(APPROVED, ORDER).finished().status == "CANCELLED"


def test_a_task_cannot_let_time_pass(engine: Engine) -> None:
    engine.stub(charge, lambda order: engine.skip(days=1))
    run = engine.start(in_a_row(a_task("charge", "shop.charge")), ORDER).finished()
    assert run.error is not None
    assert "a task cannot let time pass" in str(run.error["message"])


def test_settings_of_the_engine_may_be_given() -> None:
    with Engine(settings=Settings(retry=RetryPolicy(max_attempts=1))) as engine:
        engine.stub("shop.ship", ConnectionError)
        run = engine.start(in_a_row(a_task("ship"))).finished()
        assert len(run.calls()) == 1
        assert engine.world.settings.mail_every == 3_600


def test_a_test_begins_when_it_says() -> None:
    with Engine(at=datetime(2024, 2, 29, 12, tzinfo=UTC)) as engine:
        assert engine.now.isoformat() == "2024-02-29T12:00:00+00:00"
    with pytest.raises(InvalidInput, match="TEN-2007"):
        Engine(at=datetime(2024, 2, 29))  # noqa: DTZ001


def test_equal_tests_have_equal_logs() -> None:
    def log() -> object:
        with Engine() as engine:
            return engine.start(APPROVED, ORDER).finished().history

    assert log() == log()
