"""Files of encryption keys: one key in a line, the current one first."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tenuto.encryption.key_ring import Key, keys_in
from tenuto.model.errors import InvalidInput, Problem, TenutoError


def put_first(path: Path, key: Key) -> list[str]:
    """Write a key before those of a file, which only its owner reads; the ids of all.

    The file is replaced at once: no process reads half of it.
    """
    try:
        before = path.read_text("utf-8") if path.exists() else ""
        keys = [key, *keys_in(before, str(path))]
        if len({each.id for each in keys}) < len(keys):
            raise _taken(key.id, path)
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(f"{key.text}\n{before}")
            file.flush()
            os.fsync(number)
        Path(name).replace(path)
    except OSError as error:
        raise TenutoError(
            f"the key cannot be written to {path}: {error.strerror}",
            code="TEN-4124",
            advice="Name a file in a folder that this user may write.",
        ) from error
    return [each.id for each in keys]


def _taken(id: str, path: Path) -> InvalidInput:
    problem = Problem(
        code="TEN-4121",
        path=str(path),
        message=f"it has a key with the id {id!r}",
        advice="Give the new key another id.",
    )
    return InvalidInput("no key was made", [problem])
