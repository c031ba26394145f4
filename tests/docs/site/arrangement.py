"""Where each page of the project is on the site, and what its links and blocks become there."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tests.docs.blocks import ROOT

DRAWINGS = ROOT / "docs" / "assets" / "diagrams"
DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)

_BESIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "examples/README.md": "examples/index.md",
}
"""Pages outside of `docs` that are on the site."""
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^( *)(`{3,})(.*)$")
_INFO = re.compile(r"(\w+) (file|into)=(\S+)")
_TITLES = {"file": "{name}", "into": "in {name}"}


def pages() -> dict[str, str]:
    """Path in the project → path on the site, of every page and of every file beside pages."""
    found = dict(_BESIDE)
    for file in sorted((ROOT / "docs").rglob("*")):
        if file.is_file():
            below = file.relative_to(ROOT / "docs").as_posix()
            found[f"docs/{below}"] = below
    for file in sorted((ROOT / "examples").glob("*/README.md")):
        found[f"examples/{file.parent.name}/README.md"] = f"examples/{file.parent.name}.md"
    return found


def arranged(source: str, text: str, places: dict[str, str]) -> str:
    """The text of a page as it is on the site."""
    lines: list[str] = []
    fence = ""
    for line in _drawn(source, text, places).splitlines():
        opened = _FENCE.match(line)
        if opened and fence:
            if opened[2] == fence and not opened[3]:
                fence = ""
            lines.append(line)
        elif opened:
            fence = opened[2]
            lines.append(f"{opened[1]}{fence}{_titled(opened[3])}")
        else:
            lines.append(line if fence else _linked(source, line, places))
    return "\n".join(lines) + "\n"


def drawing(diagram: str) -> str:
    """The name of the file with the drawing of a diagram."""
    return f"a{hashlib.sha256(diagram.encode()).hexdigest()[:12]}.svg"


def _drawn(source: str, text: str, places: dict[str, str]) -> str:
    """Diagrams of which there is a drawing are pictures."""

    def picture(block: re.Match[str]) -> str:
        file = DRAWINGS / drawing(block[1])
        if not file.is_file():
            return block[0]
        place = places[file.relative_to(ROOT).as_posix()]
        return f"![Diagram]({posixpath.relpath(place, PurePosixPath(places[source]).parent)})"

    return DIAGRAM.sub(picture, text)


def _titled(info: str) -> str:
    """What stands behind a fence: the name of a file is the title of its block."""
    named = _INFO.fullmatch(info)
    if named is None:
        # A diagram without a drawing is text: what draws it would come from another host.
        return "text" if info == "mermaid" else info
    return f'{named[1]} title="{_TITLES[named[2]].format(name=named[3])}"'


def _linked(source: str, line: str, places: dict[str, str]) -> str:
    """Links lead to pages of the site; a link to what is not there becomes its text."""

    def moved(link: re.Match[str]) -> str:
        target, mark, anchor = link[2].partition("#")
        if ":" in target or not target:
            return link[0]
        place = places.get(_resolved(source, target))
        if place is None:
            return link[1]
        way = posixpath.relpath(place, PurePosixPath(places[source]).parent)
        return f"[{link[1]}]({way}{mark}{anchor})"

    return _LINK.sub(moved, line)


def _resolved(source: str, target: str) -> str:
    """The file of the project that a link leads to; of a folder, its page."""
    path = posixpath.normpath(posixpath.join(PurePosixPath(source).parent, target))
    return f"{path}/README.md" if (ROOT / path).is_dir() else path


def write_pages(folder: Path) -> None:
    """Write every page and every file beside pages below `folder`."""
    for place, content in contents():
        file = folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def contents() -> Iterator[tuple[str, bytes]]:
    places = pages()
    for source, place in places.items():
        content = (ROOT / source).read_bytes()
        if source.endswith(".md"):
            content = arranged(source, content.decode(), places).encode()
        yield place, content
