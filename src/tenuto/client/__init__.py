"""The way in for programs elsewhere: the names of the app, over HTTP."""

from __future__ import annotations

from tenuto.client.client import Client
from tenuto.client.instance import RemoteInstance
from tenuto.client.sync import SyncClient, SyncInstance

__all__ = ["Client", "RemoteInstance", "SyncClient", "SyncInstance"]
