"""The messages of msgspec in JSON's words: people who send JSON need not know Python's types."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
    "datetime": "a timestamp",
    "bytes": "text in base64",
}
_ENUM: Final = re.compile(r"^Invalid enum value ('[^']*'|\S+)")
_TYPES = re.compile(r"\b([Ee]xpected|got) `([a-z| ]+)`")


def in_json_words(error: Exception) -> str:
    """What is wrong with a value: `expected text, found a whole number - at `$.name``."""
    message = _ENUM.sub(r"\1 is not one of the values that are possible here", str(error))
    message = _TYPES.sub(_named, message)
    return message[:1].lower() + message[1:]


def _named(found: re.Match[str]) -> str:
    names = [_WORDS.get(each.strip(), f"`{each.strip()}`") for each in found[2].split("|")]
    return f"{'found' if found[1] == 'got' else found[1]} {' or '.join(names)}"
