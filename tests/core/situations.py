"""A shelf of situations, each told by its history: the tests drive instances into them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from msgspec.structs import replace

from tenuto.core import Plan, fold
from tenuto.model.edited import EditedInput
from tenuto.model.entries import InputSet
from tenuto.model.failure import Failure
from tenuto.model.family import Parent
from tenuto.model.inputs import (
    CancelAsked,
    CompensationRetryAsked,
    RetryAsked,
    Reused,
    ScheduleCause,
    TaskFailed,
    TaskSucceeded,
    UndoAsked,
)
from tenuto.model.json import JSON, Object
from tenuto.model.policy import Policies, RetryPolicy, TaskPolicy
from tenuto.model.test_run import TestRunSpec
from tests.core.calendars import policies, short_office
from tests.core.drawing import (
    approval,
    arms,
    box,
    cancelled_by,
    child,
    computed,
    condition,
    delay,
    draw,
    emit,
    end,
    every,
    loop,
    start,
    task,
    terminate,
    undoing,
    wait,
)
from tests.core.play import BEGIN, Run, decisions_of, play

Situation = Callable[[], Run]

BUSY = draw("s>a s>w s>d a>x w>y d>z", s=start(), w=wait(), d=delay("PT5S"))
WAITING = draw("s>w s>u", s=start(), w=wait(eventTimeout={"duration": "P3D"}), u=wait("other"))
ORDER = draw(
    "s>reserve reserve>pay reserve:error>sorry pay>ship pay:timeout>sorry ship>done",
    options={"timeout": "P30D"},
    s=start(),
    reserve=task(outputVariable="reservation", retry={"maxAttempts": 2, "initialDelay": "PT1S"}),
    pay=wait(
        "payment.received",
        eventCondition="event.payload.orderId === ctx.input.orderId",
        eventPayloadMapping={"paid": "amount"},
        eventTimeout={"duration": "P3D"},
        outputVariable="payment",
    ),
    ship=task(input={"what": "{{ctx.reservation.sku}}", "paid": "{{ctx.paid}}"}),
    done=end({"shipped": "{{steps.ship.output}}", "paid": "{{ctx.paid}}"}),
)
RACE = draw("s>a s>b s>c a>j b>j c>j j>z", s=start(), j=task(joinMode="any", cancelRest=True))


def created() -> Run:
    """Accepted, and not begun: as it waits for a slot."""
    run = play(BUSY)
    entry = InputSet(at=BEGIN, input=None, definition_id="w", definition_version=1)
    run.entries.append(entry)
    run.state = fold(run.plan, run.state, entry)
    return run


def woken_among_others() -> Run:
    """It waits for a slot, gives it back while it waits for an event, and waits for another."""
    drawn = draw("a>w w>b", w=wait())
    limit: Object = {"limit": 2, "key": "{{ctx.input.customer}}"}
    run = play({**drawn, "workflowOptions": {"concurrency": limit, "timeout": "PT1H"}})
    run.start({"customer": "c7"}).later(minutes=2).admit().succeed("a", 1)
    return run.event("paid").later(minutes=1).admit().succeed("b", 2)


def begun_at_its_rate() -> Run:
    """It is debounced, then waits for its rate, and begins at the moment of its grant."""
    rate: Object = {"limit": 1, "per": "PT1M", "key": "{{ctx.input.customer}}"}
    options: Object = {"rate": rate, "debounce": {"period": "PT5S", "max": "PT30S"}}
    run = play({**draw("a>b"), "workflowOptions": options})
    return run.start({"customer": "c7"}).later(minutes=1).admit().succeed("a", 1).succeed("b", 2)


def one_printer() -> Run:
    """Two steps ask for one mutex; the first is lost once, and is tried again."""
    shared = task(mutex="printer {{ctx.input.floor}}")
    run = play(draw("a>c b>c", a=shared, b=shared)).start({"floor": 2})
    return run.admit("a").lose("a").succeed("a", 1).admit("b").succeed("b", 2).succeed("c", 3)


SOLD = cancelled_by(
    draw(
        "s>w w:paid>told w:refused>sorry told>ship ship>done",
        s=start(),
        w=arms("order.paid", "order.refused", eventTimeout={"duration": "P3D"}),
        told=emit(
            "order.accepted", payload={"id": "{{ctx.input.id}}"}, correlationId="c-{{ctx.input.id}}"
        ),
        ship=task(),
        sorry=task(),
        done=end(),
    ),
    {
        "eventPattern": "order.cancelled",
        "eventCondition": "event.payload.id === workflow.input.id",
        "reason": "the customer changed their mind",
        "shouldCompensate": False,
    },
    {
        "eventPattern": "order.*",
        "eventCondition": "ctx.told && event.payload.told === ctx.told.eventId",
    },
)


def sold() -> Run:
    """The first of several events is taken, and another one published."""
    run = play(SOLD).start({"id": 7}).event("order.paid", {"amount": 9})
    return run.succeed("ship")


def cancelled_by_event() -> Run:
    return play(SOLD).start({"id": 7}).event("order.cancelled", {"id": 7}, id="gone")


def running() -> Run:
    return play(BUSY).start()


def waiting() -> Run:
    return play(WAITING).start()


def paused() -> Run:
    return running().pause(reason="a look around", until=BEGIN + timedelta(days=1))


def completed() -> Run:
    run = running().succeed("a").event("paid").skip()
    return run.succeed("x").succeed("y").succeed("z")


def failed() -> Run:
    return running().fail("a", "BROKEN", details={"why": ["no", "reason"]})


def cancelled() -> Run:
    return running().cancel("changed my mind").skip()


def cancelled_before_it_began() -> Run:
    return created().cancel("too late anyway")


def order_paid_and_shipped() -> Run:
    run = play(ORDER).start({"orderId": "o-1"}, correlation_id="o-1", priority=5)
    run.later(seconds=2).fail("reserve", "BUSY", retryable=True).skip()
    run.succeed("reserve", {"sku": "tea"}).later(hours=7)
    return run.event("payment.received", {"orderId": "o-1", "amount": 12.5}).succeed("ship", "ok")


def order_never_paid() -> Run:
    run = play(ORDER).start({"orderId": "o-2"}).succeed("reserve", {"sku": "tea"}).skip()
    return run.succeed("sorry")


def order_out_of_stock() -> Run:
    return play(ORDER).start({"orderId": "o-3"}).fail("reserve", "OUT_OF_STOCK").succeed("sorry")


def first_of_three_wins() -> Run:
    """One loser obeys, one brings a result within the grace."""
    run = play(RACE).start().succeed("b", 2).fail("a", "CANCELLED").succeed("c", 3)
    return run.succeed("j").succeed("z", "won")


def two_branches_one_failed() -> Run:
    """The other has its grace, and does not obey."""
    document = draw("s>a s>b a>j b>j", s=start())
    return play(document).start().fail("a", "BROKEN").skip()


def quorum_with_dead_branches() -> Run:
    document = draw(
        "s>c c:p>a c:q>b c:else>n s>d a>j b>j n>j d>j j>e",
        s=start(),
        c=every(p="ctx.input.n > 1", q="ctx.input.n > 100"),
        j=task(joinMode={"atLeast": 2}, outputVariable="voted"),
        e=end("{{ctx.voted}}"),
    )
    return play(document).start({"n": 5}).succeed("d").succeed("a").succeed("j", "yes")


def passed_over() -> Run:
    document = draw("a>b b>c", b=task(when="ctx.v > 10"), a=task(outputVariable="v"))
    return play(document).start().succeed("a", 3).succeed("c")


def delayed_by_its_task() -> Run:
    """A task asks that what follows is dispatched later, and says how long it took."""
    run = play(draw("a>b", a=task(outputVariable="v"))).start().later(seconds=3)
    run.tell(TaskSucceeded(node="a", attempt=1, output=7, execution_time=2_000, delay=60_000))
    return run.later(seconds=60).fire().succeed("b", "done")


def signed_with_secrets() -> Run:
    """A task that gets secrets fails, is lost and cancelled, and the one before it is undone."""
    document = undoing(
        draw(
            "sign>ship",
            sign=task(input={"auth": "Bearer {{secrets.KEY}}", "n": "{{ctx.input.n}}"}),
            ship=task(input=["{{secrets.KEY}}{{secrets.OTHER}}"]),
        ),
        sign={"input": {"key": "{{secrets.KEY}}", "was": "steps.sign.output"}},
    )
    run = play(document).start({"n": "{{secrets.KEY}}"}).succeed("sign", {"ok": True})
    run.fail("ship", "REFUSED", retryable=True).later(minutes=1).fire().lose("ship")
    run.cancel("enough").fail("ship", "CANCELLED")
    run.fail("undo_sign", retryable=True).later(minutes=1).fire()
    return run.succeed("undo_sign")


DESK = draw(
    "s>stock stock>price price>ship ship>done",
    s=start(),
    stock=box(
        "dataQuery", dataQueryID="stock", args={"sku": "{{ctx.input.sku}}"}, outputVariable="rows"
    ),
    price=box(
        "javascript",
        code="return input.rows[0].price * 2",
        input={"rows": "{{ctx.rows}}"},
        outputVariable="price",
    ),
    ship=box(
        "http",
        url="https://ship.example/{{ctx.input.sku}}",
        method="POST",
        body={"price": "{{ctx.price}}"},
        outputVariable="sent",
    ),
    done=end({"sent": "{{ctx.sent.status}}"}),
)


def work_of_its_own() -> Run:
    """A query, code that is lost with its process, and a request to a service that is busy."""
    run = play(DESK).start({"sku": "a"}).later(seconds=1).succeed("stock", [{"price": 7}])
    run.later(seconds=1).lose("price").later(seconds=1).succeed("price", 14)
    busy = Failure(code="HTTP_503", message="503", details={"status": 503})
    run.tell(TaskFailed(node="ship", attempt=1, error=busy, retry_after=timedelta(seconds=20)))
    return run.later(seconds=20).fire().succeed("ship", {"status": 201})


def run_by_workers() -> Run:
    """Two workers in turn, one of which asks for a delay; then the process itself."""
    run = play(draw("a>b")).start()
    run.worker = "one"
    run.fail("a", "FLAKY", retryable=True).later(seconds=30).fire()
    run.worker = "two"
    run.succeed("a", 7, delay=1_000).later(seconds=1).fire()
    run.worker = None
    return run.succeed("b")


def delay_skipped() -> Run:
    """Of a test run."""
    run = play(draw("d>a", d=delay("P1D")))
    run.plan = Plan(run.plan.definition, rehearsal=TestRunSpec(allows_effects=True))
    return run.start().skip_delay("d").succeed("a")


def poison_handled() -> Run:
    run = play(draw("a>b a:error>c")).start({"n": 1})
    for _ in range(5):
        run.later(seconds=1).lose("a")
    return run.succeed("c")


def stopped_and_started_again() -> Run:
    return play(draw("a>b")).start().lose("a", clean=True).succeed("a").lose("b").succeed("b")


def terminated() -> Run:
    document = draw(
        "s>a s>b s>w a>c c:no>t",
        s=start(),
        c=condition(no="!ctx.ok"),
        a=task(outputVariable="ok"),
        w=wait(),
        t=terminate("FAILED", reason="{{ctx.input.who}} said no"),
    )
    return play(document).start({"who": "Ada"}).succeed("a", False).succeed("b")


def paused_until_it_resumed_by_itself() -> Run:
    run = play(draw("w>a", w=wait())).start().pause(until=BEGIN + timedelta(hours=1))
    return run.skip().pause().event("paid", {"n": 1}).resume().succeed("a")


def cancelled_while_paused() -> Run:
    return waiting().pause().cancel("enough")


def deadline_passed() -> Run:
    return play(draw("a", options={"timeout": "PT1H"})).start().skip().fail("a", "CANCELLED")


def wait_timed_out_unhandled() -> Run:
    return waiting().skip()


def waited_too_long_for_anything() -> Run:
    """The nodes' own timeouts, one of them handled."""
    document = draw("s>w s>d w:error>a", s=start(), w=wait(timeout="PT1H"), d=delay("PT30M"))
    return play(document).start().skip().skip().succeed("a")


def waiting_cancelled() -> Run:
    return waiting().cancel()


def retried_while_paused() -> Run:
    run = play(draw("a")).start().fail("a", "BUSY", retryable=True).pause()
    return run.later(minutes=1).fire().resume().succeed("a", {"tries": 2})


def called_off_by_name() -> Run:
    document = draw("s>a s>b s>d b>x", s=start(), a=task(cancels=["b", "d", "x"]), d=delay())
    return play(document).start().succeed("a").later(seconds=3).fail("b", "OOPS")


def looped() -> Run:
    """A loop in a loop: an item fails, an inner loop has enough, the rest is called off."""
    document = draw(
        "l:loop>m m:loop>a l:done>z",
        l=loop("{{ctx.input.lists}}", onItemError="continue", outputVariable="all"),
        m=loop("{{ctx.item}}", mode="parallel", enough=1, cancelRest=True),
        a=task(input="{{ctx.item}}", outputVariable="one"),
    )
    run = play(document).start({"lists": [[1], [2, 3]]}).fail("a[0/0]", "BAD")
    run.succeed("a[1/1]", {"n": 3}).later(seconds=2).fail("a[1/0]", "CANCELLED")
    return run.succeed("z", "done")


def searched() -> Run:
    """Events append items to a loop, which ends with the right one; then two events are needed."""
    document = draw(
        "s>l l:loop>a a:default>q q:yes>f l:done>w w>d",
        s=computed(wanted="{{ctx.input.wanted}}"),
        l=loop([1], mode="parallel", concurrency=1, more={"eventPattern": "found"}),
        a=task(input="{{ctx.item}}"),
        q=condition(yes="item === ctx.wanted"),
        f=task(completes=["l"]),
        w=wait("seen", count=2),
        d=end("{{steps.w.output.events.length}}"),
    )
    run = play(document).start({"wanted": 2}).event("found", 2).event("found", 3)
    run.succeed("a[0]").succeed("a[1]").later(seconds=1).succeed("f[1]", "here")
    return run.event("seen").later(seconds=1).event("seen")


def merged() -> Run:
    """Each branch that arrives runs through the same steps, one after the other; one is dead."""
    document = draw(
        "s>a s>b s>q q:yes>c a>l b>l c>l b:error>l l:loop>x l:done>d",
        s=start(),
        q=condition(yes="ctx.input.all"),
        b=task(retry={"maxAttempts": 1}),
        l=loop("arrivals", concurrency=1, result="{{item}}"),
        x=task(input="{{ctx.item}}"),
        d=end("{{steps.l.output}}"),
    )
    run = play(document).start({"all": False}).fail("b", "BAD").later(seconds=1).succeed("a", 7)
    return run.succeed("x[0]").later(seconds=1).succeed("x[1]")


def second_child_succeeds() -> Run:
    """The first one failed; the other step starts a workflow that is not there."""
    document = draw(
        "s>c s>gone gone:error>a",
        s=start(),
        c=child(
            "pay",
            input={"sum": "{{ctx.input.n}}"},
            outputVariable="paid",
            timeout="P1D",
            retry={"maxAttempts": 3},
        ),
        gone=child("nowhere", version=3),
    )
    run = play(document).start({"n": 7}, correlation_id="o-1").resolve("c", version=2)
    run.fail("gone", "UNKNOWN_WORKFLOW").succeed("a").later(minutes=1)
    return run.child_ends("c", code="OUT_OF_MONEY").skip().child_ends("c", {"receipt": 1})


def child_outlived_by_nobody() -> Run:
    """An instance that was itself started from a step is cancelled, and its child with it."""
    parent = Parent(id="p", node="c", iteration="3/0", attempt=2, root_id="r", depth=4)
    run = play(draw("c", c=child())).start({"n": 1}, parent=parent).resolve("c")
    asked = CancelAsked(by="p", source="PARENT", reason="enough", should_compensate=False)
    return run.tell(asked)


def order_retried() -> Run:
    """One branch fails; of those that this withdraws one ends well, one obeys, two wait."""
    document = draw(
        "s>pay s>pack s>stamp s>w s>d pay>j pack>j stamp>j w>j d>j",
        s=start(),
        pay=task(outputVariable="paid", retry={"maxAttempts": 1}),
        pack=task(outputVariable="box"),
        w=wait("label.printed", eventTimeout={"duration": "PT2H"}),
        d=delay("PT1H"),
        j=task(input={"box": "{{ctx.box}}", "paid": "{{ctx.paid}}"}),
    )
    run = play(document).start({"orderId": 7}).later(seconds=5).fail("pay", "DECLINED")
    run.succeed("pack", "large").fail("stamp", "CANCELLED").later(minutes=5).retry()
    run.succeed("pay", "cash").succeed("stamp").event("label.printed").skip()
    return run.succeed("j", "sent")


def paid_with_another_card() -> Run:
    """A payment fails with what it was given, and is tried again with something else."""
    document = draw("pay>ship", pay=task(input={"card": "{{ctx.input.card}}"}, outputVariable="p"))
    run = play(document).start({"card": "old"}).fail("pay", "EXPIRED").later(minutes=5)
    edited = EditedInput(step_id="pay", input={"card": "new"})
    run.tell(RetryAsked(by="ada", edited=edited)).lose("pay")
    return run.succeed("pay", "paid").succeed("ship", "sent")


def order_rerun() -> Run:
    """As an instance that was given what an earlier one had done, up to its second branch."""
    document = draw(
        "s>reserve reserve:error>sorry reserve>pay pay>ship s>note note>ship",
        s=start(),
        reserve=task(outputVariable="held"),
        pay=task(outputVariable="paid"),
        note=task(when="ctx.input.loud"),
    )
    earlier = "00000000-0000-7000-8000-00000000000e"
    given = (
        Reused(node="s", output={"started": True}),
        Reused(node="note", status="skipped"),
        Reused(node="reserve", output={"sku": "tea"}, variables={"shelf": 4}),
    )
    run = play(document).start({"orderId": 7}, rerun_of=earlier, reused=given)
    return run.succeed("pay", "cash").succeed("ship", "sent")


EXPENSE = draw(
    "s>ask ask:approved>pay ask:rejected>sorry ask:timeout>sorry",
    s=start(),
    ask=approval(
        "{{ctx.input.boss}}",
        assignees={"users": ["{{ctx.input.boss}}"], "roles": ["controlling"]},
        deadline="P3D",
        reminders=["P2D", "P1D"],
        escalate={"after": "PT36H", "assignees": {"roles": ["board"]}},
        outputVariable="said",
    ),
    pay=task(input={"by": "{{ctx.said.by}}", "sum": "{{ctx.said.form.sum}}"}),
)


def expense_approved_after_all() -> Run:
    """The boss is reminded twice, and then somebody from the board decides."""
    run = play(EXPENSE).start({"boss": "ann"}).skip().skip().skip().later(hours=1)
    run.decide("ask", by="bob", roles=("staff", "board"), form={"sum": 90})
    return run.succeed("pay", "paid")


def expense_forgotten() -> Run:
    run = play(EXPENSE).start({"boss": "ann"})
    return run.skip().skip().skip().skip().succeed("sorry")


def in_short_decisions() -> Run:
    """A loop that needs nobody, of which a decision does no more than a part."""
    document = draw("l:loop>c l:done>z", l=loop([1, 2, 3]), c=condition(yes="true"))
    with decisions_of(5):
        return play(document).start().skip().skip().succeed("z")


def order_undone() -> Run:
    """Two of three parcels are packed, then the payment fails: one refund is down, then all is."""
    document = undoing(
        draw(
            "reserve>l l:loop>pack pack>check l:done>pay",
            l=loop("{{ctx.input.items}}", outputVariable="parcels"),
            pack=task(outputVariable="box", input="{{ctx.item}}"),
            check=task(when="ctx.item.fragile"),
            pay=task(retry={"maxAttempts": 1}),
        ),
        reserve={"condition": "ctx.parcels.length > 1"},
        pack={"input": {"box": "ctx.box", "of": "ctx.item.sku", "why": "{{ctx.input.why}}"}},
        check={"retry": {"maxAttempts": 2, "initialDelay": "PT1S"}},
        pay={},
    )
    items: list[JSON] = [
        {"sku": "tea", "fragile": True},
        {"sku": "tin", "fragile": False},
    ]
    run = play(document).start({"orderId": 7, "items": items, "why": "sorry"})
    run.succeed("reserve", {"shelf": 4}).succeed("pack[0]", "small").succeed("check[0]", "whole")
    run.later(seconds=1).succeed("pack[1]", "large").fail("pay", "DECLINED")
    run.lose("undo_pack[1]").succeed("undo_pack[1]", {"unpacked": True})
    run.fail("undo_check[0]", "DOWN", retryable=True).skip()
    run.fail("undo_check[0]", "DOWN", retryable=True).succeed("undo_pack[0]").succeed(
        "undo_reserve"
    )
    asked = CompensationRetryAsked(by="ada", step_id="undo_check", iteration="0")
    return run.later(hours=1).tell(asked).succeed("undo_check[0]", "mended")


def child_undone() -> Run:
    """An instance that was started from a step has ended well, and is undone after that."""
    parent = Parent(id="p", node="c", iteration="3/0", attempt=2, root_id="p", depth=1)
    document = undoing(draw("a>b"), a={"input": "steps.a.output"}, b={"condition": "false"})
    run = play(document).start({"n": 1}, parent=parent).succeed("a", 1).succeed("b", 2)
    return run.later(days=1).tell(UndoAsked(by="p")).succeed("undo_a")


def undone_with_its_children() -> Run:
    """One child undoes itself, the other cannot undo everything."""
    document = undoing(draw("c>d d>a a>w", c=child(), d=child(), w=wait()), a={})
    run = play(document).start()
    for name in ("c", "d"):
        run.resolve(name).child_ends(name, {"of": name}, can_be_undone=True)
    run.succeed("a").cancel("never mind").succeed("undo_a")
    run.child_undone("d", "COMPLETED_WITH_ERRORS")
    return run.child_undone("c")


def undone_though_it_failed() -> Run:
    """The money is taken, and where to go on from there cannot be worked out."""
    routed = task(conditions=[{"when": "ctx.input.nope()", "handle": "x"}])
    document = undoing(draw("pay>ship pay:x>hold", pay=routed), pay={"input": "steps.pay.output"})
    run = play(document).start({"n": 1}).succeed("pay", {"paymentId": "p1"})
    return run.succeed("undo_pay", {"refunded": True})


def set_aside_and_retried() -> Run:
    """The decision on a result raised an error; somebody has mended that, and retries."""
    run = play(draw("s>a a>b", s=start())).start().succeed("a").set_aside()
    run.ledger.running.clear()
    return run.later(days=1).retry().succeed("b")


def by_declared_policies() -> Run:
    """The tenant has declared how its task is tried, and changes that between two attempts."""
    retry = RetryPolicy(max_attempts=2, initial_delay=timedelta(seconds=5))
    declared = TaskPolicy(retry=retry, timeout=timedelta(seconds=30), version="1-0123456789ab")
    changed = replace(declared, retry=replace(retry, max_attempts=3), version="2-456789abcdef")
    document = undoing(draw("s>a a>b", s=start()), a={})
    run = play(document, policies=Policies(tasks={"work": declared}, version="one"))
    run.start({"n": 1}).fail("a", retryable=True).later(seconds=10)
    run.policies = Policies(tasks={"work": changed, "undo": declared}, version="two")
    run.fire().fail("a", retryable=True).later(seconds=20).fire().succeed("a", 1)
    return run.fail("b").succeed("undo_a")


def paid_within_working_time() -> Run:
    """Its durations count the working time of a calendar, which is edited on the way."""
    office: JSON = "office"
    document = draw(
        "s>sleep sleep>check check>pay pay:timeout>late late>again again>sign sign:approved>l"
        " l:loop>each",
        options={
            "timeout": {"duration": "P30D", "calendar": office},
            "sla": {"warnAfter": "P1D", "breachAfter": "P2D", "calendar": office},
        },
        s=start(),
        sleep=delay("PT4H", calendar=office),
        check=task(timeout={"duration": "PT2H", "calendar": office}),
        pay=wait(eventTimeout={"duration": "P1D", "calendar": office}),
        late=task(sla={"breachAfter": "PT1H", "calendar": office}),
        again=task(retry={"initialDelay": "P1D", "calendar": office}),
        sign=approval(deadline="P3D", reminders=["PT4H", "P1D"], calendar=office),
        l=loop("{{[1]}}", timeout={"duration": "PT4H", "calendar": office}),
    )
    run = play(document, policies=policies()).at(BEGIN + timedelta(days=8, hours=14))
    run.start({"n": 1}).skip().skip().succeed("check")
    run.policies = policies(short_office())
    run.skip().skip().succeed("late").fail("again", retryable=True).skip().succeed("again")
    run.skip().decide("sign", "approved").fail("each[0]").later(hours=1).retry()
    return run.succeed("each[0]")


def promises_missed() -> Run:
    """Of the instance and of a step, which is retried by hand in between."""
    promise: JSON = {"warnAfter": "PT1H", "breachAfter": "PT2H"}
    document = draw("a>b", options={"sla": promise}, a=task(sla=promise))
    run = play(document).start().later(hours=1).fire().fail("a").later(hours=3).retry().fire()
    return run.succeed("a").succeed("b")


def nightly_report(mark: str = "") -> Run:
    """A tick of a schedule started it, a little late."""
    tick = ScheduleCause(id="nightly", nominal=BEGIN - timedelta(seconds=3), mark=mark)
    run = play(draw("a")).start({"day": "{{schedule.nominal}}"}, schedule=tick)
    return run.succeed("a", {"pages": 3})


def nightly_report_backfilled() -> Run:
    """A backfill started the tick."""
    return nightly_report("backfill")


def timed_out_on_request() -> Run:
    """A wait and an attempt, which is tried again."""
    document = draw("w:timeout>a", w=wait(), a=task(retry={"maxAttempts": 2}))
    return play(document).start().time_out("w").time_out("a").skip().succeed("a")


SHELF: dict[str, Situation] = {
    situation.__name__: situation
    for situation in (
        created,
        running,
        waiting,
        paused,
        completed,
        failed,
        cancelled,
        cancelled_before_it_began,
        sold,
        cancelled_by_event,
        order_paid_and_shipped,
        order_never_paid,
        order_out_of_stock,
        first_of_three_wins,
        two_branches_one_failed,
        quorum_with_dead_branches,
        passed_over,
        delayed_by_its_task,
        work_of_its_own,
        run_by_workers,
        signed_with_secrets,
        delay_skipped,
        paid_within_working_time,
        promises_missed,
        nightly_report,
        nightly_report_backfilled,
        timed_out_on_request,
        poison_handled,
        stopped_and_started_again,
        terminated,
        paused_until_it_resumed_by_itself,
        cancelled_while_paused,
        deadline_passed,
        wait_timed_out_unhandled,
        waited_too_long_for_anything,
        waiting_cancelled,
        retried_while_paused,
        called_off_by_name,
        looped,
        searched,
        merged,
        second_child_succeeds,
        child_outlived_by_nobody,
        order_retried,
        paid_with_another_card,
        order_rerun,
        expense_approved_after_all,
        expense_forgotten,
        in_short_decisions,
        order_undone,
        child_undone,
        undone_with_its_children,
        undone_though_it_failed,
        set_aside_and_retried,
        by_declared_policies,
        woken_among_others,
        begun_at_its_rate,
        one_printer,
    )
}
