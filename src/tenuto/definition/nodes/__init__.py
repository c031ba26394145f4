"""The table of node types: a new type is a file here and a row below."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from tenuto.definition.nodes.approval import APPROVAL
from tenuto.definition.nodes.condition import CONDITION
from tenuto.definition.nodes.data_query import DATA_QUERY
from tenuto.definition.nodes.delay import DELAY
from tenuto.definition.nodes.emit import EMIT
from tenuto.definition.nodes.ends import END, START, TERMINATE
from tenuto.definition.nodes.event_wait import EVENT_WAIT
from tenuto.definition.nodes.http import HTTP
from tenuto.definition.nodes.javascript import JAVASCRIPT
from tenuto.definition.nodes.loop import LOOP
from tenuto.definition.nodes.node_type import NodeType
from tenuto.definition.nodes.set_values import SET
from tenuto.definition.nodes.sub_workflow import SUB_WORKFLOW
from tenuto.definition.nodes.task import TASK

AnyNodeType: TypeAlias = NodeType[Any]
"""Rows of different config types stand in one table; each is consistent in itself."""

TYPES: tuple[AnyNodeType, ...] = (
    START,
    END,
    TASK,
    EVENT_WAIT,
    CONDITION,
    DELAY,
    LOOP,
    JAVASCRIPT,
    DATA_QUERY,
    HTTP,
    SUB_WORKFLOW,
    EMIT,
    SET,
    TERMINATE,
    APPROVAL,
)

BY_NAME: Mapping[str, AnyNodeType] = MappingProxyType(
    {name: row for row in TYPES for name in (row.tag, row.step)}
)
"""Both spellings are understood in both forms."""

BY_CONFIG: Mapping[type, AnyNodeType] = MappingProxyType({row.make: row for row in TYPES})
