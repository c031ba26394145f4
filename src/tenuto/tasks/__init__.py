"""Tasks that run in the process: declaring, binding, running and watching them."""

from __future__ import annotations

from tenuto.tasks.context import Cancelled, Context, Facts
from tenuto.tasks.function import TaskFunction
from tenuto.tasks.output import Result
from tenuto.tasks.registry import DEFAULT_REGISTRY, Registry, task
from tenuto.tasks.retry import Retry
from tenuto.tasks.runner import Report, Runner
from tenuto.tasks.watchdog import Watchdog

__all__ = [
    "DEFAULT_REGISTRY",
    "Cancelled",
    "Context",
    "Facts",
    "Registry",
    "Report",
    "Result",
    "Retry",
    "Runner",
    "TaskFunction",
    "Watchdog",
    "task",
]
