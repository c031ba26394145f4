"""Print the document from which ui/src/api/schema.ts is generated, or its digest.

python -m tests.api.ui_types [--digest]
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from tenuto.api.openapi import openapi
from tenuto.api.registry import OPERATIONS
from tenuto.api.request_audit import REASON


def document() -> str:
    """The document of all operations, without what would only repeat itself in the types.

    The version changes with each release, every refusal is the same `ProblemDetails`, and every
    change takes a reason.
    """
    described: dict[str, Any] = {**openapi(OPERATIONS)}
    described["info"] = {"title": "Tenuto", "version": "0"}
    for methods in described["paths"].values():
        for operation in methods.values():
            taken = operation["parameters"]
            operation["parameters"] = [each for each in taken if each["name"] != REASON]
            answers = operation["responses"].items()
            operation["responses"] = {status: each for status, each in answers if status < "400"}
    return json.dumps(described, sort_keys=True)


def digest() -> str:
    """What the first line of schema.ts says, so that a test finds types of another document."""
    return hashlib.sha256(document().encode()).hexdigest()


if __name__ == "__main__":
    sys.stdout.write(digest() if "--digest" in sys.argv else document())
