"""Outgoing HTTP: requests to addresses that users have named."""

from __future__ import annotations

from tenuto.egress.addresses import address_problem
from tenuto.egress.late import LateSender
from tenuto.egress.urls import private_problem, url_problem

__all__ = ["LateSender", "address_problem", "private_problem", "url_problem"]
