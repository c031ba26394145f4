"""Runs tasks for a server elsewhere: pulls them, holds their leases, reports how they ended."""

from __future__ import annotations

from tenuto.worker.broker_client import BrokerClient
from tenuto.worker.http_broker_client import HttpBrokerClient
from tenuto.worker.signals import run_until_signalled
from tenuto.worker.worker import Worker

__all__ = ["BrokerClient", "HttpBrokerClient", "Worker", "run_until_signalled"]
