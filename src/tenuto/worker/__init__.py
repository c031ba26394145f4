"""A worker: claims tasks of a server, extends their leases, reports their outcomes."""

from __future__ import annotations

from tenuto.worker.broker_client import BrokerClient
from tenuto.worker.http_broker_client import HttpBrokerClient
from tenuto.worker.signals import run_until_signalled
from tenuto.worker.worker import Worker

__all__ = ["BrokerClient", "HttpBrokerClient", "Worker", "run_until_signalled"]
