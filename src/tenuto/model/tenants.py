"""Names of tenants, and the default tenant."""

from __future__ import annotations

import re

from tenuto.model.errors import InvalidInput, Problem

DEFAULT_TENANT = "default"
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")


def tenant_problem(name: str) -> str | None:
    """Why a text cannot be the name of a tenant; None if it can."""
    if _TENANT.match(name):
        return None
    return "a tenant's name has 1 to 63 letters, digits, dots, dashes and underscores"


def refuse_bad_tenant(name: object) -> None:
    """InvalidInput unless the text can be the name of a tenant."""
    problem = tenant_problem(name) if isinstance(name, str) else "a tenant's name is text"
    if problem is not None:
        advice = "Write it with letters, digits, dots, dashes and underscores."
        found = Problem(code="TEN-3050", path="$.tenant", message=problem, advice=advice)
        raise InvalidInput("there can be no such tenant", [found])
