"""Files of a user's own configuration, read and written whole: profiles, saved views."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from tenuto.model.errors import InvalidInput, Problem

T = TypeVar("T", bound=msgspec.Struct)
_CODE: Final = "TEN-2633"


def user_file(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    """A file of this user."""
    home = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '~')}/.config"
    # `Path.expanduser` raises where the user has no home.
    return Path(os.path.expanduser(home)) / "tenuto" / name  # noqa: PTH111


def read_user_file(file: Path, kind: type[T], what: str, command: str) -> T:
    """What the file has, or an empty one; InvalidInput where it cannot be read.

    `what` it contains, and the `command` that writes it, are for messages.
    """
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except FileNotFoundError:
        return kind()
    except (OSError, msgspec.MsgspecError) as error:
        problem = Problem(
            code=_CODE,
            path=str(file),
            message=str(error),
            advice=f"Correct or remove the file; `{command}` writes it again.",
        )
        raise InvalidInput(f"the {what} cannot be read", [problem]) from error


def write_user_file(file: Path, content: msgspec.Struct, what: str) -> None:
    """Write it whole, for its owner alone; InvalidInput where that is not possible."""
    made = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, msgspec.json.format(msgspec.json.encode(content), indent=2))
        finally:
            os.close(handle)
        made.replace(file)
    except OSError as error:
        problem = Problem(
            code=_CODE,
            path=str(file),
            message=f"it cannot be written: {error.strerror}",
            advice="Name another folder for configuration: XDG_CONFIG_HOME.",
        )
        raise InvalidInput(f"the {what} cannot be written", [problem]) from error
