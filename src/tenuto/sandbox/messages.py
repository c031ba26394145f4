"""Messages between a service and a process of its sandbox: frames with a length, in msgpack.

What a process sends is read as if an attacker had written it: by type, and within bounds.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

import msgspec
from msgspec import Struct

LENGTH = struct.Struct(">I")
OUT_OF_MEMORY = 77
"""The exit code of a process whose interpreter has no memory left."""


class Confinement(Struct, frozen=True, kw_only=True):
    """What a process is to be protected by, where the system allows it; limits always are set."""

    namespaces: bool = True
    own_user: bool = True
    filter: bool = True
    memory: int = 0
    """The most bytes that any of its calls may use."""
    parent: int = 0
    """The id of the process that starts it."""


class Run(Struct, frozen=True, kw_only=True, tag="run"):
    """Parent: run this code."""

    code: str
    ctx: bytes
    """In JSON, as the next ones."""
    input: bytes
    steps: bytes
    seconds: float
    memory: int
    output: int
    console: int
    fetches: int
    at_once: int


class Check(Struct, frozen=True, kw_only=True, tag="check"):
    """Parent: see whether this code parses."""

    code: str
    seconds: float
    memory: int


class Fetched(Struct, frozen=True, kw_only=True, tag="fetched"):
    """Parent: the answer to a request, as JSON of `FetchAnswer`."""

    id: int
    answer: bytes


class Ready(Struct, frozen=True, kw_only=True, tag="ready"):
    """Child: it is confined, and waits."""

    protections: tuple[str, ...]
    missing: tuple[str, ...]
    """Those that it did not get, each with the reason."""


class Broken(Struct, frozen=True, kw_only=True, tag="broken"):
    """Child: it could not begin."""

    reason: str


class Asked(Struct, frozen=True, kw_only=True, tag="asked"):
    """Child: the code sends these requests, as JSON of a list of `FetchRequest`."""

    requests: bytes


class Place(Struct, frozen=True, kw_only=True):
    """Where in the code something is; both count from 1."""

    line: int
    column: int


class Thrown(Struct, frozen=True, kw_only=True):
    """What the code failed with."""

    name: str
    message: str
    stack: str = ""
    place: Place | None = None


class Ended(Struct, frozen=True, kw_only=True, tag="ended"):
    """Child: the call has ended."""

    console: bytes = b"[]"
    """JSON: `[level, milliseconds, text]` for each line."""
    dropped: int = 0
    """Lines that found no room."""
    value: bytes | None = None
    """The result in JSON."""
    code: str = ""
    """Why there is none."""
    thrown: Thrown | None = None


class Checked(Struct, frozen=True, kw_only=True, tag="checked"):
    """Child: what is wrong with the code; nothing, if it parses."""

    problem: Thrown | None = None


FromParent: TypeAlias = Run | Check | Fetched
FromChild: TypeAlias = Ready | Broken | Asked | Ended | Checked

encode = msgspec.msgpack.Encoder().encode
_from_parent = msgspec.msgpack.Decoder(FromParent)
_from_child = msgspec.msgpack.Decoder(FromChild)


def from_parent(message: bytes) -> FromParent:
    decoded: FromParent = _from_parent.decode(message)
    return decoded


def from_child(message: bytes) -> FromChild:
    """What a process says; msgspec.MsgspecError, if it is nothing that may be said."""
    decoded: FromChild = _from_child.decode(message)
    return decoded
