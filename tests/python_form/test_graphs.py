"""What a workflow function describes is the graph that JSON spells."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tenuto import (
    Context,
    child,
    event,
    one_of,
    otherwise,
    publish,
    repeat_while,
    sleep,
    task,
    terminate,
    wait_event,
    when,
    workflow,
)
from tenuto.definition import compile_definition
from tenuto.model.graph import Trigger
from tests.python_form.graphs import (
    described,
    drawn,
    from_nodes,
    node,
    spelled,
    task as step,
    traced,
)
from tests.python_form.shop import (
    Order,
    auto_approve,
    bill,
    escalate,
    notify,
    pack,
    reserve,
    score,
    send,
    tidy,
)

ONE: Any = {"atLeast": 1}
TWO: Any = {"atLeast": 2}
JOIN_BRANCHES: list[Any] = [{"id": "go", "when": "true"}]


def test_a_value_is_an_edge_and_every_edge_is_required() -> None:
    """In the dependency form and the Python form every edge is required: they compile to
    `joinMode {atLeast: <number of required edges>}`, so a step whose input is dead is skipped."""

    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        risk = score(order)
        send(held, risk)

    assert described(flow) == spelled(
        step("held", "reserve"),
        step("risk", "score"),
        step(
            "send",
            input={"boxes": "{{ctx.held}}", "approval": "{{ctx.risk}}"},
            dependsOn=["held", "risk"],
        ),
    )


def test_after_is_an_edge_without_data() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        risk = score(order)
        bill.after(held, risk)(order)

    assert described(flow) == spelled(
        step("held", "reserve"), step("risk", "score"), step("bill", dependsOn=["held", "risk"])
    )


def test_after_any_joins_any() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        risk = score(order)
        bill.after_any(held, risk)(order)

    assert described(flow) == from_nodes(
        [
            traced("held", "reserve"),
            traced("risk", "score"),
            traced("bill", "bill", joinMode="any"),
        ],
        "held > bill",
        "risk > bill",
    )


def test_after_any_beside_a_value_is_a_join_of_its_own() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        risk = score(order)
        paid = bill(order)
        notify.after_any(held, risk)(paid)

    graph = described(flow)
    assert {(edge.source, edge.handle) for edge in graph.edges if edge.target == "notify"} == {
        ("paid", "default"),
        ("after_any", "go"),
    }
    assert graph.nodes["notify"].at_least == 2
    assert graph.nodes["after_any"].at_least == 1


def test_after_any_of_what_is_waited_for_anyway_says_nothing() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        risk = score(order)
        notify.after_any(held, risk)(held)

    assert described(flow) == spelled(
        step("held", "reserve"),
        step("risk", "score"),
        step("notify", input="{{ctx.held}}", dependsOn=["held"]),
    )


def test_a_step_is_called_like_its_variable_else_like_its_task() -> None:
    """A traced step's id is the local variable that holds it when the function returns, else the
    task's name, `_2`, …; `.named("x")` wins."""

    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        reserve(held)
        again = reserve(order)
        again = reserve(again)
        also = held  # noqa: F841 - of two variables the first names the step
        output = reserve(order)  # noqa: F841 - no variable of the context can be called so
        bill.named("payment")(order)
        [pack(item) for item in ("a", "b")]

    graph = described(flow)
    assert list(graph.nodes) == [
        "held",
        "reserve",
        "reserve_2",
        "again",
        "reserve_3",
        "payment",
        "pack",
        "pack_2",
    ]
    assert all(each.output_variable == name for name, each in graph.nodes.items())


def test_one_parameter_takes_all_of_the_input_and_several_are_named() -> None:
    """Binding: one data parameter gets the whole input; several are bound by name from the input
    object (positional arguments in a workflow are named when traced); none ignores it."""

    @task
    def price(ctx: Context, sku: str, *, count: int = 1) -> int:
        return len(sku) * count

    @workflow
    def flow(order: Order) -> None:
        tidy()
        notify({"total": order["a"] + 1, "list": [order["b"], 2], "text": "x"})
        price(order["sku"])
        price(order["sku"], count=3)

    nodes = described(flow).nodes
    inputs = {name: getattr(each.config, "input", None) for name, each in nodes.items()}
    assert inputs == {
        "tidy": None,
        "notify": {"total": "{{ctx.input.a + 1}}", "list": ["{{ctx.input.b}}", 2], "text": "x"},
        "price": {"sku": "{{ctx.input.sku}}"},
        "price_2": {"sku": "{{ctx.input.sku}}", "count": 3},
    }
    assert getattr(nodes["tidy"].config, "has_input", None) is False


def test_parameters_of_the_workflow_are_bound_like_those_of_a_task() -> None:
    """The same for workflow functions."""

    @workflow
    def flow(ctx: Context, order: Order, rush: bool = False) -> None:
        send(order, rush)
        notify(ctx.instance_id)

    graph = described(flow)
    assert getattr(graph.nodes["send"].config, "input", None) == {
        "boxes": "{{ctx.input.order}}",
        "approval": "{{ctx.input.rush ?? false}}",
    }
    assert getattr(graph.nodes["notify"].config, "input", None) == "{{workflow.instance.id}}"
    assert flow.definition()["inputSchema"] == {
        "type": "object",
        "required": ["order"],
        "properties": {"order": {"type": "object"}, "rush": {"type": ["boolean", "null"]}},
        "additionalProperties": False,
    }


def test_computing_with_a_value_is_an_expression() -> None:
    @workflow
    def flow(a: Any) -> None:  # noqa: ANN401 - reads whatever it likes
        notify(
            [
                a.b["c d"][0][-1],
                a[1:3],
                a[a.i],
                (a.x + 1) * 2 - a.y / -3,
                a.x // 2,
                7 % a.x,
                2**a.x,
                abs(-a.x),
                (a.x == "k") & (a.y != None) | ~(a.z >= 1.5),  # noqa: E711
            ]
        )

    config: Any = described(flow).nodes["notify"].config
    assert config.input == [
        '{{ctx.input.b["c d"][0].at(-1)}}',
        "{{ctx.input.slice(1, 3)}}",
        "{{ctx.input[ctx.input.i]}}",
        "{{((ctx.input.x + 1) * 2) - (ctx.input.y / (-3))}}",
        "{{Math.floor(ctx.input.x / 2)}}",
        "{{((7 % ctx.input.x) + ctx.input.x) % ctx.input.x}}",
        "{{2 ** ctx.input.x}}",
        "{{Math.abs(-ctx.input.x)}}",
        '{{((ctx.input.x === "k") && (ctx.input.y != null)) || (!(ctx.input.z >= 1.5))}}',
    ]


def test_what_is_returned_is_the_output() -> None:
    @workflow
    def flow(order: Order) -> Order:
        held = reserve(order)
        paid = bill(order)
        return {"held": held["reservation"], "paid": paid}

    @workflow
    def listed(order: Order) -> list[Any]:
        return [reserve(order), 1, {"n": [order["x"], True]}]

    outputs: Any = {"held": "{{ctx.held.reservation}}", "paid": "{{ctx.paid}}"}
    assert described(flow) == from_nodes(
        [
            traced("held", "reserve"),
            traced("paid", "bill"),
            node("end", "end", outputParameters=outputs, joinMode=TWO),
        ],
        "held > end",
        "paid > end",
    )
    end: Any = described(listed).nodes["end"].config
    assert end.output_parameters == '{{[ctx.reserve, 1, ({"n": [ctx.input.x, true]})]}}'


def test_a_condition_waits_for_what_its_block_uses_and_the_steps_in_it_for_the_condition() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        paid = bill(order)
        with when(order["amount"] > 1000, name="Big order"):
            asked = notify(paid)
            notify(asked)
        with otherwise(held["partial"] == True):  # noqa: E712
            escalate(order)
        with otherwise():
            notify("{{ctx.paid.id}}")

    branches: list[Any] = [
        {"id": "then", "when": "ctx.input.amount > 1000"},
        {"id": "then_2", "when": "ctx.held.partial === true"},
    ]
    decision: Any = {
        "id": "Big_order",
        "type": "condition",
        "name": "Big order",
        "config": {"branches": branches, "joinMode": TWO},
    }
    assert described(flow) == from_nodes(
        [
            traced("held", "reserve"),
            traced("paid", "bill"),
            decision,
            traced("asked", "notify", "{{ctx.paid}}", joinMode=ONE),
            traced("notify", "notify", "{{ctx.asked}}", joinMode=ONE),
            traced("escalate", "escalate", joinMode=ONE),
            traced("notify_2", "notify", "{{ctx.paid.id}}", joinMode=ONE),
        ],
        "held > Big_order",
        "paid > Big_order",
        "Big_order.then > asked",
        "asked > notify",
        "Big_order.then_2 > escalate",
        "Big_order.else > notify_2",
    )


def test_one_of_is_one_required_edge_and_a_join_of_its_own() -> None:
    """`one_of` is one required edge and compiles to a node of its own with `joinMode any`."""

    @workflow
    def flow(order: Order) -> object:
        with when(order["big"]):
            asked = escalate(order)
        with otherwise():
            auto = auto_approve(order)
        decision = one_of(asked["by"], auto)
        return send(order, decision)

    branches: list[Any] = [
        *JOIN_BRANCHES,
        {"id": "of_1", "when": "steps.asked.status === 'COMPLETED'"},
        {"id": "of_2", "when": "steps.auto.status === 'COMPLETED'"},
    ]
    chosen = "{{steps.decision.output.branches.includes('of_1') ? ctx.asked.by : ctx.auto}}"
    assert described(flow) == from_nodes(
        [
            node("when", "condition", branches=[{"id": "then", "when": "ctx.input.big"}]),
            traced("asked", "escalate", joinMode=ONE),
            traced("auto", "auto_approve", joinMode=ONE),
            node("decision", "condition", branches=branches, select="all", joinMode="any"),
            traced("send", "send", {"boxes": "{{ctx.input}}", "approval": chosen}, joinMode=ONE),
            node("end", "end", outputParameters="{{ctx.send}}", joinMode=ONE),
        ],
        "when.then > asked",
        "when.else > auto",
        "asked > decision",
        "auto > decision",
        "decision.go > send",
        "send > end",
    )


def test_barriers_come_after_every_earlier_step_and_before_every_later_one() -> None:
    """`sleep`, `wait_event`, `publish` and `terminate` come after every earlier step of their
    block and before every later one."""

    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        score(held)
        bill(order)
        sleep(minutes=10)
        notify(held)
        tidy()
        publish("order.done", {"id": order["id"]})
        arrived = wait_event("parcel.arrived", where="event.payload.id === workflow.input.id")
        with when(arrived["payload"]["broken"]):
            terminate("FAILED", reason="{{ctx.arrived.payload.why}}")

    broken: list[Any] = [{"id": "then", "when": "ctx.arrived.payload.broken"}]
    wait: Any = {
        "eventPattern": "parcel.arrived",
        "eventCondition": "event.payload.id === workflow.input.id",
        "outputVariable": "arrived",
    }
    reason = "{{ctx.arrived.payload.why}}"
    tidied: Any = {"taskId": "tidy", "outputVariable": "tidy", "joinMode": ONE}
    assert described(flow) == from_nodes(
        [
            traced("held", "reserve"),
            traced("score", "score", "{{ctx.held}}", joinMode=ONE),
            traced("bill", "bill"),
            node("sleep", "delay", duration="PT10M", joinMode=TWO),
            traced("notify", "notify", "{{ctx.held}}", joinMode=ONE),
            {"id": "tidy", "type": "task", "config": tidied},
            node(
                "publish",
                "emit",
                pattern="order.done",
                payload={"id": "{{ctx.input.id}}"},
                joinMode=TWO,
            ),
            {"id": "arrived", "type": "eventWait", "config": {**wait, "joinMode": ONE}},
            node("when", "condition", branches=broken, joinMode=ONE),
            node("terminate", "terminate", status="FAILED", reason=reason, joinMode=ONE),
        ],
        "held > score",
        "score > sleep",
        "bill > sleep",
        "sleep > notify",
        "sleep > tidy",
        "notify > publish",
        "tidy > publish",
        "publish > arrived",
        "arrived > when",
        "when.then > terminate",
    )


def test_a_barrier_behind_a_decision_waits_for_whichever_side_was_taken() -> None:
    @workflow
    def flow(order: Order) -> None:
        with when(order["big"]):
            first = escalate(order)
            notify(first)
            score(order)
        sleep("PT1H")
        tidy()

    tidied: Any = {"taskId": "tidy", "outputVariable": "tidy", "joinMode": ONE}
    assert described(flow) == from_nodes(
        [
            node("when", "condition", branches=[{"id": "then", "when": "ctx.input.big"}]),
            traced("first", "escalate", joinMode=ONE),
            traced("notify", "notify", "{{ctx.first}}", joinMode=ONE),
            traced("score", "score", joinMode=ONE),
            node("when_done", "condition", branches=[*JOIN_BRANCHES]),
            node("sleep", "delay", duration="PT1H", joinMode=ONE),
            {"id": "tidy", "type": "task", "config": tidied},
        ],
        "when.then > first",
        "first > notify",
        "when.then > score",
        "notify > when_done",
        "score > when_done",
        "when.else > when_done",
        "when_done.go > sleep",
        "sleep > tidy",
    )


def test_a_barrier_behind_one_of_needs_no_second_join() -> None:
    @workflow
    def flow(order: Order) -> None:
        with when(order["big"]):
            asked = escalate(order)
        with otherwise():
            auto = auto_approve(order)
        notify(one_of(asked, auto))
        sleep("PT1H")

    graph = described(flow)
    assert [edge.source for edge in graph.edges if edge.target == "sleep"] == ["notify"]
    assert "when_done" not in graph.nodes


def test_a_wait_that_times_out_has_the_value_of_what_ran_instead() -> None:
    """The value of a wait with `on_timeout` is that of whichever ran."""

    @workflow
    def flow(order: Order) -> None:
        asked = wait_event("approval.given", timeout=timedelta(days=3), on_timeout=escalate)
        notify(asked)

    branches: list[Any] = [
        *JOIN_BRANCHES,
        {"id": "of_1", "when": "steps.escalate.status === 'COMPLETED'"},
        {"id": "of_2", "when": "steps.asked.status === 'COMPLETED'"},
    ]
    either = "steps.asked_or_timeout.output.branches.includes('of_1') ? ctx.escalate : ctx.asked"
    handler: Any = {"taskId": "escalate", "outputVariable": "escalate", "joinMode": ONE}
    assert described(flow) == from_nodes(
        [
            node(
                "asked",
                "eventWait",
                eventPattern="approval.given",
                eventTimeout={"duration": "P3D"},
                outputVariable="asked",
            ),
            {"id": "escalate", "type": "task", "config": handler},
            node("asked_or_timeout", "condition", branches=branches, select="all", joinMode="any"),
            traced("notify", "notify", f"{{{{{either}}}}}", joinMode=ONE),
        ],
        "asked.timeout > escalate",
        "asked > asked_or_timeout",
        "escalate > asked_or_timeout",
        "asked_or_timeout.go > notify",
    )


def test_an_error_leads_to_its_handler() -> None:
    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)
        bill.on_error(notify)(order)
        reserve.named("more").on_error(lambda error: send(held, error["code"]))(order)

    codes: Any = {"boxes": "{{ctx.held}}", "approval": "{{ctx.more.error.code}}"}
    assert described(flow) == from_nodes(
        [
            traced("held", "reserve"),
            traced("bill", "bill"),
            traced("notify", "notify", "{{ctx.bill.error}}", joinMode=ONE),
            traced("more", "reserve"),
            traced("send", "send", codes, joinMode=TWO),
        ],
        "bill.error > notify",
        "more.error > send",
        "held > send",
    )


def test_map_is_a_loop_over_the_items() -> None:
    @task
    def label(item: str, colour: str) -> str:
        return f"{colour} {item}"

    @workflow
    def flow(order: Order) -> None:
        boxes = pack.map(order["items"], at_most=5, on_error="continue")
        label.map(boxes, colour=order["colour"])
        label.map([{"item": "a", "colour": "red"}])

    coloured: Any = {"item": "{{ctx.item}}", "colour": "{{ctx.input.colour}}"}
    pairs: list[Any] = [{"item": "a", "colour": "red"}]
    assert described(flow) == from_nodes(
        [
            node(
                "boxes",
                "loop",
                source="{{ctx.input.items}}",
                mode="parallel",
                concurrency=5,
                onItemError="continue",
                outputVariable="boxes",
            ),
            traced("pack", "pack", "{{ctx.item}}", joinMode=ONE),
            node(
                "label",
                "loop",
                source="{{ctx.boxes}}",
                mode="parallel",
                outputVariable="label",
                joinMode=ONE,
            ),
            traced("label_2", "label", coloured, joinMode=ONE),
            node("label_3", "loop", source=pairs, mode="parallel", outputVariable="label_3"),
            traced("label_4", "label", "{{ctx.item}}", joinMode=ONE),
        ],
        "boxes.loop > pack",
        "boxes.done > label",
        "label.loop > label_2",
        "label_3.loop > label_4",
    )


def test_repeat_while_is_a_loop_around_its_block() -> None:
    @workflow
    def flow(order: Order) -> object:
        token = reserve(order)
        with repeat_while("ctx.last?.more ?? true", at_most=20) as pages:
            page = send(token, pages.last["next"])
            notify("round {{ctx.index}} {{ctx.page.size}}")
            pages.gives(page["items"])
        return pages.results

    page: Any = {"boxes": "{{ctx.token}}", "approval": "{{ctx.last.next}}"}
    assert described(flow) == from_nodes(
        [
            traced("token", "reserve"),
            {
                "id": "pages",
                "type": "loop",
                "config": {
                    "while": "ctx.last?.more ?? true",
                    "maxIterations": 20,
                    "result": "{{ctx.page.items}}",
                    "outputVariable": "pages",
                    "joinMode": ONE,
                },
            },
            traced("page", "send", page, joinMode=ONE),
            traced("notify", "notify", "round {{ctx.index}} {{ctx.page.size}}", joinMode=ONE),
            node("end", "end", outputParameters="{{ctx.pages}}", joinMode=ONE),
        ],
        "token > pages",
        "pages.loop > page",
        "page > notify",
        "pages.done > end",
    )


def test_a_repetition_may_be_tested_by_a_function_of_the_result_before() -> None:
    @workflow
    def flow(order: Order) -> None:
        with repeat_while(lambda last: last["more"] != False):  # noqa: E712
            reserve(order)

    loop: Any = described(flow).nodes["repeat_while"].config
    assert loop.while_ == "ctx.last.more !== false"


def test_a_child_is_a_sub_workflow() -> None:
    @workflow("parcel")
    def parcel(address: str, weight: int) -> str:
        return "sent"

    @workflow
    def flow(order: Order) -> None:
        sent = child(parcel, order["address"], weight=2)
        child("invoice", {"for": sent})
        child("audit")

    address: Any = {"address": "{{ctx.input.address}}", "weight": 2}
    assert described(flow) == from_nodes(
        [
            node("sent", "subWorkflow", workflowId="parcel", input=address, outputVariable="sent"),
            node(
                "invoice",
                "subWorkflow",
                workflowId="invoice",
                input={"for": "{{ctx.sent}}"},
                outputVariable="invoice",
                joinMode=ONE,
            ),
            node("audit", "subWorkflow", workflowId="audit", outputVariable="audit"),
        ],
        "sent > invoice",
    )
    assert flow.children == (parcel,)


def test_sleeps_and_waits_say_all_that_json_can() -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)

    @workflow
    def flow(order: Order) -> None:
        sleep(until=moment, calendar="office")
        sleep(order["pause"])
        wait_event(
            "a.b",
            where=lambda event: event["payload"]["id"] == order["id"],
            lookback=timedelta(hours=1),
            correlation_id=order["id"],
            mapping={"paymentId": "id"},
            timeout="P1M",
        )
        publish("a.c", correlation_id=order["id"])

    assert described(flow) == from_nodes(
        [
            node("sleep", "delay", until="2026-03-01T12:00:00.000Z", calendar="office"),
            node("sleep_2", "delay", duration="{{ctx.input.pause}}", joinMode=ONE),
            node(
                "wait_event",
                "eventWait",
                eventPattern="a.b",
                eventCondition="event.payload.id === ctx.input.id",
                lookback="PT1H",
                correlationId="{{ctx.input.id}}",
                eventPayloadMapping={"paymentId": "id"},
                eventTimeout={"duration": "P1M"},
                outputVariable="wait_event",
                joinMode=ONE,
            ),
            node("publish", "emit", pattern="a.c", correlationId="{{ctx.input.id}}", joinMode=ONE),
        ],
        "sleep > sleep_2",
        "sleep_2 > wait_event",
        "wait_event > publish",
    )


def test_names_in_text_are_edges_like_values() -> None:
    """Tracing: `ctx.<step>` and `steps.<step>` in a string make an edge as a value does; a `when`
    block's condition waits for every earlier step whose value the block uses; a traced step's
    `outputVariable` is its id."""

    @workflow
    def flow(order: Order) -> None:
        held = reserve(order)  # noqa: F841 - named in text
        paid = bill(order)  # noqa: F841 - named in text
        notify("{{ctx.held.reservation}} of {{steps.paid.output.paymentId}}")
        with when("ctx.input.big"):
            notify.named("told")("{{ctx.paid}}")

    edges = {(edge.source, edge.target) for edge in described(flow).edges}
    assert edges == {
        ("held", "notify"),
        ("paid", "notify"),
        ("paid", "when"),
        ("when", "told"),
    }


def test_what_is_said_of_a_workflow_surrounds_its_graph() -> None:
    @workflow(on=event("order.placed").giving(orderId="id"), timeout="P30D", description="Sells.")
    def flow(order: Order) -> None:
        bill(order)

    definition = compile_definition(flow.definition())
    assert definition.triggers == (
        Trigger(event_pattern="order.placed", input_mapping={"orderId": "id"}),
    )
    assert definition.description == "Sells."
    assert definition.options.timeout is not None


def test_a_value_of_one_branch_used_behind_it_makes_the_user_skippable() -> None:
    @workflow
    def flow(order: Order) -> None:
        with when(order["big"]):
            asked = escalate(order)
        notify(asked)

    graph = described(flow)
    assert ("asked", "notify") in {(edge.source, edge.target) for edge in graph.edges}
    assert graph.nodes["notify"].at_least == 1


def test_the_document_compiles_to_the_same_graph_each_time() -> None:
    @workflow
    def flow(order: Order) -> Order:
        return reserve(order)

    first = flow.definition()
    first["nodes"] = []
    assert drawn(compile_definition(flow.definition()).graph) == described(flow)


def test_a_join_of_outer_values_inside_a_side_does_not_part_it_from_its_otherwise() -> None:
    @workflow
    def flow(order: Order) -> None:
        first = escalate(order)
        second = reserve(order)
        with when(order["big"]):
            notify(one_of(first, second))
        with otherwise():
            tidy()

    edges = {(edge.source, edge.handle, edge.target) for edge in described(flow).edges}
    assert edges == {
        ("first", "default", "one_of"),
        ("second", "default", "one_of"),
        ("one_of", "go", "when"),
        ("when", "then", "notify"),
        ("when", "else", "tidy"),
    }


def test_thousands_of_steps_are_described_at_once() -> None:
    @workflow
    def flow(order: Order) -> None:
        value = order
        for _ in range(2_000):
            value = reserve(value)
            sleep("PT1S")

    graph = described(flow)
    assert len(graph.nodes) == 4_000
    assert len(graph.edges) == 3_999


def test_python_may_ask_what_it_knows_while_it_describes() -> None:
    @workflow
    def flow(order: Order) -> None:
        last = None
        for name in ("a", "b", "c"):
            step = notify.named(name)
            last = step(order) if last is None else step.after(last)(order)

    assert {(edge.source, edge.target) for edge in described(flow).edges} == {
        ("a", "b"),
        ("b", "c"),
    }


def test_a_name_may_be_used_again_in_every_block() -> None:
    @workflow
    def flow(order: Order) -> None:
        for name in ("a", "b"):
            with when(order[name]):
                held = reserve(order)
                notify(held)
        with when(order["c"]):
            held = reserve(order)
            notify(held)

    assert len(described(flow).nodes) == 9
