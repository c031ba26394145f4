"""javascript, dataQuery, http and subWorkflow: work that Tenuto does by itself."""

from __future__ import annotations

from tenuto.definition.fields import Field, Fields
from tenuto.definition.language_kinds import Template
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.plain_kinds import ListOf, Text, Whole, WorkflowId
from tenuto.model.graph import DEFAULT, DataQuery, Http, JavaScript, SubWorkflow

JAVASCRIPT = NodeType(
    tag="javascript",
    step="JAVASCRIPT",
    make=JavaScript,
    fields=Fields(
        Field("code", "code", Text(), required=True),
        Field("memoryLimit", "memory_limit", Whole(least=1)),
        Field("allowHosts", "allow_hosts", ListOf(Text())),
    ),
    handles=lambda _: (DEFAULT,),
    executes=True,
)

DATA_QUERY = NodeType(
    tag="dataQuery",
    step="DATA_QUERY",
    make=DataQuery,
    fields=Fields(
        Field("dataQueryID", "data_query_id", Text(), required=True),
        Field("args", "args", Template(with_secrets=True)),
    ),
    handles=lambda _: (DEFAULT,),
    executes=True,
)

HTTP = NodeType(
    tag="http",
    step="HTTP",
    make=Http,
    fields=Fields(
        Field("method", "method", Template("text", with_secrets=True)),
        Field("url", "url", Template("text", with_secrets=True), required=True),
        Field("headers", "headers", Template("object", with_secrets=True)),
        Field("query", "query", Template("object", with_secrets=True)),
        Field("body", "body", Template(with_secrets=True)),
        Field("successCodes", "success_codes", ListOf(Whole(100, 599))),
        Field("responseType", "response_type", Text()),
    ),
    handles=lambda _: (DEFAULT,),
    executes=True,
)

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
