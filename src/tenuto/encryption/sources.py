"""The keys that the settings name: in a text, a file, or printed by a command."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Final

from tenuto.encryption.errors import BAD_KEYS, NO_SOURCE, EncryptionError
from tenuto.encryption.key_ring import Key, keys_in
from tenuto.encryption.settings import EncryptionSettings
from tenuto.model.errors import InvalidInput, Problem

SECONDS: Final = 30.0
"""How long the command that prints the keys may take."""


def read_keys(settings: EncryptionSettings) -> list[Key]:
    """The configured keys, the current one first; InvalidInput, EncryptionError."""
    named = [
        name
        for name in ("keys", "keys_file", "keys_command")
        if getattr(settings, name) is not None
    ]
    if len(named) > 1:
        problem = Problem(
            code=BAD_KEYS,
            path=", ".join(f"encryption.{name}" for name in named),
            message="the encryption keys are named in several ways",
            advice="Set one of the three.",
        )
        raise InvalidInput("the encryption keys cannot be used", [problem])
    if settings.keys is not None:
        return keys_in(settings.keys)
    if settings.keys_file is not None:
        return _keys_of_file(settings.keys_file)
    if settings.keys_command is not None:
        return _keys_of_command(settings.keys_command)
    return []


def _keys_of_file(name: str) -> list[Key]:
    try:
        text = Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _no_source(f"the file of encryption keys {name} cannot be read: {said}") from error
    return _some(keys_in(text, name), f"the file {name}")


def _keys_of_command(command: str) -> list[Key]:
    """The keys that a command prints; what it prints beside them is shown nowhere."""
    try:
        words = shlex.split(command)
        done = subprocess.run(  # noqa: S603 - the operator's own command
            words, capture_output=True, check=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
        text = done.stdout.decode()
    except subprocess.TimeoutExpired as error:
        said = f"the command for encryption keys did not end within {SECONDS:.0f} s"
        raise _no_source(said) from error
    except subprocess.CalledProcessError as error:
        said = f"the command for encryption keys ended with code {error.returncode}"
        raise _no_source(said) from error
    except (OSError, ValueError, IndexError) as error:
        said = f"the command for encryption keys cannot be run: {error}"
        raise _no_source(said) from error
    return _some(keys_in(text, "encryption.keys_command"), "the command")


def _some(keys: list[Key], where: str) -> list[Key]:
    if not keys:
        raise _no_source(f"{where} has no encryption keys")
    return keys


def _no_source(message: str) -> EncryptionError:
    return EncryptionError(
        message,
        code=NO_SOURCE,
        advice="Correct encryption.keys_file or encryption.keys_command.",
    )
