"""Text on streams whose encoding lacks a character: a replacement that can be read, no error."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Final, TextIO

HANDLER: Final = "tenuto"

_PLAIN: Final = {
    "…": ".",
    "·": ".",
    "●": "*",
    "◌": "o",
    "○": "o",
    "↻": "~",
    "↶": "<",
    "✓": "+",
    "✗": "x",
    "⊘": "/",
    "‖": "=",
    "▓": "#",
    "░": ".",
    "→": ">",
}
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]")


def tolerate(streams: Iterable[TextIO]) -> None:
    """Let the streams replace the characters that their encoding lacks."""
    codecs.register_error(HANDLER, _replaced)
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=HANDLER)


def json_for(stream: TextIO, text: str) -> str:
    """JSON that the stream can carry: outside of UTF its escapes stand for what is beyond ASCII."""
    if (stream.encoding or "").lower().startswith("utf"):
        return text
    return _BEYOND_ASCII.sub(_escaped, text)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    plain = "".join(
        _PLAIN.get(each, each.encode("ascii", "backslashreplace").decode()) for each in missing
    )
    return plain, error.end


def _escaped(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
