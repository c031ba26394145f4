"""Named servers of a user: `tenuto config set`, `use`, `list` and `remove`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from tenuto.model.errors import InvalidInput, NotFound, Problem

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
    home = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '~')}/.config"
    # `Path.expanduser` raises where the user has no home.
    return Path(os.path.expanduser(home)) / "tenuto" / "profiles.json"  # noqa: PTH111


def read_profiles(file: Path) -> Profiles:
    """What the file has; InvalidInput where it cannot be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Profiles)
    except FileNotFoundError:
        return Profiles()
    except (OSError, msgspec.MsgspecError) as error:
        problem = Problem(
            code="TEN-2633",
            path=str(file),
            message=str(error),
            advice="Correct or remove the file; `tenuto config set` writes it again.",
        )
        raise InvalidInput("the profiles cannot be read", [problem]) from error


def write_profiles(file: Path, profiles: Profiles) -> None:
    """Write them whole; keys are for their owner alone. InvalidInput."""
    made = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, msgspec.json.format(msgspec.json.encode(profiles), indent=2))
        finally:
            os.close(handle)
        made.replace(file)
    except OSError as error:
        problem = Problem(
            code="TEN-2633",
            path=str(file),
            message=f"it cannot be written: {error.strerror}",
            advice="Name another folder for configuration: XDG_CONFIG_HOME.",
        )
        raise InvalidInput("the profiles cannot be written", [problem]) from error


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
