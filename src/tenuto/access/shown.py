"""Text that is safe to print, in a terminal or a line of a file: no control characters.

A name with a line break, a colour or a change of direction in it could pass for something else.
"""

from __future__ import annotations


def plain(text: str) -> str:
    r"""The text with unprintable characters escaped: a line break as \u000a."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _written(character) for character in text
    )


def _written(character: str) -> str:
    """The escape of JSON, so that JSON stays valid: unprintable characters are in strings only."""
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
