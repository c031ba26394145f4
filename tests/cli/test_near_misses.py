"""The command line tells what waits and events missed, and what an event would do."""

from __future__ import annotations

import json

import pytest

from tenuto import Tenuto
from tenuto.cli.views.near_misses import nearly_reached_lines
from tenuto.model.json import JSON, Object
from tests.cli.conftest import WAIT, Terminal, one_of_each

DRY = ("events", "send", "--dry-run")


async def three_that_missed(app: Tenuto) -> None:
    await one_of_each(app)
    for number in range(4):
        await app.publish("paid", {"id": number}, id=f"e-{number}")


def test_show_tells_near_misses_in_three_lines_at_most(terminal: Terminal) -> None:
    terminal.past(three_that_missed)
    out = terminal.call("show", "@last").out
    assert "  paid e-3 " in out
    assert ": event.payload.id === workflow.input.id was 3 === 7\n" in out
    assert "  paid e-2 " in out
    assert "  and 2 more; -o json gives them all\n" in out
    assert "e-1" not in out
    view = terminal.call("show", "@last", "-o", "json").json
    [wait] = view["waits"]
    assert [each["eventId"] for each in wait["nearMisses"]] == ["e-3", "e-2", "e-1", "e-0"]
    assert wait["nearMisses"][0]["failed"][0]["left"] == 3
    assert "nearMisses" not in view["state"]["waits"][0]


def test_text_that_should_be_a_number_is_seen_as_text(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    out = terminal.call(*DRY, "paid", '{"id": "7"}').out
    assert out.startswith("paid would be stored: no wait would take it\n")
    assert 'was "7" === 7\n' in out


def test_a_dry_run_says_what_would_happen_and_nothing_does(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    dry = terminal.call(*DRY, "paid", '{"id": 7}', "--id", "e")
    assert (dry.code, dry.err) == (0, "")
    first, second = dry.out.splitlines()
    assert first == "paid would be stored: 1 wait resumed"
    assert second.startswith("  resumed  ")
    assert terminal.call("events", "show", "e").code == 3
    view = terminal.call(*DRY, "paid", '{"id": 8}', "-o", "json").json
    assert list(view) == [
        "eventId",
        "duplicate",
        "resumed",
        "cancelled",
        "started",
        "targets",
        "nearMisses",
    ]
    [near] = view["nearMisses"]
    assert (near["what"], near["failed"][0]["right"]) == ("resumed", 7)
    assert terminal.call(*DRY, "paid.*").code == 2


def test_an_event_shows_whom_it_reached_and_whom_nearly(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    terminal.call("events", "send", "paid", '{"id": 8}', "--id", "e-1", "--correlation-id", "c")
    missed = terminal.call("events", "show", "e-1")
    assert missed.code == 0
    assert missed.out.startswith("paid  e-1\n")
    assert "  did         nothing\n" in missed.out
    assert "  correlates  c\n" in missed.out
    assert "  nearly resumed " in missed.out
    assert missed.out.endswith("event.payload.id === workflow.input.id was 8 === 7\n")
    terminal.call("events", "send", "paid", '{"id": 7}', "--id", "e-2")
    reached = terminal.call("events", "show", "e-2")
    assert "  did         1 wait resumed\n" in reached.out
    view = terminal.call("events", "show", "e-2", "-o", "json").json
    assert (view["resumed"], view["payload"], len(view["deliveries"])) == (1, {"id": 7}, 1)
    unknown = terminal.call("events", "show", "nobody")
    assert (unknown.code, "there is no event nobody" in unknown.err) == (3, True)


def test_a_file_of_events_is_sent_and_a_wrong_one_keeps_none_of_the_others(
    terminal: Terminal,
) -> None:
    terminal.past(one_of_each)
    cloud = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "paid", "data": {"id": 7}}
    terminal.write("events.json", [{"pattern": "noise", "id": "a"}, {"pattern": "no*"}, cloud])
    sent = terminal.call("events", "send", "--from", "events.json")
    assert sent.code == 2
    assert sent.out.splitlines() == [
        "✓ a stored: no wait takes it now",
        "✓ cloudevent /shop 1 stored: 1 wait resumed",
    ]
    assert "event 2 of 3 is not sent" in sent.err
    assert "$[1].pattern" in sent.err
    assert "no process works on the store now" in sent.err
    again = terminal.call("events", "send", "--from", "events.json", "-o", "json")
    assert again.code == 2
    first, wrong, third = again.json
    assert (first["duplicate"], third["duplicate"], third["resumed"]) == (True, True, 1)
    assert wrong["error"]["problems"][0]["path"] == "$[1].pattern"
    told = terminal.call("events", "send", "--from", "events.json")
    assert "✓ a was sent before; nothing is done twice" in told.out


def test_the_same_id_with_other_content_is_a_conflict_of_that_one(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    terminal.call("events", "send", "noise", "--id", "a")
    terminal.write("events.json", [{"pattern": "other", "id": "a"}, {"pattern": "b", "id": "b"}])
    sent = terminal.call("events", "send", "--from", "events.json")
    assert (sent.code, sent.out) == (4, "✓ b stored: no wait takes it now\n")


def test_one_event_comes_from_a_file_or_from_stdin(terminal: Terminal) -> None:
    terminal.past(one_of_each)
    event = {"pattern": "paid", "payload": {"id": 7}}
    terminal.write("event.json", event)
    dry = terminal.call(*DRY, "--from", "event.json", "-o", "json")
    assert (dry.code, dry.json["resumed"]) == (0, 1)
    sent = terminal.run("events", "send", "--from", "-", "-o", "json", stdin=json.dumps(event))
    assert (sent.code, sent.json["resumed"]) == (0, 1), sent.err
    terminal.write("event.json", {"payload": {}})
    for words in (("--from", "event.json"), ("--from", "event.json", "--dry-run")):
        wrong = terminal.call("events", "send", *words)
        assert (wrong.code, "`pattern` is missing" in wrong.err) == (2, True)
    terminal.write("event.json", [event, {"pattern": "workflow.completed"}])
    several = terminal.call(*DRY, "--from", "event.json")
    assert (several.code, "event 2 of 2 is not sent" in several.err) == (2, True)


def test_who_says_both_or_neither_is_told(terminal: Terminal) -> None:
    assert terminal.call("events", "send").code == 2
    assert terminal.call("events", "send", "paid", "--from", "events.json").code == 2
    assert terminal.call("events", "send", "--from", "events.json", "--id", "e").code == 2
    assert terminal.call("events", "send", "--from", "nowhere.json").code == 3


async def cancelled_started_and_refused(app: Tenuto) -> None:
    steps: list[JSON] = [
        {
            "stepId": "w",
            "type": "EVENT_WAIT",
            "arms": [{"id": "yes", "eventPattern": "go"}, {"id": "no", "eventPattern": "stop"}],
        }
    ]
    document: Object = {"id": "order", "steps": steps}
    trigger: Object = {"eventPattern": "go"}
    schema: Object = {"type": "object", "properties": {"n": {"type": "integer"}}}
    asked: Object = {
        "cancellationTriggers": [{"eventPattern": "go", "eventCondition": "ctx.never"}]
    }
    await app.deploy(document | asked)
    await app.start("order")
    await app.deploy(document | {"id": "gone", "cancellationTriggers": [trigger]})
    await app.start("gone")
    await app.deploy(document | {"id": "made", "triggers": [trigger]})
    await app.deploy(document | {"id": "picky", "triggers": [trigger], "inputSchema": schema})


def test_a_dry_run_and_the_event_name_all_that_it_reaches(terminal: Terminal) -> None:
    terminal.past(cancelled_started_and_refused)
    dry = terminal.call(*DRY, "go", '{"n": "one"}').out
    first, *lines = dry.splitlines()
    assert first == "go would be stored: 2 waits resumed, 1 instance cancelled, 1 instance started"
    assert [line.split()[0] for line in lines[:5]] == [
        *["resumed"] * 2,
        "cancelled",
        "started",
        "refused",
    ]
    assert all(line.endswith(" w, arm yes") for line in lines[:2])
    assert "  started  made" in lines
    assert any("picky: INVALID_INPUT" in line for line in lines)
    assert lines[-1].startswith("  nearly cancelled ")
    terminal.call("events", "send", "go", '{"n": "one"}', "--id", "e")
    shown = terminal.call("events", "show", "e").out
    assert "  refused  picky: INVALID_INPUT" in shown
    assert "  matched  made  " in shown or "  started  made  " in shown
    again = terminal.call(*DRY, "go", '{"n": "one"}', "--id", "e").out
    assert again == "go e was sent before; nothing would be done twice\n"


def test_an_event_that_nothing_names_is_sent_with_a_hint(terminal: Terminal) -> None:
    terminal.write("wait.json", {"id": "wait", **WAIT})
    terminal.call("deploy", "wait.json")
    sent = terminal.call("events", "send", "piad", '{"id": 7}')
    assert sent.code == 0
    assert "warning  no definition or listener names `piad`; did you mean `paid`?" in sent.err
    sent = terminal.call("events", "send", "paid", '{"id": 7}')
    assert (sent.code, "warning" in sent.err) == (0, False)
    dry = terminal.call("events", "send", "piad", "--dry-run", "-o", "json")
    assert "did you mean `paid`?" in dry.json["hint"]


def test_a_sent_event_that_nothing_took_says_what_the_nearest_waits_want(
    terminal: Terminal,
) -> None:
    terminal.past(one_of_each)
    sent = terminal.call("events", "send", "paid", '{"id": "7"}')
    [line] = [each for each in sent.err.splitlines() if "nearly" in each]
    assert line.startswith("  nearly reached ")
    assert line.endswith(': payload.id is "7", the wait wants 7')
    assert "nearly" not in terminal.call("events", "send", "paid", '{"id": 7}').err


@pytest.mark.parametrize(
    ("expression", "left", "right", "said"),
    [
        ("event.payload.id === ctx.id", "A2", "A1", 'payload.id is "A2", the wait wants "A1"'),
        ("ctx.id === event.payload.id", "A1", "A2", 'payload.id is "A2", the wait wants "A1"'),
        ("event.payload.sum >= ctx.sum", 5, 10, "payload.sum is 5, the wait wants >= 10"),
        ("ctx.sum < event.payload.sum", 10, 5, "payload.sum is 5, the wait wants > 10"),
        (
            "event.correlationId === correlationId",
            None,
            "c",
            'correlationId is null, the wait wants "c"',
        ),
        ("event.payload.ok", None, None, "event.payload.ok was false"),
    ],
)
def test_a_near_miss_names_the_field_of_the_event_and_the_value_that_is_wanted(
    expression: str, left: JSON, right: JSON, said: str
) -> None:
    failed: list[JSON] = [{"expression": expression, "left": left, "right": right}]
    near: Object = {"what": "resumed", "instanceId": "i", "stepId": "s", "failed": failed}
    assert nearly_reached_lines([near]) == [f"nearly reached i s: {said}"]
    assert nearly_reached_lines([near] * 4)[2:] == ["and nearly 2 more"]
