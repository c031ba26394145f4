"""Limits and the queue from a terminal."""

from __future__ import annotations

import pytest

from tenuto import Tenuto
from tenuto.cli import exits
from tenuto.model.json import Object
from tests.cli.conftest import Terminal

HELD: Object = {
    "id": "held",
    "steps": [{"stepId": "go", "type": "EVENT_WAIT", "eventPattern": "go.on"}],
    "options": {"concurrency": {"limit": 100, "holdWhileWaiting": True}},
}
OWN: Object = {"limit": 100, "holdWhileWaiting": True}
LIMITS: Object = {"workflowTypeLimits": {"held": 1}, "queue": {"bound": 50}}


@pytest.fixture
def queued(terminal: Terminal) -> list[str]:
    """A store in which three instances wait behind another one; the ids of all four."""
    ids: list[str] = []
    terminal.write("limits.json", LIMITS)
    terminal.write("held.json", HELD)
    assert terminal.call("deploy", "held.json").code == 0
    assert terminal.call("concurrency", "set", "limits.json").code == 0

    async def live(app: Tenuto) -> None:
        ids.extend([(await app.start("held", {})).id for _ in range(4)])
        await app.engine.admissions.run_once()

    terminal.past(live)
    return ids


def test_the_queue_is_listed_as_a_table_json_csv_and_ids(
    terminal: Terminal, queued: list[str]
) -> None:
    holder, *waiting = queued
    listed = terminal.call("queue", "list")
    assert listed.code == exits.DONE
    head, *lines = listed.out.splitlines()
    assert head.split()[:3] == ["POSITION", "INSTANCE", "WORKFLOW"]
    assert [line.split()[:2] for line in lines] == [[str(n), id] for n, id in enumerate(waiting, 1)]
    assert all("type:default/held 1/1" in line for line in lines)
    found = terminal.call("queue", "list", "--limit", "2", "-o", "json").json
    assert [each["position"] for each in found["items"]] == [1, 2]
    rest = terminal.call("queue", "list", "--cursor", found["nextCursor"], "-o", "json").json
    assert [each["instanceId"] for each in rest["items"]] == waiting[2:]
    assert terminal.call("queue", "list", "-o", "id").out.split() == waiting
    assert terminal.call("queue", "list", "-o", "csv").out.startswith("instanceId,workflowId,")
    assert terminal.call("queue", "list", "--workflow", "held", "-o", "id").out.split() == waiting
    unknown = terminal.call("queue", "list", "--workflow", "hold")
    assert (unknown.code, "held" in unknown.err) == (exits.NOT_FOUND, True)
    used = terminal.call("concurrency", "usage")
    assert used.out.splitlines()[1].split() == ["type:default/held", "1/1", "3", holder]
    [use] = terminal.call("concurrency", "usage", "-o", "json").json["items"]
    assert (use["held"], use["max"], use["waiting"]) == (1, 1, 3)
    assert use["holders"][0]["instanceId"] == holder


def test_an_instance_is_promoted_held_and_released_by_the_beginning_of_its_id(
    terminal: Terminal, queued: list[str]
) -> None:
    holder, first, _, last = queued
    promoted = terminal.call("queue", "promote", "@last")
    assert (promoted.code, promoted.out) == (exits.DONE, "")
    assert promoted.err.endswith(f"{last} is promoted\n")
    held = terminal.call("queue", "hold", first, "-o", "json", "--reason", "it is not urgent")
    assert held.json == {"instanceId": first, "action": "hold"}
    assert [
        each["held"] for each in terminal.call("queue", "list", "-o", "json").json["items"]
    ] == [
        False,
        True,
        False,
    ]
    explained = terminal.call("explain", first)
    assert "it is on hold: it waits until it is released" in explained.out
    again = "position 1 of 2; limit type:default/held 1 of 1, held by " + holder
    assert again in terminal.call("explain", last).out
    assert terminal.call("queue", "release", first).err.endswith(f"{first} waits again\n")
    twice = terminal.call("queue", "release", first)
    assert (twice.code, "TEN-3193" in twice.err) == (exits.CONFLICT, True)
    assert terminal.call("queue", "promote", holder).code == exits.CONFLICT
    gone = terminal.call("queue", "hold", "019b76da-a80b-700b-8bfa-7f79677734d0", "-o", "json")
    assert (gone.code, gone.json["error"]["code"]) == (exits.NOT_FOUND, "TEN-3001")


def test_limits_are_shown_and_set_and_what_is_wrong_is_named_with_its_line(
    terminal: Terminal,
) -> None:
    terminal.past(nothing)
    shown = terminal.call("concurrency", "show")
    assert shown.out.splitlines() == ["no limit is set", "queue: fifo; version 0"]
    empty = terminal.call("concurrency", "usage")
    assert (empty.out, "tenuto concurrency set limits.json" in empty.err) == ("", True)
    nobody = terminal.call("queue", "list")
    assert (nobody.out, "tenuto concurrency show" in nobody.err) == ("", True)
    terminal.write("limits.json", {**LIMITS, "globalMaxConcurrent": 8})
    foreseen = terminal.call("concurrency", "set", "limits.json", "--dry-run")
    assert (foreseen.code, "nothing was saved" in foreseen.err) == (exits.DONE, True)
    assert terminal.call("concurrency", "show", "-o", "json").json["globalMaxConcurrent"] is None
    saved = terminal.call("concurrency", "set", "limits.json")
    assert [line.split() for line in saved.out.splitlines()[1:3]] == [
        ["all", "8"],
        ["workflow", "held", "1"],
    ]
    bad = {"globalMaxConcurrent": -1, "tenantLimits": {"a": "many"}, "queue": {"order": "random"}}
    terminal.write("limits.json", bad)
    refused = terminal.call("concurrency", "set", "limits.json", "-o", "json")
    assert refused.code == exits.USAGE
    problems = refused.json["error"]["problems"]
    assert {(each["path"], each["line"]) for each in problems} == {
        ("$.globalMaxConcurrent", 2),
        ("$.tenantLimits.a", 4),
        ("$.queue.order", 7),
    }
    words = {each["path"]: (each["message"], each["advice"]) for each in problems}
    assert words["$.tenantLimits.a"][0] == "expected a whole number, found text"
    assert words["$.queue.order"][1] == "It is one of `fifo`, `priority`, `deadline`."
    assert "limits.json:2:" in terminal.call("concurrency", "set", "limits.json").err
    assert terminal.call("concurrency", "show", "-o", "json").json["globalMaxConcurrent"] == 8
    assert terminal.call("concurrency", "set", "missing.json").code == exits.NOT_FOUND


def test_the_aging_and_the_shares_of_a_queue_are_shown(terminal: Terminal) -> None:
    terminal.past(nothing)
    queue = {"order": "priority", "aging": "PT5M", "bound": 9, "perTenantShare": {"b": 1, "a": 3}}
    terminal.write("limits.json", {"globalMaxConcurrent": 8, "queue": queue})
    assert terminal.call("concurrency", "set", "limits.json").code == exits.DONE
    assert terminal.call("concurrency", "show").out.splitlines()[-2:] == [
        "queue: priority, aging PT5M, at most 9 wait; version 1",
        "shares of tenants: a 3, b 1",
    ]


def test_a_refused_start_says_after_how_many_seconds_to_try_again(terminal: Terminal) -> None:
    concurrency = {"limit": 1, "holdWhileWaiting": True, "onFull": "reject"}
    terminal.write("held.json", {**HELD, "options": {"concurrency": concurrency}})
    assert terminal.call("deploy", "held.json").code == exits.DONE

    async def live(app: Tenuto) -> None:
        await app.start("held", {})

    terminal.past(live)
    refused = terminal.call("start", "held", "-o", "json")
    error = refused.json["error"]
    assert (refused.code, error["code"]) == (exits.REFUSED, "TEN-2837")
    assert error["retryAfter"] >= 1
    assert error["advice"].startswith(f"Try again after {error['retryAfter']} s, or ")
    assert "Try again after " in terminal.call("start", "held").err


def test_a_dry_run_names_what_would_begin_and_limits_below_what_runs(
    terminal: Terminal, queued: list[str]
) -> None:
    terminal.write("limits.json", {"workflowTypeLimits": {"held": 3}})
    raised = terminal.call("concurrency", "set", "limits.json", "--dry-run")
    head, line, said = raised.out.splitlines()
    assert head.split() == ["LIMIT", "MAX", "THEN", "HELD", "THEN", "WAIT", "THEN"]
    assert line.split() == ["type:default/held", "1", "3", "1", "3", "3", "1"]
    assert said == "2 would be admitted at once, 1 would wait"
    terminal.write("limits.json", {"workflowTypeLimits": {"held": 0}})
    lowered = terminal.call("concurrency", "set", "limits.json", "--dry-run", "-o", "json").json
    [warning] = lowered["warnings"]
    assert (warning["code"], warning["severity"]) == ("TEN-2840", "warning")
    assert warning["path"] == "$.workflowTypeLimits.held"
    assert lowered["preview"]["admitted"] == 0
    assert terminal.call("queue", "list", "-o", "id").out.split() == queued[1:]


def test_a_limit_that_is_lowered_below_what_runs_ends_nothing_and_says_so(
    terminal: Terminal,
) -> None:
    ids: list[str] = []
    terminal.write("held.json", HELD)
    terminal.write("limits.json", {"workflowTypeLimits": {"held": 3}})
    assert terminal.call("deploy", "held.json").code == exits.DONE
    assert terminal.call("concurrency", "set", "limits.json").code == exits.DONE

    async def live(app: Tenuto) -> None:
        ids.extend([(await app.start("held", {})).id for _ in range(3)])
        await app.engine.admissions.run_once()

    terminal.past(live)
    terminal.write("limits.json", {"workflowTypeLimits": {"held": 1}})
    lowered = terminal.call("concurrency", "set", "limits.json")
    assert lowered.code == exits.DONE
    said = "TEN-2840 limit type:default/held 1, 3 run; nothing is ended"
    assert said in lowered.out + lowered.err
    listed = terminal.call("list", "--status", "WAITING_FOR_EVENT", "-o", "id").out.split()
    assert sorted(listed) == sorted(ids)
    terminal.write("held.json", {**HELD, "options": {"concurrency": {**OWN, "limit": 2}}})
    deployed = terminal.call("deploy", "held.json", "-o", "json")
    [warning] = deployed.json["items"][0]["problems"]
    assert (warning["code"], warning["severity"]) == ("TEN-2840", "warning")
    assert warning["path"] == "$.options.concurrency.limit"
    assert warning["message"] == "limit key:default/held/ 2, 3 run; nothing is ended"
    assert len(terminal.call("list", "--status", "WAITING_FOR_EVENT", "-o", "id").out.split()) == 3


def test_the_first_limit_says_how_many_run_that_it_does_not_count(terminal: Terminal) -> None:
    nap = {"stepId": "nap", "type": "DELAY", "duration": "PT1H"}
    terminal.write("plain.json", {"id": "plain", "steps": [nap]})
    assert terminal.call("deploy", "plain.json").code == exits.DONE

    async def live(app: Tenuto) -> None:
        for _ in range(2):
            await app.start("plain", {})

    terminal.past(live)
    terminal.write("limits.json", {"globalMaxConcurrent": 1})
    first = terminal.call("concurrency", "set", "limits.json", "-o", "json").json
    [warning] = first["warnings"]
    assert (warning["code"], warning["severity"]) == ("TEN-2847", "warning")
    assert len(terminal.call("list", "--status", "RUNNING", "-o", "id").out.split()) == 2


def test_a_rule_is_counted_saved_listed_and_removed(terminal: Terminal, queued: list[str]) -> None:
    urgent = "ctx.input.tier === 'gold'"
    none = terminal.call("queue", "rules")
    assert (none.code, none.out, "tenuto queue list" in none.err) == (exits.DONE, "", True)
    counted = terminal.call("queue", "add-rule", urgent, "--priority", "9", "--dry-run")
    assert counted.out == "0 of 3 that wait match\n"
    assert counted.err.endswith("nothing was saved\n")
    assert terminal.call("queue", "rules", "-o", "json").json["items"] == []
    saved = terminal.call(
        *("queue", "add-rule", urgent, "--priority", "9", "--note", "gold first", "-o", "json")
    ).json
    assert (saved["matched"], saved["examined"]) == (0, 3)
    listed = terminal.call("queue", "rules").out.splitlines()
    assert listed[0].split() == ["ID", "PRIORITY", "HOLD", "WHEN", "NOTE"]
    assert listed[1].split() == [saved["id"], "9", *urgent.split(), "gold", "first"]
    held = terminal.call("queue", "add-rule", "workflow.id === 'held'", "--hold", "--yes")
    assert held.out == "3 of 3 that wait match\n"
    items = terminal.call("queue", "list", "-o", "json").json["items"]
    assert {each["instanceId"]: each["held"] for each in items} == dict.fromkeys(queued[1:], True)
    gone = terminal.call("queue", "remove-rule", saved["id"])
    assert gone.err.endswith(f"rule {saved['id']} is removed\n")
    again = terminal.call("queue", "remove-rule", saved["id"], "-o", "json")
    assert (again.code, again.json["error"]["code"]) == (exits.NOT_FOUND, "TEN-3195")


def test_all_problems_of_a_rule_are_named_and_one_for_everything_needs_a_yes(
    terminal: Terminal, queued: list[str]
) -> None:
    wrong = terminal.call("queue", "add-rule", "a === 1", "--priority", "9999999", "-o", "json")
    assert wrong.code == exits.USAGE
    first, second = wrong.json["error"]["problems"]
    assert (first["code"], first["path"]) == ("TEN-2841", "$.when")
    assert first["message"] == "`a` is not known here (at character 1)"
    assert first["advice"] not in first["message"]
    assert (second["code"], second["path"]) == ("TEN-2841", "$.priority")
    idle = terminal.call("queue", "add-rule", "ctx.input.a === 1")
    assert (idle.code, "Add `priority` or `hold`." in idle.err) == (exits.USAGE, True)
    for everything in ("true", "workflow.id === 'held'"):
        refused = terminal.call("queue", "add-rule", everything, "--hold")
        assert (refused.code, "TEN-2842" in refused.err) == (exits.USAGE, True)
        assert "`--yes`" in refused.err
    assert terminal.call("queue", "rules", "-o", "json").json["items"] == []
    items = terminal.call("queue", "list", "-o", "json").json["items"]
    assert [each["held"] for each in items] == [False] * len(queued[1:])


def test_a_debounced_start_is_listed_with_its_pace_and_no_number(terminal: Terminal) -> None:
    terminal.write("late.json", {**HELD, "id": "late", "options": {"debounce": {"period": "P1D"}}})
    assert terminal.call("deploy", "late.json").code == 0

    async def live(app: Tenuto) -> None:
        await app.start("late", {})
        await app.engine.admissions.run_once()

    terminal.past(live)
    [_, line] = terminal.call("queue", "list").out.splitlines()
    assert line.split()[-1] == "debounce:default/late/"
    [_, used] = terminal.call("concurrency", "usage").out.splitlines()
    assert used.split() == ["debounce:default/late/", "1"]


def test_steps_that_wait_for_a_mutex_are_shown_beside_its_holder(terminal: Terminal) -> None:
    step: Object = {"stepId": "print", "type": "SUB_WORKFLOW", "workflowId": "below", "mutex": "m"}
    terminal.write("below.json", {**HELD, "id": "below", "options": {}})
    terminal.write("guarded.json", {"id": "guarded", "steps": [step]})
    assert terminal.call("deploy", "below.json", "guarded.json").code == 0
    ids: list[str] = []

    async def live(app: Tenuto) -> None:
        ids.extend([(await app.start("guarded", {})).id for _ in range(2)])
        await app.engine.admissions.run_once()

    terminal.past(live)
    head, line = terminal.call("concurrency", "usage").out.splitlines()
    assert head.endswith("NEXT STEPS")
    assert line.split() == ["mutex:default/m", "1/1", "1", ids[0], "print", ids[1], "print"]
    none = terminal.call("queue", "list")
    assert (none.out, "no instance waits for a slot" in none.err) == ("", True)


@pytest.mark.parametrize("group", ["queue", "concurrency"])
def test_a_group_without_a_command_and_a_wrong_one_lead_to_its_help(
    terminal: Terminal, group: str
) -> None:
    bare = terminal.call(group)
    assert (bare.code, "Commands:" in bare.err) == (exits.USAGE, True)
    wrong = terminal.call(group, "nope")
    assert (wrong.code, "TEN-2640" in wrong.err) == (exits.USAGE, True)
    assert terminal.call("queue", "list", "--limit", "0").code == exits.USAGE


@pytest.mark.parametrize(
    "command",
    [
        ("queue", "list"),
        ("queue", "promote", "@last"),
        ("queue", "rules"),
        ("queue", "add-rule", "ctx.input.a === 1", "--hold"),
        ("queue", "remove-rule", "6f1c0a4be2d79a55"),
        ("concurrency", "show"),
        ("concurrency", "usage"),
        ("concurrency", "set", "limits.json"),
    ],
)
def test_a_server_that_is_not_there_is_named(terminal: Terminal, command: tuple[str, ...]) -> None:
    terminal.write("limits.json", LIMITS)
    del terminal.environment["TENUTO_STORE"]
    terminal.environment["TENUTO_SERVER"] = "http://127.0.0.1:9"
    ended = terminal.call(*command)
    assert (ended.code, "TEN-4030" in ended.err) == (exits.NO_STORE, True)


async def nothing(_: Tenuto) -> None:
    """A store that was opened."""
