"""task: runs a registered or remote task."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields
from tenuto.definition.language_kinds import DeclaredHandle, Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import ListOf, TaskId
from tenuto.definition.time_kinds import Span
from tenuto.model.graph import DEFAULT, Task

TASK = NodeType(
    tag="task",
    step="TASK",
    make=Task,
    fields=Fields(
        Field("taskId", "task_id", TaskId(), required=True),
        Field("input", "input", Template(with_secrets=True), presence="has_input"),
        Field("handles", "handles", ListOf(DeclaredHandle())),
        Field("heartbeatTimeout", "heartbeat_timeout", Span(may_be_zero=False)),
    ),
    handles=lambda task: (DEFAULT, *task.handles),
    executes=True,
)
