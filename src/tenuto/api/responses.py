"""Sends answers and refusals over ASGI, with the headers that every answer carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec.structs import replace
from starlette.responses import Response
from starlette.types import Message, Send
from starlette.websockets import WebSocket

from tenuto.api.problems import MEDIA, ProblemAnswer
from tenuto.ports import Clock

Headers: TypeAlias = Mapping[str, str]
Pairs: TypeAlias = list[tuple[bytes, bytes]]
"""Headers as ASGI takes them."""

SECURITY: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_SECURITY_TEXT = {name.decode(): value.decode() for name, value in SECURITY}
_USUAL: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_WITHOUT_BODY = (204, 304)
"""These have no content-length either (RFC 9110, 8.6)."""
_POLICY_VIOLATION = 1008
_encode = msgspec.json.Encoder().encode


PIECE = 65_536
"""Bytes of a body that are handed to the server at once. A larger one goes out in pieces: the next
one when the client has taken most of those before."""


class ResponseSender:
    """An ASGI `send` that knows whether the answer has begun: then no other can follow."""

    __slots__ = ("_clock", "_send", "has_begun")

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        self.has_begun = True
        if len(message.get("body", b"")) <= PIECE:
            await self._send(message)
        else:
            await self._send_pieces(message)

    async def _send_pieces(self, message: Message) -> None:
        body, is_last = message["body"], not message.get("more_body", False)
        for begin in range(0, len(body), PIECE):
            if begin:
                # A fast client takes them all at once: each takes the loop for a moment.
                await self._clock.sleep(0)
            end = begin + PIECE
            more = not is_last or end < len(body)
            await self._send({**message, "body": body[begin:end], "more_body": more})


def answer_body(answer: object) -> bytes:
    """A result as JSON; None has no body."""
    return b"" if answer is None else _encode(answer)


async def send_answer(
    send: Send,
    status: int,
    body: bytes,
    headers: Headers,
    around: Pairs,
) -> None:
    """Send a result in JSON, or nothing. `around`: headers of every answer to the request."""
    pairs = [*around, *_USUAL, *_pairs(headers)]
    if body:
        pairs.append((b"content-type", b"application/json"))
    if status not in _WITHOUT_BODY:
        pairs.append((b"content-length", str(len(body)).encode()))
    await _send(send, status, pairs, body)


async def send_refusal(send: Send, refusal: ProblemAnswer, around: Pairs) -> None:
    """Send problem details."""
    body = refusal_body(refusal)
    headers = refusal_headers(refusal, around)
    headers.append((b"content-length", str(len(body)).encode()))
    await _send(send, refusal.details.status, headers, body)


def refusal_headers(refusal: ProblemAnswer, around: Pairs) -> Pairs:
    """The headers of problem details, but for their length."""
    return [*around, *_USUAL, *_pairs(refusal.headers), (b"content-type", MEDIA.encode())]


def refusal_body(refusal: ProblemAnswer, request_id: str | None = None) -> bytes:
    """Problem details as JSON, perhaps of another request."""
    details = refusal.details
    return _encode(details if request_id is None else replace(details, request_id=request_id))


async def send_preflight(send: Send, around: Pairs) -> None:
    """Answer a browser's preflight request, which has no body."""
    await _send(send, 204, [*around, *_USUAL], b"")


async def deny_socket(socket: WebSocket, refusal: ProblemAnswer) -> None:
    """Refuse a socket that is not accepted yet, with problem details where the server can."""
    if "websocket.http.response" in socket.scope.get("extensions", {}):
        await socket.send_denial_response(
            Response(
                _encode(refusal.details),
                status_code=refusal.details.status,
                headers={**refusal.headers, **_SECURITY_TEXT},
                media_type=MEDIA,
            )
        )
    else:
        await socket.close(_POLICY_VIOLATION)


def with_headers(send: Send, around: Pairs) -> Send:
    """An ASGI `send` that adds headers to the answer."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *around]
        await send(message)

    return sent


def without_body(send: Send) -> Send:
    """An ASGI `send` that leaves the body out, for HEAD."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    return sent


async def _send(send: Send, status: int, headers: Pairs, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _pairs(headers: Headers) -> Pairs:
    return [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
