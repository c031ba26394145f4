"""Named servers of a user: `tenuto config set`, `use`, `list` and `remove`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tenuto.cli.user_files import read_user_file, user_file, write_user_file
from tenuto.model.errors import NotFound

VARIABLE: Final = "TENUTO_PROFILE"
"""The profile of a shell, before the one that is in use; empty: none."""


class Profile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server, and the API key for it."""

    server: str
    key: str | None = None


class Profiles(msgspec.Struct, frozen=True, omit_defaults=True):
    """All of a user."""

    used: str | None = None
    profiles: Mapping[str, Profile] = {}


def profiles_file(environment: Mapping[str, str] = os.environ) -> Path:
    """The file of this user."""
    return user_file("profiles.json", environment)


def read_profiles(file: Path) -> Profiles:
    """What the file has; InvalidInput where it cannot be read."""
    return read_user_file(file, Profiles, "profiles", "tenuto config set")


def write_profiles(file: Path, profiles: Profiles) -> None:
    """Write them whole; keys are for their owner alone. InvalidInput."""
    write_user_file(file, profiles, "profiles")


def used_profile(environment: Mapping[str, str] = os.environ) -> tuple[str, Profile] | None:
    """The profile that commands act on where nothing else names a place; NotFound."""
    found = read_profiles(profiles_file(environment))
    name = environment.get(VARIABLE, found.used or "")
    return (name, named(found, name)) if name else None


def named(profiles: Profiles, name: str) -> Profile:
    """The profile of a name; NotFound."""
    found = profiles.profiles.get(name)
    if found is None:
        known = ", ".join(sorted(profiles.profiles))
        raise NotFound(
            f"there is no profile {name}",
            advice=f"There are {known}."
            if known
            else f"Make it: tenuto config set {name} --server URL",
        )
    return found
