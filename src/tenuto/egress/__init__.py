"""Outgoing HTTP: requests to addresses that users have named."""

from __future__ import annotations

from tenuto.egress.addresses import address_problem, private_problem, url_problem
from tenuto.egress.late import LateSender

__all__ = ["LateSender", "address_problem", "private_problem", "url_problem"]
