""" "Finished instances leave no subscription, timer, mailbox row or slot behind (checked over the
whole database after each simulation)": the check knows every table of every store.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tenuto.store.memory import MemoryDisk
from tenuto.testing.fault_plan import NoFaults
from tests.kit.postgres_database import TABLES
from tests.kit.simulator.outside import Ear
from tests.kit.simulator.places import InMemory, InSqlite, Place
from tests.kit.simulator.postgres_place import InPostgres
from tests.kit.simulator.scenario import Job, Scenario
from tests.kit.simulator.tables import IN_MEMORY, KEPT, OWED
from tests.kit.simulator.verdict import run_scenario, violations_of
from tests.kit.workload import Publish, event_shapes, plan_behaviours
from tests.simulation.planting import plant

PLACES: dict[str, Callable[[Path], Place]] = {
    "memory": lambda _: InMemory(),
    "sqlite": lambda folder: InSqlite(folder / "store.db"),
    "postgres": lambda _: InPostgres(),
}
SCHEMAS = Path(__file__).parents[1] / "store" / "sqlite" / "schemas"
NOBODY = "00000000-0000-7000-8000-000000000000"


def scenario() -> Scenario:
    """One that an event could cancel and that completes, and somebody who hears of it."""
    document = event_shapes()["cancellable"].document
    steady = plan_behaviours(document, "left", failing_percent=0, calm=True)
    going_on = Publish(4_000, "go", "evt.wait", {"k": 5}, "matching")
    job = Job(document, {"k": 5, "flag": True}, steady, [going_on], "the key")
    return Scenario("left", [job], NoFaults(), ears=[Ear("everything", ("**",))])


@pytest.mark.parametrize("store", PLACES)
def test_a_row_that_is_left_in_any_table_is_found(store: str, tmp_path: Path) -> None:
    """I25: "Every subscription, timer, lease, slot, token, queue row belongs to a live instance;
    none after terminal".
    """
    place = PLACES[store](tmp_path)
    finished = run_scenario(scenario(), place)
    assert not violations_of(finished)
    assert place.owed() == []
    [ended] = finished.run.instances
    plant(place, (NOBODY, ended.id))
    finished.run.owed = place.owed()
    assert sorted(finished.run.owed) == sorted(product(OWED, (NOBODY, ended.id)))
    ended.owner = "somebody"
    found = violations_of(finished)
    assert {broken.invariant for broken in found} == {"I25", "I38"}
    assert any("still owns" in broken.message for broken in found)
    missing = [
        (table, id)
        for table, id in finished.run.owed
        if (table, id) != ("owners", ended.id)
        and not any(f"row of {table} " in each.message and each.instance == id for each in found)
    ]
    assert not missing


def tables_in_memory() -> set[str]:
    """Where an instance is stands in its row there; cold records are in tables as in a file."""
    tables = {name for name, value in vars(MemoryDisk()).items() if isinstance(value, dict)}
    tables.discard("hint_callbacks")
    return {IN_MEMORY.get(name, name) for name in tables} | {"slots", "workflow_current_steps"}


def tables_in_a_file() -> set[str]:
    newest = max(SCHEMAS.glob("*.sql"))
    return set(re.findall(r'^CREATE TABLE "?(\w+)', newest.read_text(), re.MULTILINE))


TABLES_OF: dict[str, Callable[[], set[str]]] = {
    "memory": tables_in_memory,
    "sqlite": tables_in_a_file,
    "postgres": lambda: {*TABLES, "schema_info"},
}


@pytest.mark.parametrize("store", TABLES_OF)
def test_every_table_is_judged(store: str) -> None:
    """A new one is either kept for ever or looked for when an instance has ended."""
    assert not KEPT & OWED.keys()
    assert OWED.keys() <= TABLES_OF[store]() <= KEPT | OWED.keys()
