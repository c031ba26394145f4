"""Writes `docs/llms.txt`, the list of pages for language models: `python -m tests.docs.llms`.

The order is that of the site. Each page has a title and a first sentence, which describe it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml  # type: ignore[import-untyped]

from tests.docs.blocks import ROOT
from tests.docs.site.arrangement import pages

PAGE = ROOT / "docs" / "llms.txt"

_HEAD = """\
# Tenuto

> A durable workflow orchestrator in Python: a workflow that has started reaches its end, across
> crashes, deploys, slow services and weeks of waiting. It runs in a process on one SQLite file, in
> many processes on one PostgreSQL database, or as an HTTP service.

Install it with `pip install tenuto` (Python 3.11 or newer). `tenuto init shop && cd shop` makes a
project, and `tenuto dev` serves it. Every page below is Markdown.
"""
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_NO_TEXT = re.compile(r"[#|<>\s]|[-*] |\d+\. ")
_SENTENCE = re.compile(r".+?\.(?=\s|$)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


class _Reader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads the settings of the site, in which some values have tags of their own."""


_Reader.add_multi_constructor("!", lambda _, suffix, node: None)
_Reader.add_multi_constructor("tag:yaml.org,2002:python/", lambda _, suffix, node: None)


def site() -> dict[str, Any]:
    """The settings of the site."""
    found = _Reader((ROOT / "mkdocs.yml").read_text(encoding="utf-8")).get_single_data()
    assert isinstance(found, dict)
    return found


def listed() -> Iterator[tuple[str, list[str]]]:
    """The kinds of pages in the order of the site, each with its pages."""
    for kind in site()["nav"]:
        [(name, inside)] = kind.items()
        yield name, list(_below(inside))


def _below(entry: object) -> Iterator[str]:
    match entry:
        case str():
            yield entry
        case list():
            for each in entry:
                yield from _below(each)
        case dict():
            for each in entry.values():
                yield from _below(each)
        case _:
            raise TypeError(f"no page of the site: {entry!r}")


def text() -> str:
    sources = {place: source for source, place in pages().items()}
    lines = [_HEAD]
    for kind, places in listed():
        lines.append(f"## {kind}\n")
        lines += [_line(place, sources[place]) for place in places]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _line(place: str, source: str) -> str:
    page = (ROOT / source).read_text(encoding="utf-8")
    title = _TITLE.search(page)
    assert title is not None, source
    about = _first_sentence(_FENCED.sub("", page[title.end() :]))
    return f"- [{title[1]}]({place}){about and f': {about}'}"


def _first_sentence(page: str) -> str:
    blocks = (each.strip("\n") for each in page.split("\n\n"))
    text = next((each for each in blocks if each and not _NO_TEXT.match(each)), "")
    line = _LINK.sub(r"\1", " ".join(text.split()))
    sentence = _SENTENCE.match(line)
    return sentence[0] if sentence else line.rstrip(":")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
