"""Definitions as programs give them: a dict, or the path of a JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from tenuto.definition import parse_document
from tenuto.model.errors import NotFound
from tenuto.model.json import JSON, Object


def read_definition(definition: Mapping[str, JSON] | str | Path) -> JSON:
    """The document that was given, or that a file has."""
    if isinstance(definition, Mapping):
        return cast("Object", dict(definition))
    path = Path(definition)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise NotFound(f"cannot read {path}: {error.strerror}", code="TEN-3001") from error
    return parse_document(text, str(path))
