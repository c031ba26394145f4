"""Outgoing HTTP: requests to addresses that users have named."""

from __future__ import annotations

from tenuto.egress.addresses import address_problem, private_problem, url_problem
from tenuto.egress.allowances import PUBLIC, Allowance, Allowances
from tenuto.egress.client import EgressClient
from tenuto.egress.request import Answer, NoAnswer, Request

__all__ = [
    "PUBLIC",
    "Allowance",
    "Allowances",
    "Answer",
    "EgressClient",
    "NoAnswer",
    "Request",
    "address_problem",
    "private_problem",
    "url_problem",
]
