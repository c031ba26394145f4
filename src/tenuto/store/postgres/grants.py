"""Grants for a role that works in a schema which another role owns."""

from __future__ import annotations

from tenuto.store.postgres.address import identifier


def grants_for_work(schema: str, user: str) -> str:
    """The SQL by which the owner grants rights on all tables, also on those of later versions.

    `user` is as SQL names it.
    """
    within = f"IN SCHEMA {identifier(schema)}"
    rights = (
        ("SELECT, INSERT, UPDATE, DELETE", "TABLES"),
        ("USAGE", "SEQUENCES"),
        # Every role has it, unless an administrator has revoked it from PUBLIC.
        ("EXECUTE", "FUNCTIONS"),
    )
    now = [f"GRANT {may} ON ALL {what} {within} TO {user}" for may, what in rights]
    later = [
        f"ALTER DEFAULT PRIVILEGES {within} GRANT {may} ON {what} TO {user}" for may, what in rights
    ]
    return "; ".join([f"GRANT USAGE ON SCHEMA {identifier(schema)} TO {user}", *now, *later])
