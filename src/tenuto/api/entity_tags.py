"""Entity tags: `If-None-Match` of reads, and `If-Match` of changes."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.api.problems import Refusal
from tenuto.model.json import Object

_MOST_DIGITS = 18
"""No version has more; a number of thousands of digits cannot even be read."""


def is_known(headers: Mapping[str, str], tag: str | None) -> bool:
    """Whether the client has this version already: `If-None-Match` names its tag."""
    asked = headers.get("if-none-match")
    if asked is None or tag is None:
        return False
    named = [each.strip().removeprefix("W/") for each in asked.split(",")]
    return "*" in named or tag in named


def read_if_match(if_match: str) -> int | str:
    """The value of `If-Match`: a version, another ETag, or `*`."""
    text = if_match.strip().removeprefix("W/").strip('"')
    is_number = text.isdecimal() and text.isascii() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else text


def version_to_change(headers: Mapping[str, str], before: Object | None, code: str) -> int | None:
    """The version that `If-Match` names; None without one. 412 with `code` where it names none.

    `before` is the record as it is, with its `version`.
    """
    if_match = headers.get("if-match")
    if if_match is None:
        return None
    named = read_if_match(if_match)
    if isinstance(named, int):
        return named
    if named != "*":
        message = f"{if_match[:80]!r} is no version"
        raise Refusal(412, code, message, 'Send the ETag of a version, such as "3".')
    version = None if before is None else before.get("version")
    if not isinstance(version, int):
        raise Refusal(412, code, "there is none to change", "Leave `If-Match` out to make it.")
    return version
