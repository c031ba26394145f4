"""Characters that control a terminal or reverse the writing direction, and their escapes."""

from __future__ import annotations

import re

UNSAFE = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
"""They move the cursor, change colours, end a line or reverse the writing direction.

Written as a part of a character class: line feed and tab are left to the text's own layout.
"""
_UNSAFE = re.compile(f"[{UNSAFE}]")
_UNSAFE_IN_LINE = re.compile(f"[{UNSAFE}\n\t]")


def escaped(text: str) -> str:
    r"""A text of several lines that controls no terminal: `\u001b` for each unsafe character.

    JSON stays the same value: there such characters are in strings alone.
    """
    return text if text.isprintable() else _UNSAFE.sub(as_escape, text)


def escaped_line(text: str) -> str:
    """The same on exactly one line."""
    return text if text.isprintable() else _UNSAFE_IN_LINE.sub(as_escape, text)


def as_escape(found: re.Match[str]) -> str:
    """A character as JSON and Python escape it."""
    return f"\\u{ord(found[0]):04x}"
