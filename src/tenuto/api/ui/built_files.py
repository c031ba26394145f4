"""The built files of the web UI, read once: a request never names a file of the disk."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Encoding: TypeAlias = Literal["br", "gzip"]

ASSETS: Final = str(Path(__file__).with_name("assets"))
"""Where `make ui` puts them; a wheel has them there."""
BUILDING: Final = "assets.building"
"""A file beside the folder, while a build is under way."""
INDEX: Final = "index.html"
WIDGET: Final = "widget.html"
_PREPARED: Final[Mapping[str, Encoding]] = {".br": "br", ".gz": "gzip"}
_HASHED: Final = "assets/"
"""In this folder the name of a file changes with its content."""
_MEDIA: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".woff2": "font/woff2",
}
"""The same on every machine, whatever its own table of media types says."""


class UiFile(Struct, frozen=True, kw_only=True):
    """A file as it is sent."""

    body: bytes
    media: str
    tag: str
    """Its ETag."""
    is_hashed: bool
    """Whether another content would have another name."""
    prepared: Mapping[Encoding, bytes]
    """Its compressed forms, made when it was built."""


class BuiltFiles:
    """The files of one folder; it is read when the service starts, or once it is built."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._files: Mapping[str, UiFile] = {}

    @property
    def files(self) -> Mapping[str, UiFile]:
        """The files by their paths below the folder; none where the UI is not built."""
        if not self._files:
            index = self._folder / INDEX
            if index.is_file():
                self._files = _read(self._folder, index.stat().st_mtime_ns)
        return self._files

    @property
    def is_building(self) -> bool:
        """Whether a build is under way."""
        return self._folder.with_name(BUILDING).exists()


def entity_tag(body: bytes) -> str:
    """The ETag of a content."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


@lru_cache(maxsize=2)
def _read(folder: Path, _built: int) -> Mapping[str, UiFile]:
    """`_built` tells one build from the next."""
    return {
        path.relative_to(folder).as_posix(): _file(path, folder)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (*_PREPARED, ".map")
    }


def _file(path: Path, folder: Path) -> UiFile:
    body = path.read_bytes()
    forms = {
        encoding: form.read_bytes()
        for suffix, encoding in _PREPARED.items()
        if (form := path.with_name(path.name + suffix)).is_file()
    }
    guessed = mimetypes.guess_type(path.name)[0]
    return UiFile(
        body=body,
        media=_MEDIA.get(path.suffix, guessed or "application/octet-stream"),
        tag=entity_tag(body),
        is_hashed=path.relative_to(folder).as_posix().startswith(_HASHED),
        prepared=forms,
    )
