"""The permissions page: `python -m tests.api.permissions_page > docs/permissions.md`."""

from __future__ import annotations

from collections.abc import Iterable

from tenuto.access.roles import ROLE_PERMISSIONS, Role
from tenuto.api.operation import Operation
from tenuto.api.registry import OPERATIONS

_HEAD = """\
# Permissions

Every operation of the service needs a permission, and each role has a set of them: see
[Access](access.md). `public` operations need no credentials and show no tenant's data. This page is
generated from the registry of operations; a test checks every cell against the service.
"""


def page(operations: Iterable[Operation] = OPERATIONS) -> str:
    """A table for each tag, in the order in which operations are registered."""
    tags: dict[str, list[Operation]] = {}
    for each in operations:
        tags.setdefault(each.tag, []).append(each)
    return "\n".join([_HEAD, *(_table(tag, found) for tag, found in tags.items())])


def _table(tag: str, operations: Iterable[Operation]) -> str:
    roles = " | ".join(Role)
    lines = [f"## {tag}\n", f"| operation | permission | {roles} |", "|---|---|---|---|---|---|"]
    lines += map(_row, operations)
    return "\n".join(lines) + "\n"


def _row(operation: Operation) -> str:
    cells = " | ".join("yes" if is_allowed(operation, role) else "" for role in Role)
    permission = "public" if operation.is_public else f"`{operation.permission}`"
    if operation.otherwise is not None:
        permission += f", for some `{operation.otherwise}`"
    return f"| `{operation.method} {operation.path}` | {permission} | {cells} |"


def is_allowed(operation: Operation, role: Role) -> bool:
    """Whether a role may use the operation."""
    return operation.is_public or operation.permission in ROLE_PERMISSIONS[role]


if __name__ == "__main__":
    print(page(), end="")
