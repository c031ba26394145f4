"""Actions over many things: durable, with progress, taken over when a process is gone."""

from __future__ import annotations

from tenuto.workspace.bulk.asked import BulkAsked, Found, Progress, Which
from tenuto.workspace.bulk.office import BulkOffice

__all__ = ["BulkAsked", "BulkOffice", "Found", "Progress", "Which"]
