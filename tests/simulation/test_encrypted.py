"""Every promise holds where all values are encrypted, and none of them is stored in clear."""

from __future__ import annotations

from random import Random

import pytest

from tenuto.encryption.envelope import is_sealed
from tenuto.encryption.key_ring import KeyRing, new_key
from tenuto.encryption.store import encrypt
from tenuto.model.log import LogRow
from tenuto.store.memory.disk import unpack
from tenuto.store.protocol import Store
from tests.kit.breadth import breadth
from tests.kit.simulator.places import InMemory
from tests.kit.simulator.scenario import Scenario, scenario_of
from tests.kit.simulator.verdict import assert_kept, run_scenario

SEEDS = breadth(4, 300)


class Encrypted(InMemory):
    """Keeps all values sealed; what reads it has the key."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        random = Random(seed).randbytes
        self._codec = KeyRing([new_key("k", random)], random)

    def store(self) -> Store:
        return encrypt(super().store(), self._codec)

    def reader(self) -> Store:
        return encrypt(super().reader(), self._codec)


def _encrypting(seed: int) -> Scenario:
    """The scenario of a seed, whose definitions all ask for encryption."""
    scenario = scenario_of(seed)
    for document in scenario.documents.values():
        options = dict(document.get("options", {}))
        options.pop("searchable", None)
        document["options"] = options | {"encrypt": True}
    return scenario


@pytest.mark.slow
def test_no_promise_is_broken_and_no_entry_is_in_clear() -> None:
    entries = 0
    for seed in range(1_000, 1_000 + SEEDS):
        place = Encrypted(seed)
        finished = run_scenario(_encrypting(seed), place)
        assert_kept(finished, f"the encrypted run of seed {seed}")
        for packed in place.disk.log.values():
            row = unpack(LogRow, packed)
            assert row.error_message is None
            if row.payload is not None:
                assert is_sealed(row.payload), row
                entries += 1
    assert entries > 100
