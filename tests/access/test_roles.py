"""Roles, permissions and scopes: who may do what."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tenuto.access.permissions import SCOPES, Permission
from tenuto.access.principal import LOCAL, Principal, refuse_unless
from tenuto.access.roles import ROLE_PERMISSIONS, Role
from tenuto.model.errors import Forbidden


def _somebody(role: Role, *scopes: str) -> Principal:
    return Principal(
        tenant="acme", name="ada", role=role, scopes=frozenset(scopes) or None, kind="key"
    )


def test_each_role_may_do_all_that_the_one_before_may_and_more() -> None:
    for weaker, stronger in pairwise(Role):
        assert ROLE_PERMISSIONS[weaker] < ROLE_PERMISSIONS[stronger]


def test_an_admin_may_do_everything_and_a_viewer_changes_nothing() -> None:
    assert ROLE_PERMISSIONS[Role.ADMIN] == set(Permission)
    assert all(permission.value.endswith(":read") for permission in ROLE_PERMISSIONS[Role.VIEWER])


def test_who_has_access_and_what_they_did_is_for_admins_alone() -> None:
    for permission in (Permission.AUDIT_READ, Permission.KEYS_MANAGE):
        assert [role for role in Role if permission in ROLE_PERMISSIONS[role]] == [Role.ADMIN]


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("permission", list(Permission))
def test_scopes_narrow_a_role_and_never_widen_it(role: Role, permission: Permission) -> None:
    of_role = permission in ROLE_PERMISSIONS[role]
    assert _somebody(role).may(permission) == of_role
    assert _somebody(role, permission.value).may(permission) == of_role
    assert _somebody(role, f"{permission.thing}:*").may(permission) == of_role
    others = SCOPES - {permission.value, f"{permission.thing}:*"}
    assert not _somebody(role, *others).may(permission)


def test_scopes_of_nothing_leave_nothing() -> None:
    nobody = Principal(tenant="acme", name="ada", role=Role.ADMIN, scopes=frozenset(), kind="key")
    assert not any(nobody.may(permission) for permission in Permission)


def test_a_refusal_names_the_permission_that_is_missing() -> None:
    refuse_unless(LOCAL, Permission.KEYS_MANAGE)
    with pytest.raises(Forbidden, match="audit:read") as refused:
        refuse_unless(_somebody(Role.EDITOR), Permission.AUDIT_READ)
    assert refused.value.code == "TEN-5013"
