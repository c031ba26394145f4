"""Bulk operations: actions over many instances or dead letters, durable and with progress."""

from __future__ import annotations

from tenuto.workspace.bulk.operations import BulkOperations
from tenuto.workspace.bulk.request import BulkAsked, Found, Progress, Which
from tenuto.workspace.bulk.runner import BulkRunner

__all__ = ["BulkAsked", "BulkOperations", "BulkRunner", "Found", "Progress", "Which"]
