"""Outgoing HTTP: requests to addresses that users have named."""

from __future__ import annotations

from tenuto.egress.addresses import address_problem, private_problem, url_problem
from tenuto.egress.allowances import Allowance, Allowances
from tenuto.egress.client import EgressClient
from tenuto.egress.late import LateSender
from tenuto.egress.request import Answer, NoAnswer, Request

__all__ = [
    "Allowance",
    "Allowances",
    "Answer",
    "EgressClient",
    "LateSender",
    "NoAnswer",
    "Request",
    "address_problem",
    "private_problem",
    "url_problem",
]
