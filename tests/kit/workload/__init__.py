"""Work to give an engine: shapes, random documents, what their tasks do, what clients do.

document = random_document(7)              # or topologies()["quorum"], wide(1000), documents()
behaviours = plan_behaviours(document, 7)  # (node, number of the try) → Behaviour
actions = plan_actions(document, input, 7)
"""

from __future__ import annotations

from tests.kit.workload.actions import (
    Action,
    Cancel,
    Decide,
    Pause,
    Publish,
    Resume,
    Retry,
    plan_actions,
)
from tests.kit.workload.approval_shapes import approval_shapes
from tests.kit.workload.behaviours import Behaviour, Behaviours, behaviour_of, plan_behaviours
from tests.kit.workload.choices import Seeded
from tests.kit.workload.draft import Taste
from tests.kit.workload.drawing import TASKS, Document
from tests.kit.workload.event_shapes import event_shapes
from tests.kit.workload.generator import make_document, make_input, random_document
from tests.kit.workload.loop_shapes import loop_shapes
from tests.kit.workload.steps_form import to_steps
from tests.kit.workload.topologies import deep, topologies, topologies_in_steps_form, wide

__all__ = [
    "TASKS",
    "Action",
    "Behaviour",
    "Behaviours",
    "Cancel",
    "Decide",
    "Document",
    "Pause",
    "Publish",
    "Resume",
    "Retry",
    "Seeded",
    "Taste",
    "approval_shapes",
    "behaviour_of",
    "deep",
    "event_shapes",
    "loop_shapes",
    "make_document",
    "make_input",
    "plan_actions",
    "plan_behaviours",
    "random_document",
    "to_steps",
    "topologies",
    "topologies_in_steps_form",
    "wide",
]
