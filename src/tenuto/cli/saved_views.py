"""Saved views of a user: names for searches of `tenuto list`, one of which may be its default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tenuto.cli.user_files import read_user_file, user_file, write_user_file
from tenuto.model.errors import InvalidInput, NotFound, Problem

ALL: Final = "all"
"""The view without a filter."""
BUILT_IN: Final[Mapping[str, str]] = {
    ALL: "is:any",
    "active": "status:active",
    "failed": "status:failed",
    "waiting": "status:waiting",
}
_LONGEST: Final = 100


class Views(msgspec.Struct, frozen=True, omit_defaults=True):
    """All of a user."""

    used: str | None = None
    """The default of `tenuto list` in a terminal."""
    views: Mapping[str, str] = {}

    @property
    def known(self) -> dict[str, str]:
        """Their searches by name, with the built-in ones."""
        return {**BUILT_IN, **self.views}

    def search(self, name: str) -> str:
        """The search of a view; NotFound."""
        found = self.known.get(name)
        if found is None:
            from tenuto.definition.report import did_you_mean

            advice = did_you_mean(name, [*self.known], f"There are {', '.join(self.known)}.")
            raise NotFound(f"there is no view {name}", advice=advice)
        return found


def views_file() -> Path:
    """The file of this user."""
    return user_file("views.json")


def read_views() -> Views:
    """What the file has; InvalidInput where it cannot be read."""
    return read_user_file(views_file(), Views, "views", "tenuto views save")


def write_views(views: Views) -> None:
    """Write them whole; InvalidInput where that is not possible."""
    write_user_file(views_file(), views, "views")


def refuse_name(name: str) -> None:
    """InvalidInput for a name that no view of a user can have."""
    if name in BUILT_IN:
        message, advice = f"the view {name} is built in", "Choose another name."
    elif not name.strip() or len(name) > _LONGEST:
        message, advice = "it is no name", f"Write 1 to {_LONGEST} characters."
    else:
        return
    problem = Problem(code="TEN-2000", path="NAME", message=message, advice=advice)
    raise InvalidInput("the view cannot be saved", [problem])
