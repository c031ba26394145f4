"""Tracebacks of tasks: kept with a failure for those who may edit definitions, hidden from others.

A failure is an object with `code` and `message`; its traceback is `details.traceback`.
"""

from __future__ import annotations

import msgspec

from tenuto.model.json import JSON

_NAME = "traceback"
_MARK = b'"traceback"'
_encode = msgspec.json.Encoder().encode


def without_tracebacks(value: JSON) -> JSON:
    """`value` without the tracebacks of the failures in it."""
    if isinstance(value, list):
        return [without_tracebacks(each) for each in value]
    if not isinstance(value, dict):
        return value
    shown = {name: without_tracebacks(each) for name, each in value.items()}
    details = shown.get("details")
    if isinstance(details, dict) and _NAME in details and {"code", "message"} <= shown.keys():
        kept = {name: each for name, each in details.items() if name != _NAME}
        shown["details"] = kept or None
    return shown


def may_have_tracebacks(text: bytes) -> bool:
    """Whether JSON has to be read to know of tracebacks in it; most has not."""
    return _MARK in text


def text_without_tracebacks(text: bytes) -> bytes:
    """JSON without the tracebacks of the failures in it."""
    if not may_have_tracebacks(text):
        return text
    return _encode(without_tracebacks(msgspec.json.decode(text)))
