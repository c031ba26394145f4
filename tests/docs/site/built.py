"""Checks a built site: every link leads somewhere, and nothing is loaded from another host."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements that a browser loads something for, and where from."""
_ELSEWHERE = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"]?(?:https?:)?//")


class Page(HTMLParser):
    """What one page links to and loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif (where := _LOADED.get(tag)) in given and given.get("rel") not in {"prev", "next"}:
            self.loaded.append(given[where or ""])


def problems(site: Path) -> Iterator[str]:
    """What is wrong with a site, a line for each."""
    parsed = {
        file.relative_to(site).as_posix(): Page(file.read_text(encoding="utf-8"))
        for file in sorted(site.rglob("*.html"))
    }
    for name, page in parsed.items():
        for url in page.loaded:
            if urlsplit(url).netloc:
                yield f"{name} loads {url}"
        for url in [*page.links, *page.loaded]:
            if reason := _missing(site, parsed, name, url):
                yield f"{name}: {url} {reason}"
    for sheet in sorted(site.rglob("*.css")):
        if _ELSEWHERE.search(sheet.read_text(encoding="utf-8")):
            yield f"{sheet.relative_to(site)} loads from another host"


def _missing(site: Path, parsed: dict[str, Page], name: str, url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc or name == "404.html":
        return ""
    path = unquote(parts.path)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
    if (site / target).is_dir():
        target = posixpath.join(target, "index.html")
    if not (site / target).is_file():
        return "leads nowhere"
    if target in parsed and unquote(parts.fragment) not in parsed[target].anchors:
        return "names no heading"
    return ""
