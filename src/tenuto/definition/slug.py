"""The id of a definition that names none: made of its name, so that people recognise it."""

from __future__ import annotations

import re
import unicodedata

from tenuto.model.json import JSON

_LONGEST = 100
"""Below the longest id of a definition, so that a number fits behind it."""
_OTHERS = re.compile("[^a-z0-9]+")


def slug(document: JSON, otherwise: str = "workflow") -> str:
    """An id made of a document's `name` or `title`: "Ship an order" gives `ship-an-order`."""
    given = document if isinstance(document, dict) else {}
    name = given.get("name", given.get("title"))
    plain = unicodedata.normalize("NFKD", name[:1000]) if isinstance(name, str) else ""
    letters = plain.encode("ascii", "ignore").decode().lower()
    return _OTHERS.sub("-", letters).strip("-")[:_LONGEST].strip("-") or otherwise
