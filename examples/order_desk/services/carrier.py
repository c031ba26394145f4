"""The API of a carrier, on this machine: `python carrier.py PORT`.

`POST /shipments` wants the bearer token `demo-carrier-key`. The same `Idempotency-Key` again is
the same shipment, and a place to which no ship goes is refused with 422.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "demo-carrier-key"
UNREACHABLE = "Atlantis"


class Carrier(ThreadingHTTPServer):
    """Listens on loopback alone; port 0 is a free one."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Request)
        self.shipments: dict[str, dict[str, Any]] = {}
        """By the idempotency key of their requests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Request(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self._answer(401, {"error": "the token is unknown"})
        elif self.path != "/shipments":
            self._answer(404, {"error": "there is nothing here"})
        else:
            self._ship(json.loads(body))

    def _ship(self, wanted: dict[str, Any]) -> None:
        assert isinstance(self.server, Carrier)
        if wanted["to"] == UNREACHABLE:
            self._answer(422, {"error": f"no ship goes to {UNREACHABLE}"})
            return
        made = {"tracking": f"T-{wanted['reference']}", "pieces": wanted["pieces"]}
        key = self.headers.get("Idempotency-Key", made["tracking"])
        self._answer(201, self.server.shipments.setdefault(key, made))

    def _answer(self, status: int, value: dict[str, Any]) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """The terminal belongs to the workflows."""


if __name__ == "__main__":
    with Carrier(int(sys.argv[1])) as carrier:
        print(f"serving {carrier.url}", flush=True)
        carrier.serve_forever()
