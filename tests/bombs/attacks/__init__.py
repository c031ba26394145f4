"""Every attack on a service, by its name."""

from __future__ import annotations

from tests.bombs.attack import Attack
from tests.bombs.attacks.connections import CONNECTIONS
from tests.bombs.attacks.documents import DOCUMENTS
from tests.bombs.attacks.events import EVENTS
from tests.bombs.attacks.inputs import INPUTS
from tests.bombs.attacks.storms import STORMS

ATTACKS: dict[str, Attack] = {
    each.name: each for each in (*DOCUMENTS, *INPUTS, *EVENTS, *STORMS, *CONNECTIONS)
}
