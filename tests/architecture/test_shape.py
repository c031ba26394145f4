from __future__ import annotations

from tenuto.api.registry import OPERATIONS
from tenuto.store.cold.part import ColdPart
from tenuto.store.protocol import PARTS
from tests.architecture import shape
from tests.architecture.source_tree import SOURCE


def test_operations_that_the_client_asks_for_are_seen() -> None:
    named, known = shape.client_operations()
    assert {"start_workflow", "list_instances", "cancel_instance", "get_history"} <= named
    assert known == len(OPERATIONS)


def test_every_store_verb_is_found_in_its_protocol_and_in_each_store() -> None:
    places = shape.verb_places()
    assert len(places) > 50
    unseen = {
        verb: sorted(str(file.relative_to(SOURCE)) for file in files)
        for verb, files in places.items()
        # The class of a cold part is its contract and its implementation.
        if len(files) < (1 if issubclass(PARTS[verb.part], ColdPart) else 2)
    }
    assert not unseen
