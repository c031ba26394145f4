"""Bulk operations: actions over many instances or dead letters, durable and with progress."""

from __future__ import annotations

from tenuto.workspace.bulk.asked import BulkAsked, Found, Progress, Which
from tenuto.workspace.bulk.office import BulkRunner
from tenuto.workspace.bulk.operations import BulkOperations

__all__ = ["BulkAsked", "BulkOperations", "BulkRunner", "Found", "Progress", "Which"]
