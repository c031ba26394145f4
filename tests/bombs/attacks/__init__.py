"""Every attack on a service, by its name."""

from __future__ import annotations

from tests.bombs.attack import Attack
from tests.bombs.attacks.attempts import ATTEMPTS
from tests.bombs.attacks.calendars import CALENDARS
from tests.bombs.attacks.connections import CONNECTIONS
from tests.bombs.attacks.documents import DOCUMENTS
from tests.bombs.attacks.events import EVENTS
from tests.bombs.attacks.inputs import INPUTS
from tests.bombs.attacks.reads import READS
from tests.bombs.attacks.rules import RULES
from tests.bombs.attacks.runs import RUNS
from tests.bombs.attacks.schedules import SCHEDULES
from tests.bombs.attacks.storms import STORMS
from tests.bombs.attacks.tasks import TASKS
from tests.bombs.attacks.texts import TEXTS

ATTACKS: dict[str, Attack] = {
    each.name: each
    for each in (
        *(*DOCUMENTS, *TASKS, *TEXTS, *INPUTS),
        *(*EVENTS, *RULES, *CALENDARS, *SCHEDULES),
        *(*RUNS, *ATTEMPTS, *STORMS, *READS, *CONNECTIONS),
    )
}
