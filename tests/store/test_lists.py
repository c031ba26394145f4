"""Lists of instances, definitions and dead letters."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenuto.model.errors import InvalidInput
from tenuto.model.search_terms import SearchTerm
from tenuto.model.status import Status
from tenuto.store.errors import Superseded
from tenuto.store.parts.dead_letters import DeadLetterPlace, LetterQuery
from tenuto.store.parts.definitions import REMOVED
from tenuto.store.parts.instances import InstanceQuery
from tenuto.store.protocol import Store
from tests.store.situations import (
    NOON,
    aside,
    begin,
    dead_letter,
    found_by,
    moment,
    step,
    turn,
    update,
    wait,
)

pytestmark = pytest.mark.asyncio


async def some_instances(store: Store) -> None:
    await store.turns.commit(
        turn(
            "t1",
            *[
                begin(
                    f"i{number:02}",
                    created_at=moment(number // 2),
                    definition_id=("order", "refund")[number % 2],
                    status=(Status.RUNNING, Status.WAITING_FOR_EVENT, Status.FAILED)[number % 3],
                    correlation_id=f"c{number % 4}" if number % 4 else None,
                    current_steps=(f"s{number % 5}", "both"),
                )
                for number in range(30)
            ],
            begin("other", tenant="other", current_steps=("both",)),
        )
    )


async def ids(store: Store, **query: object) -> list[str]:
    """What a query gives, page by page."""
    found: list[str] = []
    after: str | None = None
    while True:
        page = await store.instances.page(
            msgspec.structs.replace(InstanceQuery(after=after, limit=4), **query)
        )
        found += [row.id for row in page.items]
        after = page.next_after
        if after is None:
            return found


def those(*wanted: int) -> list[str]:
    return [f"i{number:02}" for number in sorted(wanted, reverse=True)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, those(*range(30))),
        ({"statuses": (Status.FAILED,)}, those(*range(2, 30, 3))),
        (
            {"statuses": (Status.FAILED, Status.RUNNING)},
            those(*(n for n in range(30) if n % 3 != 1)),
        ),
        ({"statuses": (Status.CANCELLED,)}, []),
        ({"definition_id": "refund"}, those(*range(1, 30, 2))),
        ({"definition_id": "refund", "statuses": (Status.RUNNING,)}, those(3, 9, 15, 21, 27)),
        ({"correlation_id": "c1"}, those(*range(1, 30, 4))),
        ({"correlation_id": "c1", "statuses": (Status.RUNNING,)}, those(9, 21)),
        ({"correlation_id": "c1", "definition_id": "order"}, []),
        ({"current_step": "s2"}, those(*range(2, 30, 5))),
        ({"current_step": "s2", "definition_id": "order"}, those(2, 12, 22)),
        ({"current_step": "both"}, those(*range(30))),
        ({"current_step": "s2", "correlation_id": "c2"}, those(2, 22)),
        ({"current_step": "nowhere"}, []),
        ({"ids": ("i03", "i01", "missing", "i03", "other")}, those(1, 3)),
        ({"ids": ("i03", "i01"), "current_step": "s3"}, those(3)),
        ({"created_from": moment(3), "created_before": moment(5)}, those(6, 7, 8, 9)),
        ({"tenant": "other"}, ["other"]),
        ({"limit": 100}, those(*range(30))),
    ],
)
async def test_every_filter_gives_its_instances_newest_first(
    store: Store, query: dict[str, Any], expected: list[str]
) -> None:
    await some_instances(store)
    assert await ids(store, **query) == expected


async def a_family(store: Store) -> None:
    """Two roots with children, which changed in another order than they were created."""
    families = {"r1": None, "r2": None, "c1": "r1", "c2": "r1", "c3": "r2", "c4": "r2"}
    await store.turns.commit(
        turn(
            "t1",
            *[
                begin(
                    id,
                    created_at=moment(number),
                    parent_id=parent,
                    root_id=parent,
                    definition_id=("order", "refund")[number % 2],
                    correlation_id="c",
                )
                for number, (id, parent) in enumerate(families.items())
            ],
            begin("other", tenant="other", parent_id="r1", root_id="r1"),
        )
    )
    for number, id in enumerate(("c2", "r1", "c4")):
        moved = update(
            status=Status.WAITING_FOR_EVENT,
            updated_at=moment(100 + number),
            completed_at=None,
            current_steps=("a", "b"),
        )
        opened = [
            wait(id, node, pattern=pattern)
            for node, pattern in (("w", "order.paid"), ("v", "order.paid"), ("", "order.stopped"))
        ]
        opened[1:2] = [wait(id, "v", pattern="order.*", is_wildcard=True)]
        if id == "c4":
            opened.append(wait(id, "u"))
        await store.turns.commit(
            turn(f"m{number}", step(id, 1, update=moved, waits_opened=tuple(opened)))
        )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"roots": True}, ["r2", "r1"]),
        ({"roots": True, "statuses": (Status.WAITING_FOR_EVENT,)}, ["r1"]),
        ({"roots": True, "definition_id": "refund"}, ["r2"]),
        ({"roots": True, "correlation_id": "c"}, ["r2", "r1"]),
        ({"roots": True, "ids": ("c1", "r1")}, ["r1"]),
        ({"roots": True, "parent_id": "r1"}, []),
        ({"roots": True, "current_step": "b"}, ["r1"]),
        ({"parent_id": "r1"}, ["c2", "c1"]),
        ({"parent_id": "r2", "statuses": (Status.WAITING_FOR_EVENT,)}, ["c4"]),
        ({"parent_id": "r1", "definition_id": "order"}, ["c1"]),
        ({"parent_id": "r1", "created_before": moment(3)}, ["c1"]),
        ({"parent_id": "nobody"}, []),
        ({"waiting_for": "order.paid"}, ["c4", "c2", "r1"]),
        ({"waiting_for": "order.*"}, ["c4", "c2", "r1"]),
        ({"waiting_for": "order.stopped"}, []),
        ({"waiting_for": "order.paid", "roots": True}, ["r1"]),
        ({"waiting_for": "order.paid", "parent_id": "r1"}, ["c2"]),
        ({"waiting_for": "order.paid", "definition_id": "refund"}, ["c4", "c2"]),
        ({"waiting_for": "order.paid", "ids": ("c1", "c2")}, ["c2"]),
        ({"waiting_for": "order.paid", "tenant": "other"}, []),
        ({"updated_from": moment(5)}, ["c4", "r1", "c2", "c4"][:3]),
        ({"updated_from": moment(0)}, ["c4", "r1", "c2", "c3", "c1", "r2"]),
        ({"updated_from": moment(101)}, ["c4", "r1"]),
        ({"updated_before": moment(102)}, ["r1", "c2", "c3", "c1", "r2"]),
        ({"updated_from": moment(0), "updated_before": moment(5)}, ["c3", "c1", "r2"]),
        ({"updated_from": moment(100), "roots": True}, ["r1"]),
        ({"updated_from": moment(100), "parent_id": "r1"}, ["c2"]),
        ({"updated_from": moment(100), "waiting_for": "order.paid"}, ["c4", "r1", "c2"]),
        ({"updated_from": moment(100), "current_step": "b"}, ["c4", "r1", "c2"]),
        ({"updated_from": moment(100), "definition_id": "refund"}, ["c4", "c2"]),
        ({"updated_from": moment(0), "created_before": moment(2)}, ["r1", "r2"]),
        ({"updated_from": moment(0), "created_from": moment(4)}, ["c4", "c3"]),
        ({"updated_from": moment(100), "ids": ("c1", "r1", "c4")}, ["c4", "r1"]),
        ({"updated_from": moment(100), "statuses": (Status.RUNNING,)}, []),
    ],
)
async def test_instances_are_found_by_family_by_awaited_pattern_and_by_time_of_change(
    store: Store, query: dict[str, Any], expected: list[str]
) -> None:
    await a_family(store)
    assert await ids(store, **query) == expected
    assert await ids(store, **query, limit=1) == expected


async def test_pages_are_stable_while_instances_are_added(store: Store) -> None:
    await some_instances(store)
    found: list[str] = []
    after: str | None = None
    for number in range(10):
        page = await store.instances.page(InstanceQuery(limit=3, after=after))
        found += [row.id for row in page.items]
        after = page.next_after
        late = f"n{number}"
        await store.turns.commit(turn(late, begin(late, created_at=moment(1000 + number))))
    assert found == those(*range(30))
    assert after is None


async def test_a_full_last_page_has_no_next(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1"), begin("i2")))
    assert (await store.instances.page(InstanceQuery(limit=2))).next_after is None
    assert (await store.instances.page(InstanceQuery(limit=1))).next_after is not None


@pytest.mark.parametrize("after", ["", "?", "aGVsbG8=", "é", "WzEsMl0=", "x' OR 1=1 --"])
async def test_a_cursor_that_is_none_is_refused(store: Store, after: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        await store.instances.page(InstanceQuery(after=after))
    assert [(each.code, each.path) for each in refusal.value.problems] == [("TEN-2009", "$.cursor")]


async def test_filters_follow_what_an_instance_does(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", current_steps=("a",))))
    moved = update(status=Status.WAITING_FOR_EVENT, current_steps=("c", "b"), completed_at=None)
    await store.turns.commit(turn("t2", step("i1", 1, update=moved)))
    assert await ids(store, current_step="a") == []
    assert await ids(store, current_step="b") == ["i1"]
    assert await ids(store, statuses=(Status.RUNNING,)) == []
    page = await store.instances.page(InstanceQuery(statuses=(Status.WAITING_FOR_EVENT,)))
    assert page.items[0].current_steps == ("c", "b")
    await store.turns.commit(turn("t3", step("i1", 2, update=update())))
    assert await ids(store, current_step="b") == []
    assert await ids(store, statuses=(Status.COMPLETED,)) == ["i1"]


async def some_that_are_found(store: Store) -> None:
    """Twelve: of two definitions, two tenants, with `x` in three values and `y` in two."""
    writes = []
    for number in range(12):
        born = {
            "tenant": ("default", "other")[number // 10],
            "definition_id": ("order", "refund")[number // 8 % 2],
        }
        at = moment(number // 2)
        begun = begin(f"i{number:02}", created_at=at, correlation_id=f"c{number % 2}", **born)
        found = found_by(**born, at=at, x=str(number % 3), y=str(number % 2))
        writes.append(msgspec.structs.replace(begun, searchable=found))
    await store.turns.commit(turn("t1", *writes))


def having(**values: str) -> tuple[SearchTerm, ...]:
    return tuple(SearchTerm(name, value) for name, value in values.items())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"terms": having(x="1")}, those(1, 4, 7)),
        ({"terms": having(x="1", y="0")}, those(4)),
        ({"terms": having(y="0", x="1")}, those(4)),
        ({"terms": having(x="1", z="0")}, []),
        ({"terms": having(x='"1"')}, []),
        ({"terms": having(y="0"), "definition_id": "refund"}, those(8)),
        ({"terms": having(y="0"), "definition_id": "refund", "tenant": "other"}, those(10)),
        ({"terms": having(y="0"), "correlation_id": "c1"}, []),
        ({"terms": having(y="0"), "correlation_id": "c0"}, those(0, 2, 4, 6)),
        ({"terms": having(y="0"), "current_step": "a"}, those(0, 2, 4, 6)),
        ({"terms": having(y="0"), "current_step": "b"}, []),
        ({"terms": having(y="0"), "statuses": (Status.FAILED,)}, []),
        ({"terms": having(y="0"), "ids": ("i00", "i01", "i04")}, those(0, 4)),
        ({"terms": having(y="0", x="1"), "ids": ("i00", "i01", "i04")}, those(4)),
        ({"terms": having(y="0"), "created_from": moment(2)}, those(4, 6)),
        ({"terms": having(y="0"), "limit": 1}, those(0, 2, 4, 6)),
    ],
)
async def test_instances_are_found_by_values_together_with_every_other_filter(
    store: Store, query: dict[str, Any], expected: list[str]
) -> None:
    await some_that_are_found(store)
    assert await ids(store, **{"definition_id": "order"} | query) == expected


async def test_an_instance_is_found_by_what_was_written_last_and_by_nothing_else(
    store: Store,
) -> None:
    async def found(**values: str) -> list[str]:
        return await ids(store, definition_id="order", terms=having(**values))

    begun = msgspec.structs.replace(begin("i1"), searchable=found_by(x="1", y="1"))
    await store.turns.commit(turn("t1", begun, begin("i2")))
    await store.turns.commit(turn("t2", step("i1", 1), step("i2", 1, searchable=found_by(x="1"))))
    assert await found(x="1") == ["i2", "i1"]
    await store.turns.commit(turn("t3", step("i1", 2, searchable=found_by(x="2", z="1"))))
    assert await found(x="1") == ["i2"]
    assert await found(y="1") == []
    assert await found(x="2") == await found(z="1") == ["i1"]
    lost = await store.turns.commit(turn("t4", step("i1", 2, searchable=found_by(x="9"))))
    assert lost.writes["i1"].outcome == "lost"
    assert await found(x="9") == []
    late = await store.turns.commit(turn("t5", aside("i1", version=2, searchable=found_by(x="9"))))
    assert late.writes["i1"].outcome == "lost"
    await store.turns.commit(turn("t6", aside("i1", version=3, searchable=found_by())))
    assert await found(x="2") == await found(z="1") == []


async def test_a_row_shows_all_that_was_written(store: Store) -> None:
    start = begin(
        "i1",
        tenant="t",
        definition_id="d",
        definition_version=7,
        status=Status.CREATED,
        correlation_id="c",
        priority=-3,
        deadline=moment(123),
        created_at=moment(1),
        started_at=None,
        current_steps=("a", "a"),
        parent_id="p",
        root_id="r",
        rerun_of="x",
    )
    await store.turns.commit(turn("t1", start))
    row = (await store.turns.load(["i1"]))["i1"].row
    assert (await store.instances.page(InstanceQuery(tenant="t"))).items == [row]
    assert start.create is not None
    for field in start.create.__struct_fields__:
        if field not in {"key", "content_hash", "needs_definition", "origin_id"}:
            assert getattr(row, field) == getattr(start.create, field), field
    assert row.updated_at == row.created_at
    ended = update(
        status=Status.CANCELLED,
        started_at=moment(2),
        output=b"1",
        last_error=b"2",
        cancellation=b"3",
    )
    await store.turns.commit(turn("t2", step("i1", 1, update=ended)))
    row = (await store.turns.load(["i1"]))["i1"].row
    for field in ended.__struct_fields__:
        if field != "keeps_status":
            assert getattr(row, field) == getattr(ended, field), field
    await store.turns.commit(turn("t3", step("i1", 2, update=update())))
    row = (await store.turns.load(["i1"]))["i1"].row
    assert (row.output, row.last_error, row.cancellation) == (None, None, None)


async def test_an_update_that_keeps_the_status_writes_all_the_rest(store: Store) -> None:
    await store.turns.commit(turn("t1", begin("i1", status=Status.RUNNING)))
    moved = update(
        status=Status.RUNNING,
        updated_at=moment(3),
        started_at=moment(2),
        completed_at=None,
        current_steps=("b", "c"),
        output=b"1",
        last_error=b"2",
        cancellation=b"3",
        keeps_status=True,
    )
    other = update(status=Status.COMPLETED, completed_at=moment(4), updated_at=moment(4))
    await store.turns.commit(turn("t2", begin("i2", status=Status.RUNNING)))
    await store.turns.commit(
        turn("t3", step("i1", 1, update=moved), step("i2", 1, update=other)),
    )
    rows = {id: each.row for id, each in (await store.turns.load(["i1", "i2"])).items()}
    for field in moved.__struct_fields__:
        if field != "keeps_status":
            assert getattr(rows["i1"], field) == getattr(moved, field), field
    assert (rows["i2"].status, rows["i2"].completed_at) == (Status.COMPLETED, moment(4))
    running = await store.instances.page(InstanceQuery(statuses=(Status.RUNNING,)))
    assert [row.id for row in running.items] == ["i1"]
    at_b = await store.instances.page(InstanceQuery(current_step="b"))
    assert [row.id for row in at_b.items] == ["i1"]


async def test_an_instance_created_and_updated_in_one_turn_is_as_it_ended(store: Store) -> None:
    first = begin("i1", current_steps=("a",))
    whole = step("i1", 0, *first.rows, create=first.create, update=update(output=b"1"))
    await store.turns.commit(turn("t1", whole))
    row = (await store.turns.load(["i1"]))["i1"].row
    assert (row.status, row.output, row.created_at) == (Status.COMPLETED, b"1", NOON)
    assert await ids(store, current_step="a") == []


async def test_definitions_have_versions(store: Store) -> None:
    first = await store.definitions.save("default", "order", b"{1}", b"h1", NOON)
    same = await store.definitions.save("default", "order", b"{1}", b"h1", moment(9))
    second = await store.definitions.save("default", "order", b"{2}", b"h2", moment(10))
    back = await store.definitions.save("default", "order", b"{1}", b"h1", moment(11))
    await store.definitions.save("default", "a first", b"x", b"x", NOON)
    elsewhere = await store.definitions.save("other", "order", b"{9}", b"h9", NOON)
    assert [each.version for each in (first, same, second, back, elsewhere)] == [1, 1, 2, 3, 1]
    assert same == first
    assert await store.definitions.get("default", "order") == back
    assert await store.definitions.get("default", "order", 2) == second
    assert (second.content, second.content_hash, second.created_at) == (b"{2}", b"h2", moment(10))
    assert await store.definitions.get("default", "order", 4) is None
    assert await store.definitions.get("default", "missing") is None
    assert await store.definitions.ids("default") == ["a first", "order"]
    assert await store.definitions.ids("nobody") == []


async def test_a_removed_definition_is_not_among_the_ids(store: Store) -> None:
    for id in ("a", "b", "c"):
        await store.definitions.save("default", id, b"{}" * 5_000, b"h1", NOON)
    for id in ("a", "c"):
        await store.definitions.save("default", id, REMOVED, b"h2", moment(9))
    assert await store.definitions.ids("default") == ["b"]
    await store.definitions.save("default", "c", b"0", b"h3", moment(10))
    assert await store.definitions.ids("default") == ["b", "c"]


async def test_definitions_are_listed_with_their_newest_version(store: Store) -> None:
    for number, id in enumerate(("b", "a", "b", "c", "~test:1", "~tez", "é")):
        content = f"{number}".encode()
        await store.definitions.save("default", id, content, content, NOON)
    await store.definitions.save("other", "b", b"x", b"x", NOON)

    async def listed(after: str, limit: int, tenant: str = "default") -> list[tuple[str, int]]:
        rows = await store.definitions.newest(tenant, after=after, limit=limit)
        assert rows == [await store.definitions.get(row.tenant, row.id) for row in rows]
        return [(row.id, row.version) for row in rows]

    everything = [("a", 1), ("b", 2), ("c", 1), ("~tez", 1), ("é", 1)]
    assert await listed("", 9) == everything
    assert await listed("", 2) == everything[:2]
    assert await listed("b", 2) == everything[2:4]
    assert await listed("c", 1) == everything[3:4]
    assert await listed("é", 1) == await listed("", 9, tenant="nobody") == []


async def test_dead_letters_come_newest_first_and_once(store: Store) -> None:
    letters = [dead_letter(f"d{number}", "i1", at=moment(number)) for number in range(5)]
    letters[3] = dead_letter(
        "d3", "i2", at=moment(3), input=None, error=None, output=b"", task_id=None
    )
    foreign = dead_letter("d9", "i3", tenant="other")
    for name in ("t1", "t2"):
        await store.turns.commit(
            turn(
                name,
                aside("i1", dead_letters=tuple(letters[:3] + letters[4:])),
                aside("i2", dead_letters=(letters[3],)),
                aside("i3", dead_letters=(foreign,)),
            )
        )
    assert await store.dead_letters.page("default") == letters[::-1]
    assert await store.dead_letters.page("default", limit=2) == [letters[4], letters[3]]
    assert await store.dead_letters.page("other") == [foreign]
    below = DeadLetterPlace(letters[3].at, letters[3].id, letters[3].instance_id)
    assert await store.dead_letters.page("default", limit=2, below=below) == [
        letters[2],
        letters[1],
    ]


async def test_dead_letters_are_found_by_kind_task_workflow_and_code(store: Store) -> None:
    texts: list[bytes | None] = [b'{"code":"A","message":"\\u0000"}', b'{"code":"AB"}', None]
    letters = [
        dead_letter(
            f"d{number}",
            f"i{number % 2}",
            at=moment(number),
            kind=("task-failed", "poison")[number // 3],
            task_id=("pay", "ship", None)[number % 3],
            error=texts[number % 3],
        )
        for number in range(6)
    ]
    for number, workflow in enumerate(("order", "refund")):
        own = tuple(letters[number::2])
        begun = begin(f"i{number}", definition_id=workflow)
        await store.turns.commit(turn(f"t{number}", begun))
        await store.turns.commit(turn(f"l{number}", aside(f"i{number}", dead_letters=own)))

    async def found(which: LetterQuery, below: DeadLetterPlace | None = None) -> list[str]:
        rows = await store.dead_letters.page("default", which=which, below=below)
        return [each.id for each in rows]

    assert await found(LetterQuery(kind="poison")) == ["d5", "d4", "d3"]
    assert await found(LetterQuery(task_id="pay")) == ["d3", "d0"]
    assert await found(LetterQuery(definition_id="order")) == ["d4", "d2", "d0"]
    assert await found(LetterQuery(code="A")) == ["d3", "d0"]
    assert await found(LetterQuery(code="A", definition_id="refund", kind="poison")) == ["d3"]
    last = letters[3]
    below = DeadLetterPlace(last.at, last.id, last.instance_id)
    assert await found(LetterQuery(code="A"), below) == ["d0"]
    for nothing in (LetterQuery(code=""), LetterQuery(definition_id="A"), LetterQuery(task_id="")):
        assert await found(nothing) == []


async def test_a_search_for_dead_letters_ends_at_a_place_that_is_so_many_further(
    store: Store,
) -> None:
    letters = [dead_letter(f"d{number}", "i1", at=moment(number)) for number in range(6)]
    await store.turns.commit(turn("t1", aside("i1", dead_letters=tuple(letters))))
    places = [DeadLetterPlace(each.at, each.id, each.instance_id) for each in letters]
    assert await store.dead_letters.place("default", 4) == places[2]
    assert await store.dead_letters.place("default", 2, below=places[2]) == places[0]
    assert await store.dead_letters.place("default", 7) is None
    assert await store.dead_letters.place("other", 1) is None
    found = await store.dead_letters.page("default", below=places[4], down_to=places[2])
    assert found == [letters[3], letters[2]]


async def test_a_dead_letter_is_looked_at_and_discarded_by_its_tenant_alone(store: Store) -> None:
    letter = dead_letter("d1", "i1")
    await store.turns.commit(turn("t1", aside("i1", dead_letters=(letter,))))
    assert await store.dead_letters.get("default", "i1", "d1") == letter
    for place in (("other", "i1", "d1"), ("default", "i2", "d1"), ("default", "i1", "d2")):
        assert await store.dead_letters.get(*place) is None
        assert await store.dead_letters.discard(*place) is False
    assert await store.dead_letters.discard("default", "i1", "d1") is True
    assert await store.dead_letters.discard("default", "i1", "d1") is False
    assert await store.dead_letters.page("default") == []


async def test_a_definition_is_saved_only_after_the_version_that_was_named(store: Store) -> None:
    with pytest.raises(Superseded):
        await store.definitions.save("default", "order", b"{1}", b"h1", NOON, only_after=1)
    assert await store.definitions.get("default", "order") is None
    first = await store.definitions.save("default", "order", b"{1}", b"h1", NOON, only_after=0)
    second = await store.definitions.save("default", "order", b"{2}", b"h2", NOON, only_after=1)
    assert (first.version, second.version) == (1, 2)
    with pytest.raises(Superseded) as refused:
        await store.definitions.save("default", "order", b"{3}", b"h3", NOON, only_after=1)
    assert refused.value.newest == 2
    assert await store.definitions.get("default", "order") == second
