"""Each falsified run is caught, and by the one invariant that speaks of what was falsified."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import NamedTuple

import pytest

from tests.checker import shapes
from tests.checker.corruption import (
    Change,
    add,
    all_of,
    append,
    attempts,
    column,
    configure,
    cut_after,
    draw,
    drop,
    iterations,
    last_rows_at,
    ledger,
    lose,
    more,
    move,
    retype,
    say,
    say_at,
    step,
    store,
    stored_row,
    whole,
    without_node,
)
from tests.checker.history import BEGIN, ID, Fields, task
from tests.kit.checker import check, run_of
from tests.kit.checker.invariants import ALWAYS, AT_REST, EACH_ROW


class Falsehood(NamedTuple):
    """A correct run, what is changed in it, and who must notice."""

    name: str
    invariant: str
    shape: Callable[[], Fields]
    change: Change


A, B, J = "a", "b", "j"


def _one_commit(run: Fields) -> None:
    last = len(run["instances"][0]["history"])
    run["commits"] = [{"gseq": 1, "instance": ID, "first": 1, "last": last}]


def _ran_elsewhere(node: str) -> Change:
    """The instance before had not passed a step over: its input was another."""

    def change(run: Fields) -> None:
        history = run["instances"][1]["history"]
        history[0]["payload"]["input"] = {"n": 9}
        place = next(n for n, row in enumerate(history) if row["nodeId"] == node)
        passed = history[place]
        ordered = passed | {"eventType": "NODE_DISPATCHED", "payload": {}}
        done = passed | {"eventType": "NODE_COMPLETED", "nodeStatus": "success", "payload": {}}
        history[place : place + 1] = [ordered, done]
        for seq, row in enumerate(history, start=1):
            row["seq"] = seq

    return change


def _last_goes_first(run: Fields, places: int) -> None:
    """The last row stands so many places earlier."""
    history = run["instances"][0]["history"]
    history.insert(len(history) - 1 - places, history.pop())
    for seq, row in enumerate(history, start=1):
        row["seq"] = seq


FALSEHOODS = (
    # structure
    Falsehood("a hole in the numbers", "I1", shapes.diamond, lambda run: run["instances"][0][
        "history"][-1].update(seq=99)),
    Falsehood("commits out of order", "I1", shapes.linear, ledger("commits", 1, gseq=9)),
    Falsehood("a commit that was lost", "I1", shapes.linear, lose("commits", 2)),
    Falsehood("stored status is behind", "I3", shapes.linear, stored_row(status="RUNNING")),
    Falsehood("stored version is behind", "I3", shapes.linear, stored_row(version=6)),
    Falsehood("a variable was folded wrongly", "I3", shapes.linear,
        store(state={"input": {"n": 1}, "variables": {"x": 8}, "steps": {}})),
    Falsehood("a step's status was folded wrongly", "I3", shapes.error_path,
        step("a", status="COMPLETED")),
    Falsehood("a step's output was folded wrongly", "I3", shapes.linear, step("b", output=None)),
    Falsehood("a finished instance shows a current step", "I3", shapes.linear,
        stored_row(currentSteps=["b"])),
    Falsehood("waiting turned to completed", "I4", shapes.event_wait, all_of(
        without_node(B), drop("STATUS_CHANGED", None, place=2),
        say_at(-1, **{"from": "WAITING_FOR_EVENT"}))),
    Falsehood("a status that it did not have", "I4", shapes.linear,
        say_at(-1, **{"from": "PAUSED"})),
    Falsehood("an entry after the end", "I4", shapes.diamond, append("PAUSE_REQUESTED", None)),
    Falsehood("a second end", "I4", shapes.diamond,
        append("STATUS_CHANGED", None, **{"from": "COMPLETED", "to": "FAILED"})),
    Falsehood("failed without a failure", "I4", shapes.diamond, say_at(-1, to="FAILED")),
    Falsehood("two instances with one id", "I5", shapes.diamond,
        lambda run: run["instances"].append(run["instances"][0])),
    Falsehood("a node that is not in the definition", "I5", shapes.diamond,
        add("NODE_COMPLETED", "q", before=("NODE_COMPLETED", "e"))),
    Falsehood("an event that nobody accepted", "I5", shapes.two_waits_look_back,
        say("WAIT_RESOLVED", "v", eventId="e9")),
    Falsehood("another version of the definition", "I6", shapes.linear,
        stored_row(definitionVersion=2)),
    Falsehood("a second input", "I6", shapes.diamond,
        add("INPUT_SET", None, before=("NODE_COMPLETED", "s"), input={}, definitionId="d",
            definitionVersion=1)),
    # acceptance
    Falsehood("an acknowledged start is gone", "I7", shapes.linear,
        more("client", op="start", outcome="ok", instance="i-2", input={})),
    Falsehood("one key, two inputs", "I7", shapes.paused_and_resumed, all_of(
        more("client", op="start", outcome="ok", instance=ID, key="q", input={}),
        more("client", op="start", outcome="ok", instance=ID, key="q"))),
    Falsehood("an accepted event is gone", "I8", shapes.event_wait,
        more("client", op="publish", outcome="ok", event="e7", payload={})),
    Falsehood("an accepted pause left no trace", "I8", shapes.linear,
        more("client", op="pause", outcome="ok", instance=ID)),
    Falsehood("an accepted event was never delivered", "I8", shapes.waiting,
        more("events", id="e1", pattern="pay.ok", payload={"k": 1}, receivedAt=BEGIN + 7)),
    Falsehood("an event that came while it waited is left", "I8", shapes.waiting, all_of(
        more("events", id="e1", pattern="pay.ok", payload={"k": 1}, receivedAt=BEGIN - 7, after=1),
        _one_commit)),
    Falsehood("an instance that nobody asked for", "I9", shapes.event_wait, lose("client", 1)),
    # steps
    Falsehood("dispatched twice", "I10", shapes.diamond,
        add("NODE_DISPATCHED", J, before=("NODE_COMPLETED", J))),
    Falsehood("completed twice", "I10", shapes.diamond,
        add("NODE_COMPLETED", A, before=("NODE_DISPATCHED", J))),
    Falsehood("an outcome without an order", "I10", shapes.diamond, drop("NODE_DISPATCHED", A)),
    Falsehood("failed after it had completed", "I10", shapes.diamond,
        add("NODE_FAILED", A, before=("NODE_DISPATCHED", J), error={"code": "X"}, then="retry")),
    Falsehood("an attempt left out", "I11", shapes.error_path, attempts(3, 4)),
    Falsehood("the next attempt while this one runs", "I11", shapes.lost_and_found,
        drop("NODE_FAILED", A, 2)),
    Falsehood("more attempts than allowed", "I11", shapes.error_path,
        configure(A, retry={"maxAttempts": 2})),
    Falsehood("given up too soon", "I11", shapes.error_path,
        configure(A, retry={"maxAttempts": 4})),
    Falsehood("repeated what must not be", "I11", shapes.error_path,
        configure(A, retry={"nonRetryable": ["NET"]})),
    Falsehood("retried sooner than the policy says", "I11", shapes.error_path,
        say("RETRY_SCHEDULED", A, due=BEGIN + 900)),
    Falsehood("retried later than the jitter allows", "I11", shapes.error_path,
        configure(A, retry={"initialDelay": 800})),
    Falsehood("a lost attempt is not started again", "I11", shapes.lost_and_found,
        all_of(cut_after("NODE_FAILED", A), say("NODE_FAILED", A, then="fail"),
            append("STATUS_CHANGED", None, **{"from": "RUNNING", "to": "FAILED"}),
            store(deadLetters=[{"id": "l", "kind": "task-failed", "node": A, "attempt": 1}]))),
    Falsehood("the result of an older attempt", "I12", shapes.lost_and_found, all_of(
        cut_after("NODE_DISPATCHED", A, 2), append("NODE_COMPLETED", A),
        append("STATUS_CHANGED", None, **{"from": "RUNNING", "to": "COMPLETED"}))),
    Falsehood("ordered after the end", "I13", shapes.diamond,
        append("NODE_DISPATCHED", J, attempt=2)),
    Falsehood("ordered after the cancel", "I13", shapes.cancelled, all_of(
        add("NODE_COMPLETED", A, before=("NODE_CANCELLED", A)), drop("NODE_CANCELLED", A),
        move("CANCEL_REQUESTED", None, before=("NODE_DISPATCHED", A)))),
    Falsehood("ordered while paused", "I13", shapes.paused_and_resumed,
        move("NODE_DISPATCHED", B, before=("RESUME_REQUESTED", None))),
    Falsehood("poison too soon", "POISON", shapes.poison, all_of(
        drop("NODE_DISPATCHED", A, 5), drop("NODE_FAILED", A, 4), attempts(5, 4),
        store(deadLetters=[{"id": "l", "kind": "poison", "node": A, "attempt": 4}]))),
    Falsehood("lost five times and still going", "POISON", shapes.poison, all_of(
        say_at(-3, then="retry", error={"code": "LOST"}),
        retype(-2, "NODE_DISPATCHED", nodeId=A, attempt=6),
        retype(-1, "NODE_COMPLETED", nodeId=A, attempt=6),
        append("STATUS_CHANGED", None, **{"from": "RUNNING", "to": "COMPLETED"}),
        store(deadLetters=[]))),
    Falsehood("poison that nobody noted", "POISON", shapes.poison, drop("SYSTEM_SET")),
    Falsehood("poison without a dead letter", "POISON", shapes.poison, store(deadLetters=[])),
    Falsehood("a failure without a dead letter", "DEAD-LETTER", shapes.unhandled_failure,
        store(deadLetters=[])),
    Falsehood("a dead letter of what is tried again", "DEAD-LETTER", shapes.tried_again_by_hand,
        store(deadLetters=[{"id": "l", "kind": "task-failed", "node": A, "attempt": 1}])),
    Falsehood("a dead letter for what was handled", "DEAD-LETTER", shapes.error_path,
        store(deadLetters=[{"id": "l", "kind": "task-failed", "node": A, "attempt": 3}])),
    # flow
    Falsehood("a join that does not wait", "I14", shapes.diamond,
        move("NODE_DISPATCHED", J, before=("NODE_COMPLETED", A))),
    Falsehood("a step before its dependency", "I14", shapes.linear_in_steps_form,
        move("NODE_DISPATCHED", B, before=("NODE_COMPLETED", A))),
    Falsehood("a join that never fires", "I14", shapes.first_of_two,
        all_of(drop("NODE_DISPATCHED", J), drop("NODE_COMPLETED", J), stored_row(output={}))),
    Falsehood("a dead path that nobody skipped", "I14", shapes.conditional,
        drop("NODE_SKIPPED", "a")),
    Falsehood("a live path that was skipped", "I14", shapes.first_of_two, all_of(
        drop("NODE_DISPATCHED", J), drop("NODE_COMPLETED", J), stored_row(output={}),
        add("NODE_SKIPPED", J, before=("NODE_COMPLETED", "s"), reason="dead-path"))),
    Falsehood("a join that fires twice", "I15", shapes.first_of_two,
        add("NODE_DISPATCHED", J, before=("NODE_COMPLETED", A), attempt=2)),
    Falsehood("a wait that opens twice", "I15", shapes.two_waits_look_back,
        add("WAIT_OPENED", "v", before=("WAIT_RESOLVED", "v"), pattern="pay.*", since=BEGIN)),
    Falsehood("completed while a branch runs", "I15", shapes.first_of_two,
        drop("NODE_COMPLETED", A)),
    Falsehood("a handle that it does not have", "ROUTE", shapes.linear,
        say("NODE_COMPLETED", B, handles=["nowhere"])),
    Falsehood("the wrong branch of a condition", "ROUTE", shapes.conditional, all_of(
        say("INPUT_SET", input={"n": 7}))),
    Falsehood("a condition after a task read wrongly", "ROUTE", shapes.conditions_after_a_task,
        say("NODE_COMPLETED", A, output={"value": 1})),
    Falsehood("passed over though it should run", "ROUTE", shapes.passed_over,
        say("INPUT_SET", input={"go": True})),
    Falsehood("run though it should be passed over", "ROUTE", shapes.linear,
        configure(B, when="ctx.x === 8")),
    Falsehood("a failure taken to the wrong handle", "ROUTE", shapes.error_path,
        configure(A, onError=[{"codes": ["NET"], "handle": "gone"}])),
    Falsehood("a handled failure fails the workflow", "ROUTE", shapes.unhandled_failure,
        draw(A, "error", "c")),
    Falsehood("an error routed to nowhere", "ROUTE", shapes.error_path,
        all_of(without_node("e"), store(state=None))),
    Falsehood("a routed failure that never arrives", "ROUTE", shapes.error_path, all_of(
        cut_after("NODE_DISPATCHED", "a"), append("NODE_FAILED", A, then="route",
            error={"code": "GONE", "retryable": False}), store(state=None, owner="p"),
        whole(atRest=False))),
    # loops
    Falsehood("an iteration left out", "I16", shapes.while_it_goes_on, iterations("1", "2")),
    Falsehood("the next iteration begins twice", "I16", shapes.while_it_goes_on,
        add("ITERATION_STARTED", "l[1]", before=("NODE_DISPATCHED", "a[1]"))),
    Falsehood("more at once than allowed", "I16", shapes.two_at_a_time,
        configure("l", concurrency=1)),
    Falsehood("one iteration while another is under way", "I16", shapes.item_fails_its_loop,
        configure("l", mode="sequential")),
    Falsehood("an iteration after enough", "I16", shapes.while_it_goes_on,
        configure("l", enough=1)),
    Falsehood("an iteration ends while a node is active", "I16", shapes.two_at_a_time,
        move("ITERATION_ENDED", "l[1]", before=("TIMER_FIRED", "d[1]"))),
    Falsehood("an iteration ends twice", "I16", shapes.while_it_goes_on,
        add("ITERATION_ENDED", "l[1]", before=("NODE_COMPLETED", "l"), output=9)),
    Falsehood("a failed iteration is told as a success", "I16", shapes.item_fails_its_loop,
        say("ITERATION_ENDED", "l[1]", status="success")),
    Falsehood("completed with an iteration under way", "I16", shapes.one_is_enough,
        drop("ITERATION_ENDED", "l[1]")),
    Falsehood("a node begins in an iteration that failed", "I16", shapes.two_at_a_time, all_of(
        move("NODE_FAILED", "a[0]", before=("TIMER_SET", "d[0]")), cut_after("TIMER_SET", "d[0]"),
        store(state=None, row=None), whole(atRest=False))),
    Falsehood("an item of another source", "LOOP", shapes.while_it_goes_on,
        configure("l", **{"while": "ctx.index < 1"})),
    Falsehood("a loop that goes on too long", "LOOP", shapes.while_it_goes_on,
        configure("l", maxIterations=1)),
    Falsehood("results in the order of their ends", "LOOP", shapes.two_at_a_time, all_of(
        say("NODE_COMPLETED", "l", output=[None, {"of": 33}, {"of": 22}]), store(state=None),
        stored_row(output=[None, {"of": 33}, {"of": 22}]))),
    Falsehood("another result than the template's", "LOOP", shapes.two_at_a_time,
        configure("l", result={"of": "{{ctx.index}}"})),
    Falsehood("done before all have ended", "LOOP", shapes.one_is_enough,
        configure("l", enough=2)),
    Falsehood("an item that never began and is not told of", "LOOP", shapes.two_never_begin,
        drop("NODE_SKIPPED", "l[2]")),
    Falsehood("an item skipped without enough", "LOOP", shapes.two_never_begin,
        configure("l", enough=2)),
    Falsehood("a loop over that nothing completed", "LOOP", shapes.one_completes_it,
        configure("b", completes=[])),
    Falsehood("an arrival from another step", "LOOP", shapes.each_as_it_arrives,
        say("ITERATION_STARTED", "l[1]", **{"from": "b"})),
    Falsehood("over while an edge may arrive", "LOOP", shapes.each_as_it_arrives, all_of(
        drop("ITERATION_STARTED", "l[1]"), drop("NODE_DISPATCHED", "x[1]"),
        drop("NODE_COMPLETED", "x[1]"), drop("ITERATION_ENDED", "l[1]"),
        move("NODE_COMPLETED", "l", before=("NODE_COMPLETED", "a")),
        say("NODE_COMPLETED", "l", output=[7]))),
    Falsehood("another array than the source's", "LOOP", shapes.item_fails_its_loop,
        configure("l", source=[1, 3])),
    Falsehood("parallel iterations see each other", "SCOPE", shapes.two_at_a_time,
        say("NODE_DISPATCHED", "a[2]", input={"item": 3, "v": 33})),
    Falsehood("an iteration does not see the one before", "SCOPE", shapes.one_after_the_other,
        say("NODE_DISPATCHED", "a[1]", input={"item": "y"})),
    Falsehood("a body leaks into what follows", "SCOPE", shapes.one_after_the_other,
        say("NODE_DISPATCHED", "z", input={"v": 2})),
    Falsehood("the variables of a body are the instance's", "I3", shapes.one_after_the_other,
        lambda run: run["instances"][0]["state"]["variables"].update(v=2)),
    Falsehood("an error of an item is not told", "I3", shapes.two_at_a_time,
        step("l", errors=[])),
    Falsehood("one key for all iterations", "I17", shapes.one_after_the_other,
        ledger("effects", 2, key=f"{ID}:a:0")),
    Falsehood("a loop takes longer than told", "I19", shapes.one_after_the_other,
        configure("l", timeout=30_000)),
    Falsehood("the rest of a loop goes on", "CANCEL", shapes.one_is_enough, all_of(
        cut_after("NODE_CANCELLED", "m[1]"), whole(atRest=False))),
    Falsehood("in a body something is called off and nobody asked", "CANCEL", shapes.two_at_a_time,
        all_of(drop("TIMER_FIRED", "d[1]"), drop("NODE_COMPLETED", "d[1]"),
            add("NODE_CANCELLED", "d[1]", before=("ITERATION_ENDED", "l[1]")))),
    # what is called off
    Falsehood("the rest goes on", "CANCEL", shapes.first_wins, drop("NODE_CANCEL_REQUESTED", A)),
    Falsehood("what was called off is ordered", "CANCEL", shapes.loser_waits_for_its_retry, all_of(
        drop("NODE_CANCELLED", B), cut_after("NODE_DISPATCHED", J),
        append("NODE_DISPATCHED", B, attempt=2), last_rows_at(1, BEGIN + 1_000),
        whole(atRest=False))),
    Falsehood("somebody else is called off", "CANCEL", shapes.first_of_two, all_of(
        drop("NODE_COMPLETED", A), add("NODE_CANCELLED", A, before=("NODE_COMPLETED", J)))),
    Falsehood("`cancels` is forgotten", "CANCEL", shapes.one_calls_another_off, all_of(
        cut_after("NODE_COMPLETED", A), whole(atRest=False))),
    Falsehood("given up before the grace is over", "GRACE",
        shapes.quorum_whose_loser_does_not_obey, last_rows_at(2, BEGIN + 9_000)),
    Falsehood("a result after the grace", "GRACE", shapes.first_wins,
        last_rows_at(3, BEGIN + 10_001)),
    Falsehood("another grace than told", "GRACE", shapes.first_wins,
        say("NODE_CANCEL_REQUESTED", A, graceUntil=BEGIN + 11_000)),
    # output
    Falsehood("another end's output", "OUTPUT", shapes.two_ends,
        stored_row(output={"n": 1, "m": 1})),
    Falsehood("another sink's output", "OUTPUT", shapes.linear_in_steps_form,
        stored_row(output=None)),
    # effects
    Falsehood("another key for the same step", "I17", shapes.linear,
        ledger("effects", 1, key=f"{ID}:b:2")),
    Falsehood("ran and was never ordered", "I17", shapes.linear, more("effects", key=f"{ID}:b",
        instance=ID, node="b", attempt=2, outcome="lost")),
    Falsehood("ran twice", "I17", shapes.linear, more("effects", key=f"{ID}:b", instance=ID,
        node="b", attempt=1, outcome="lost")),
    Falsehood("ran before it was durable", "I17", shapes.linear, ledger("effects", 1, at=BEGIN)),
    Falsehood("recorded and never ran", "I17", shapes.linear, lose("effects", 0)),
    Falsehood("another result than it gave", "I18", shapes.linear, ledger("effects", 0, output=6)),
    # time
    Falsehood("a delay that is too short", "I19", shapes.delay, column("TIMER_FIRED", "z",
        at=BEGIN + 59_999)),
    Falsehood("a timer set wrongly", "I19", shapes.asleep, all_of(
        say("TIMER_SET", "z", due=BEGIN + 5_000),
        store(timers=[{"kind": "delay", "node": "z", "due": BEGIN + 5_000}]))),
    Falsehood("a time-out that is too soon", "I19", shapes.wait_timeout, column("WAIT_RESOLVED",
        "w", at=BEGIN + 59_000)),
    Falsehood("a retry that is too soon", "I19", shapes.error_path,
        column("NODE_DISPATCHED", A, 2, at=BEGIN + 1_050)),
    Falsehood("cancelled before the deadline", "I19", shapes.deadline_passed,
        last_rows_at(3, BEGIN + 3_000_000)),
    Falsehood("resumed too soon", "I19", shapes.paused_and_resumed, column("RESUME_REQUESTED",
        at=BEGIN + 400)),
    Falsehood("another result than the held one", "HELD", shapes.held,
        say("NODE_COMPLETED", "a", output=8)),
    Falsehood("a delay that fires twice", "I20", shapes.delay, add("TIMER_FIRED", "z",
        before=("NODE_COMPLETED", "z"))),
    Falsehood("a delay that never fires", "I20", shapes.asleep, whole(now=BEGIN + 99_000)),
    Falsehood("another deadline after a restart", "I23", shapes.linear,
        stored_row(deadline=BEGIN + 1)),
    Falsehood("another due time after a restart", "I23", shapes.waiting, store(timers=[
        {"kind": "wait-timeout", "node": "w", "due": BEGIN + 70_000}])),
    # waiting
    Falsehood("a wait without a row", "I24", shapes.waiting, store(waits=[])),
    Falsehood("a delay without a row", "I24", shapes.asleep, store(timers=[])),
    Falsehood("a wait that outlives its instance", "I25", shapes.event_wait,
        store(waits=[{"node": "w"}])),
    Falsehood("a timer that outlives its instance", "I25", shapes.delay,
        store(timers=[{"kind": "delay", "node": "z", "due": BEGIN}])),
    Falsehood("an owner of what has ended", "I25", shapes.linear, store(owner="p-1")),
    Falsehood("mail for what has ended", "I25", shapes.linear, store(mail=[{"id": "m"}])),
    Falsehood("ended while a task runs", "I25", shapes.unhandled_failure, all_of(
        drop("NODE_FAILED", B), drop("NODE_CANCELLED", B))),
    Falsehood("one event counted twice", "I27", shapes.counting, all_of(
        say_at(6, eventId="e1"),
        say("NODE_COMPLETED", "w", output={"events": [{"eventId": "e1"}, {"eventId": "e1"}]}))),
    Falsehood("a wait for two content with one", "I27", shapes.counting, all_of(
        say("WAIT_RESOLVED", "w", remaining=0), drop("WAIT_RESOLVED", "w", place=1),
        say("NODE_COMPLETED", "w", output={"events": [{"eventId": "e1"}]}))),
    Falsehood("an event that was counted and is not given", "I27", shapes.counting,
        say("NODE_COMPLETED", "w", output={"events": [{"eventId": "e2"}]})),
    Falsehood("a value that its template does not give", "SET", shapes.computing,
        say("NODE_COMPLETED", "s", output={"n": 2})),
    Falsehood("a variable that is not what was computed", "SET", shapes.computing,
        say("NODE_COMPLETED", "s", variables={"n": 2})),
    Falsehood("event and time-out both win", "I26", shapes.event_wait, add("WAIT_RESOLVED", "w",
        before=("NODE_COMPLETED", "w"), outcome="event", eventId="e1")),
    Falsehood("the loser is recorded as the winner", "I26", shapes.event_wait, store(deliveries=[
        {"event": "e1", "node": "w", "iteration": "", "outcome": "resumed"},
        {"event": "e2", "node": "w", "iteration": "", "outcome": "resumed"}])),
    Falsehood("what became of one is not recorded", "I26", shapes.event_wait, store(deliveries=[
        {"event": "e1", "node": "w", "iteration": "", "outcome": "resumed"},
        {"event": "e2", "node": "w", "iteration": "", "outcome": "matched"}])),
    Falsehood("an event of another pattern", "I27", shapes.event_wait, say("WAIT_RESOLVED",
        eventId="e2")),
    Falsehood("an event older than the instance", "I27", shapes.event_wait, say("WAIT_RESOLVED",
        eventId="e0")),
    Falsehood("an event whose condition is false", "I27", shapes.event_wait, all_of(
        ledger("events", 1, payload={"k": 2}), ledger("client", 0, payload={"k": 2}))),
    Falsehood("not the first listed arm", "I27", shapes.first_arm, all_of(
        say("WAIT_RESOLVED", "w", arm="any"), say("NODE_COMPLETED", "w", handles=["any"]),
        draw("w", "any", "b"))),
    Falsehood("an arm that does not take it", "I27", shapes.first_arm,
        ledger("events", 0, payload={"k": 0})),
    Falsehood("an arm that is not there", "I27", shapes.first_arm,
        say("WAIT_OPENED", "w", arms=shapes._SAID[1:])),
    Falsehood("another handle than that of its arm", "ROUTE", shapes.first_arm, all_of(
        say("NODE_COMPLETED", "w", handles=["any"]), draw("w", "any", "b"))),
    Falsehood("cancelled by another's event", "I27", shapes.cancelled_by_event,
        ledger("events", 1, payload={"k": 2})),
    Falsehood("cancelled by an event from before", "I27", shapes.cancelled_by_event,
        say("CANCEL_REQUESTED", eventId="e0")),
    Falsehood("cancelled by an event that nobody accepted", "I27", shapes.cancelled_by_event,
        lose("events", 1)),
    Falsehood("an event that was to cancel it", "I8", shapes.listening,
        ledger("events", 0, payload={"k": 1})),
    Falsehood("a trigger that is not open", "I25", shapes.listening,
        store(waits=[{"node": "w", "iteration": ""}])),
    Falsehood("what it published is gone", "I8", shapes.telling, lose("events", 0)),
    Falsehood("published by nobody", "I8", shapes.telling,
        more("events", **shapes.event(f"{ID}:x", BEGIN))),
    Falsehood("one event for two waits in turn", "I27", shapes.two_waits_look_back, say(
        "WAIT_RESOLVED", "v", eventId="e1")),
    Falsehood("not the oldest event", "I27", shapes.two_waits_look_back, all_of(
        say("WAIT_RESOLVED", "w", eventId="e2"), say("WAIT_RESOLVED", "v", eventId="e1"))),
    Falsehood("waiting while a task runs", "STATUS", shapes.event_wait, all_of(
        lambda run: run["instances"][0]["document"]["nodes"].append(task("t")),
        add("NODE_DISPATCHED", "t", before=("WAIT_OPENED", "w")),
        add("NODE_COMPLETED", "t", before=("WAIT_RESOLVED", "w")))),
    Falsehood("running though it only waits", "STATUS", shapes.waiting,
        cut_after("WAIT_OPENED")),
    # approvals
    Falsehood("decided by somebody who was not asked", "APPROVAL", shapes.decided,
        ledger("client", 2, roles=["staff"])),
    Falsehood("decided by somebody who never said so", "APPROVAL", shapes.decided, all_of(
        ledger("client", 2, outcome="refused"), say("NODE_COMPLETED", "p", output={
            "decision": "approved", "by": "ann"}))),
    Falsehood("another handle than what was decided", "APPROVAL", shapes.decided, all_of(
        say("NODE_COMPLETED", "p", output={"decision": "rejected", "by": "eve"}),
        ledger("client", 2, decision="rejected"))),
    Falsehood("an acknowledged decision that is not in the log", "APPROVAL", shapes.decided,
        ledger("client", 1, outcome="ok")),
    Falsehood("decided too late", "APPROVAL", shapes.decided, last_rows_at(7, BEGIN + 60_000)),
    Falsehood("others are asked than were told", "APPROVAL", shapes.decided,
        configure("p", assignees={"users": ["bob"]})),
    Falsehood("it escalates to others than it said", "APPROVAL", shapes.decided,
        say_at(5, assignees={"roles": ["board"]})),
    Falsehood("a reminder is left out", "APPROVAL", shapes.decided,
        say("TIMER_FIRED", "p", number=2)),
    Falsehood("the next reminder is forgotten", "APPROVAL", shapes.decided,
        say("TIMER_FIRED", "p", nextAt=None)),
    Falsehood("an event decides", "APPROVAL", shapes.decided,
        say("WAIT_RESOLVED", "p", outcome="event")),
    Falsehood("reminded too soon", "I19", shapes.decided,
        column("TIMER_FIRED", "p", at=BEGIN + 19_000)),
    Falsehood("a reminder set wrongly", "I19", shapes.decided,
        configure("p", reminders=["PT5S", "PT50S"])),
    Falsehood("escalated twice", "I20", shapes.decided, add("TIMER_FIRED", "p",
        before=("WAIT_RESOLVED", "p"), kind="escalation", assignees={
            "users": ["zoe"], "roles": ["board"]})),
    Falsehood("a reminder that never comes", "I20", shapes.asking, whole(now=BEGIN + 99_000)),
    Falsehood("a reminder without a row", "I24", shapes.asking, store(timers=[])),
    Falsehood("another reminder after a restart", "I23", shapes.asking, store(timers=[
        {"kind": "reminder", "node": "p", "due": BEGIN + 30_000}])),
    Falsehood("an approval that listens for events", "I25", shapes.asking,
        store(waits=[{"node": "p"}])),
    Falsehood("decision and deadline both win", "I26", shapes.decided, add("WAIT_RESOLVED", "p",
        before=("NODE_COMPLETED", "p"), outcome="decision")),
    # cancel, liveness, worth
    Falsehood("cancelled and never ended", "I28", shapes.cancelled, all_of(
        cut_after("NODE_SKIPPED", B))),
    Falsehood("cancelled too late", "I28", shapes.cancelled, last_rows_at(1, BEGIN + 20_000)),
    Falsehood("accepted and never started", "I45", shapes.deadline_passed,
        cut_after("INPUT_SET")),
    Falsehood("an attempt that never ends", "I45", shapes.linear_in_steps_form, all_of(
        cut_after("NODE_DISPATCHED", A), store(owner="p-1", row=None))),
    Falsehood("a fault that never struck", "I46", shapes.linear, lose("faults", 0)),
    # parents and children
    Falsehood("a child that nobody ordered", "FAMILY", shapes.parent_and_child,
        move("CHILD_STARTED", "c", before=("NODE_DISPATCHED", "c"))),
    Falsehood("a child of another workflow", "FAMILY", shapes.parent_and_child,
        configure("c", workflowId="other")),
    Falsehood("a child of another version than told", "FAMILY", shapes.parent_and_child,
        configure("c", version=2)),
    Falsehood("a child of a moment at which nothing was ordered", "FAMILY",
        shapes.parent_and_child, column("NODE_DISPATCHED", "c", at=BEGIN - 1)),
    Falsehood("an end that was never heard of", "FAMILY", shapes.parent_and_child,
        drop("CHILD_ENDED", "c", 2)),
    Falsehood("another end than the child's", "FAMILY", shapes.parent_and_child,
        say("CHILD_ENDED", "c", status="CANCELLED")),
    Falsehood("another output than the child's", "FAMILY", shapes.parent_and_child,
        say("NODE_COMPLETED", "c", output=8)),
    Falsehood("a child that is not there", "FAMILY", shapes.parent_and_child,
        lambda run: run["instances"].pop()),
    Falsehood("a child that nobody started", "FAMILY", shapes.child_called_off,
        drop("CHILD_STARTED", "c")),
    Falsehood("a child of another step", "FAMILY", shapes.child_called_off,
        lambda run: run["instances"][1]["history"][0]["payload"]["parent"].update(node="q")),
    Falsehood("a child that lies too deep", "FAMILY", shapes.child_called_off,
        lambda run: run["instances"][1]["history"][0]["payload"]["parent"].update(depth=21)),
    Falsehood("a child with more time than its parent", "FAMILY", shapes.child_called_off,
        say("INPUT_SET", deadline=BEGIN + 90_000)),
    Falsehood("a child that was not told", "FAMILY", shapes.child_called_off,
        lambda run: run["instances"][1]["history"][3]["payload"].update(source="API")),
    Falsehood("tried again though the child was cancelled", "FAMILY", shapes.parent_and_child,
        say("NODE_FAILED", "c", error={"code": "CHILD_CANCELLED"})),
    # reruns
    Falsehood("copied from an instance that it does not rerun", "RERUN", shapes.rerun_from_a_step,
        say("NODE_COMPLETED", A, reusedFrom="i-9")),
    Falsehood("copied by what is no rerun", "RERUN", shapes.rerun_from_a_step,
        say("INPUT_SET", rerunOf=None)),
    Falsehood("a rerun of what is not there", "RERUN", shapes.rerun_from_a_step, all_of(
        lambda run: run["instances"].pop(), lose("client", 2))),
    Falsehood("copied with another output", "RERUN", shapes.rerun_from_a_step,
        say("NODE_COMPLETED", A, output=9)),
    Falsehood("copied with other variables", "RERUN", shapes.rerun_from_a_step,
        say("NODE_COMPLETED", A, variables={"y": 1})),
    Falsehood("copied as a success", "RERUN", shapes.rerun_from_a_step, all_of(
        column("NODE_COMPLETED", "r", nodeStatus="success"),
        lambda run: run["instances"][0]["document"]["edges"][3].pop("sourceHandle"),
        lambda run: run["instances"][0]["history"][4]["payload"].pop("handles"))),
    Falsehood("copied and ordered all the same", "RERUN", shapes.rerun_from_a_step,
        add("NODE_DISPATCHED", A, before=("NODE_COMPLETED", A))),
    Falsehood("more is copied than was to be kept", "RERUN", shapes.rerun_from_a_step,
        ledger("client", 1, kept=[A, "r"])),
    Falsehood("copied as passed over though it ran", "RERUN", shapes.rerun_from_a_step, all_of(
        _ran_elsewhere("k"), ledger("client", 1, kept=[A, "c", "r"]))),
    Falsehood("copied without what it needs", "I14", shapes.rerun_from_a_step, all_of(
        drop("NODE_COMPLETED", A), ledger("client", 1, kept=["c", "r"]))),
    Falsehood("copied, and its join would never have let it go", "I14", shapes.rerun_from_a_step,
        configure("c", joinMode={"atLeast": 2})),
    Falsehood("a copied failure goes elsewhere", "ROUTE", shapes.rerun_from_a_step,
        configure("r", onError=[{"codes": ["NET"], "handle": "net"}])),
    Falsehood("copied as passed over without a test", "ROUTE", shapes.rerun_from_a_step,
        lambda run: run["instances"][0]["document"]["nodes"][1]["config"].pop("when")),
    # working time and SLAs
    Falsehood("working time that is any time", "I19", shapes.office_nap, all_of(
        configure("z", calendar=None))),
    Falsehood("a calendar that is not named", "I19", shapes.office_nap,
        say("TIMER_SET", "z", calendars=[])),
    Falsehood("warned twice", "SLA", shapes.promised, add("TIMER_FIRED", A,
        before=("NODE_COMPLETED", A), kind="sla-warning", due=BEGIN + 1_000)),
    Falsehood("warned too soon", "SLA", shapes.promised, column("TIMER_FIRED", A,
        at=BEGIN + 999)),
    Falsehood("missed without a word", "SLA", shapes.promised, drop("TIMER_FIRED", None, place=2)),
    Falsehood("another promise than the definition's", "SLA", shapes.promised,
        say("TIMER_SET", A, warnAt=BEGIN + 2_000)),
    Falsehood("a promise that nobody made", "SLA", shapes.delay, add("TIMER_FIRED", "z",
        before=("NODE_COMPLETED", "z"), kind="sla-warning", due=BEGIN)),
    Falsehood("an SLA that is never told", "SLA", shapes.promising, all_of(
        whole(now=BEGIN + 99_000),
        store(timers=[{"kind": "delay", "node": "z", "due": BEGIN + 3_600_000}]))),
    Falsehood("another promise after a restart", "I23", shapes.promising, store(timers=[
        {"kind": "delay", "node": "z", "due": BEGIN + 3_600_000},
        {"kind": "sla-breach", "node": "z", "due": BEGIN + 70_000}])),
    # what is undone
    Falsehood("undone in the order in which it was done", "I29", shapes.undone, all_of(
        say("COMPENSATION_PLANNED", plan=[{"stepId": "undo_a"}, {"stepId": "undo_b"}]))),
    Falsehood("a completed step is left as it is", "I29", shapes.undone, all_of(
        say("COMPENSATION_PLANNED", plan=[{"stepId": "undo_b"}]),
        drop("COMPENSATION_DISPATCHED", "undo_a"), drop("COMPENSATION_COMPLETED", "undo_a"),
        lose("effects", 3))),
    Falsehood("undone against its condition", "I29", shapes.undone,
        lambda run: run["instances"][0]["history"][0]["payload"]["input"].update(n=6)),
    Falsehood("nothing is undone at all", "I29", shapes.undone, all_of(
        drop("COMPENSATION_PLANNED"), drop("COMPENSATION_DISPATCHED", "undo_b"),
        drop("COMPENSATION_FAILED"), drop("COMPENSATION_DISPATCHED", "undo_a"),
        drop("COMPENSATION_COMPLETED"), drop("COMPENSATION_ENDED"), lose("effects", 3))),
    Falsehood("two are undone at once", "I29", shapes.undone,
        move("COMPENSATION_DISPATCHED", "undo_a", before=("COMPENSATION_FAILED", "undo_b"))),
    Falsehood("undone twice", "I29", shapes.undone,
        add("COMPENSATION_COMPLETED", "undo_a", before=("COMPENSATION_ENDED", None))),
    Falsehood("over before the last one", "I29", shapes.undone,
        move("COMPENSATION_ENDED", None, before=("COMPENSATION_COMPLETED", "undo_a"))),
    Falsehood("the end is declared first", "I29", shapes.undone,
        lambda run: _last_goes_first(run, 1)),
    Falsehood("never over", "I29", shapes.undone, drop("COMPENSATION_ENDED")),
    Falsehood("recorded as undone, and nobody was called", "I29", shapes.undone,
        lose("effects", 3)),
    Falsehood("given up, and nobody is told", "I29", shapes.undone, store(deadLetters=[])),
    Falsehood("undone with another output", "I30", shapes.undone,
        say("COMPENSATION_DISPATCHED", "undo_a", input={"of": 9})),
)  # fmt: skip


@pytest.mark.parametrize("falsehood", FALSEHOODS, ids=lambda falsehood: falsehood.name)
def test_a_falsehood_is_caught_by_the_invariant_that_speaks_of_it(falsehood: Falsehood) -> None:
    run = deepcopy(falsehood.shape())
    falsehood.change(run)
    found = check(run_of(run))
    assert {violation.invariant for violation in found} == {falsehood.invariant}, "\n".join(
        map(str, found)
    )


def test_every_invariant_catches_something() -> None:
    judged = {name for name, _ in (*ALWAYS, *EACH_ROW, *AT_REST)} | {
        "I5",
        "I7",
        "I9",
        "I46",
        "RERUN",
    }
    assert judged == {falsehood.invariant for falsehood in FALSEHOODS}
