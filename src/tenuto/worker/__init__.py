"""Runs tasks for a server elsewhere: pulls them, holds their leases, reports how they ended."""

from __future__ import annotations

from tenuto.worker.desk import Desk
from tenuto.worker.http_desk import HttpDesk
from tenuto.worker.signals import run_until_told
from tenuto.worker.worker import Worker

__all__ = ["Desk", "HttpDesk", "Worker", "run_until_told"]
