"""subWorkflow: another workflow, as a step."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields
from tenuto.definition.language_kinds import Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import Whole, WorkflowId
from tenuto.model.graph import DEFAULT, SubWorkflow

SUB_WORKFLOW = NodeType(
    tag="subWorkflow",
    step="SUB_WORKFLOW",
    make=SubWorkflow,
    fields=Fields(
        Field("workflowId", "workflow_id", WorkflowId(), required=True),
        Field("version", "version", Whole(least=1)),
        Field("input", "input", Template(), presence="has_input"),
    ),
    handles=lambda _: (DEFAULT,),
    executes=True,
)
