"""What a tenant may be called."""

from __future__ import annotations

import re

DEFAULT_TENANT = "default"
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")


def tenant_problem(name: str) -> str | None:
    """What keeps a text from being the name of a tenant."""
    if _TENANT.match(name):
        return None
    return "a tenant's name has 1 to 63 letters, digits, dots, dashes and underscores"
