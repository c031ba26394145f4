"""Answers browsers: files of the web UI, and its page for every path that is not the API's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape
from typing import Final

import msgspec
from starlette.responses import Response

from tenuto.api.entity_tags import is_known
from tenuto.api.operation import Operation
from tenuto.api.ui.built_files import INDEX, WIDGET, BuiltFiles, UiFile, entity_tag

_BASE: Final = re.compile(rb'<base href="/"\s*/?>')
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"
_FRAMED: Final = "/widgets/"
"""Pages below this path are made for frames of other sites."""
_PLAIN_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
_NOT_BUILT: Final = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tenuto</title>{refresh}</head>
<body><h1>Tenuto</h1><p>{said}</p><p>The API is served: <a href="docs">every operation</a>.</p>
</body></html>
"""

_WAYS = {
    "webUi": "/",
    "api": "/api/v1",
    "docs": "/docs",
    "openapi": "/openapi.json",
    "health": "/health/ready",
}


class UiPages:
    """Finds the answer to a GET for which there is no operation."""

    def __init__(
        self,
        operations: Iterable[Operation],
        *,
        base: str = "",
        folder: str,
    ) -> None:
        """`base` is the path of the public URL."""
        self._reserved = frozenset(each.path.split("/")[1] for each in operations) | {"internal"}
        self._base = base
        self._built = BuiltFiles(folder)

    def find(
        self, path: str, headers: Mapping[str, str], *, connect: Iterable[str] = ()
    ) -> Response | None:
        """The answer; None where neither a file nor a page is there.

        `connect` has further origins that a page may send requests to.
        """
        files = self._built.files
        name = path.removeprefix("/")
        file = files.get(name)
        if file is not None and name not in (INDEX, WIDGET):
            return _sent(file, headers)
        if "text/html" not in headers.get("accept", ""):
            return self._ways() if name == "" else None
        if not self._is_page(name):
            return None
        if not files:
            return self._not_built()
        if path.startswith(_FRAMED) and WIDGET in files:
            return self._page(files[WIDGET], headers, ancestors="*")
        return self._page(files[INDEX], headers, ancestors="'none'", connect=connect)

    def _is_page(self, name: str) -> bool:
        """Whether a path may be one of the UI's own: no operation's, and no file's."""
        first = name.partition("/")[0]
        return first not in self._reserved and first != "assets" and "\0" not in name

    def _page(
        self,
        file: UiFile,
        headers: Mapping[str, str],
        *,
        ancestors: str,
        connect: Iterable[str] = (),
    ) -> Response:
        asked = " ".join(("'self'", *connect))
        body = _with_base(file.body, self._base)
        policy = (
            "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; "
            "img-src 'self' data:; "
            f"font-src 'self'; connect-src {asked}; base-uri 'self'; form-action 'self'; "
            f"frame-ancestors {ancestors}"
        )
        sent = {
            "cache-control": _ASK_AGAIN,
            "content-security-policy": policy,
            # A browser that has the page must also get a policy that has changed.
            "etag": entity_tag(body + policy.encode()),
        }
        return _unless_known(body, file.media, sent, headers)

    def _ways(self) -> Response:
        """What programs find at the root, where browsers find the UI."""
        found = {name: f"{self._base}{path}" for name, path in _WAYS.items()}
        return Response(
            msgspec.json.encode({"service": "Tenuto", **found}) + b"\n",
            media_type="application/json",
            headers={
                "cache-control": "no-store",
                "content-security-policy": _PLAIN_POLICY,
                "vary": "accept",
            },
        )

    def _not_built(self) -> Response:
        is_building = self._built.is_building
        said = (
            "The web UI is being built; this page looks again by itself."
            if is_building
            else "The web UI is not built in this checkout. Build it with: <code>make ui</code>"
        )
        refresh = '<meta http-equiv="refresh" content="2">' if is_building else ""
        page = _NOT_BUILT.format(refresh=refresh, said=said)
        base = f'<head><base href="{escape(self._base)}/">'
        return Response(
            page.replace("<head>", base),
            media_type="text/html",
            headers={"cache-control": "no-store", "content-security-policy": _PLAIN_POLICY},
        )


def _sent(file: UiFile, headers: Mapping[str, str]) -> Response:
    sent = {
        "cache-control": _FOR_EVER if file.is_hashed else _ASK_AGAIN,
        "content-security-policy": _PLAIN_POLICY,
        "etag": file.tag,
        "vary": "accept-encoding",
    }
    accepted = _encodings(headers.get("accept-encoding", ""))
    for encoding, form in file.prepared.items():
        if encoding in accepted:
            # Another form of the same content has another tag.
            sent |= {"content-encoding": encoding, "etag": f'{file.tag[:-1]}-{encoding}"'}
            return _unless_known(form, file.media, sent, headers)
    return _unless_known(file.body, file.media, sent, headers)


def _unless_known(
    body: bytes, media: str, sent: dict[str, str], headers: Mapping[str, str]
) -> Response:
    """The file, or 304 where the browser has it."""
    if is_known(headers, sent["etag"]):
        return Response(status_code=304, headers=sent)
    return Response(body, headers={**sent, "content-type": media})


@lru_cache(maxsize=64)
def _encodings(accepted: str) -> frozenset[str]:
    """The encodings that a browser takes; one with the weight 0 it does not take."""
    found: set[str] = set()
    for each in accepted.lower().split(","):
        name, _, weight = each.partition(";")
        if not re.fullmatch(r"q=0(\.0*)?", weight.strip()):
            found.add(name.strip())
    return frozenset(found)


@lru_cache(maxsize=8)
def _with_base(page: bytes, base: str) -> bytes:
    """The page, whose relative addresses begin at the service's path."""
    return _BASE.sub(lambda _: f'<base href="{escape(base)}/">'.encode(), page, count=1)
