"""The methods of a principal, as one protocol.

It has three back ends: an engine in this process (`Tenuto`, `EngineWorkspace`), a service over HTTP
(`Client`), and a store on which other processes may run engines (the command line). mypy and a test
check that their names, parameters and results agree. An error at the end of a docstring, as in
"…; NotFound", is the error that the method raises.
"""

from __future__ import annotations

from tenuto.workspace.protocol.access import Audit, Keys
from tenuto.workspace.protocol.approvals import Approvals
from tenuto.workspace.protocol.bulk import Bulk
from tenuto.workspace.protocol.calendars import Calendars
from tenuto.workspace.protocol.data import DataQueries, DataSources
from tenuto.workspace.protocol.dead_letters import DeadLetters
from tenuto.workspace.protocol.instance import Instance
from tenuto.workspace.protocol.limits import Limits
from tenuto.workspace.protocol.schedules import Schedules
from tenuto.workspace.protocol.secrets import Secrets
from tenuto.workspace.protocol.subscriptions import Subscriptions
from tenuto.workspace.protocol.task_definitions import TaskDefinitions
from tenuto.workspace.protocol.test_runs import TestRuns
from tenuto.workspace.protocol.webhooks import Webhooks
from tenuto.workspace.protocol.workers import Workers
from tenuto.workspace.protocol.workspace import Workspace

__all__ = [
    "Approvals",
    "Audit",
    "Bulk",
    "Calendars",
    "DataQueries",
    "DataSources",
    "DeadLetters",
    "Instance",
    "Keys",
    "Limits",
    "Schedules",
    "Secrets",
    "Subscriptions",
    "TaskDefinitions",
    "TestRuns",
    "Webhooks",
    "Workers",
    "Workspace",
]
