"""Operations that a future value does not support."""

from __future__ import annotations

import enum


class Misuse(enum.Enum):
    """Kinds of operations that need a value now."""

    DECIDED = "to decide on it"
    SEARCHED = "to look into it"
    REPEATED = "to go through it"
    MEASURED = "to measure it"
    CONVERTED = "to make a number of it"
    WRITTEN = "to write it into text"
    HASHED = "to use it as a key"
    CALLED = "to call it"
    CHANGED = "to change it"
