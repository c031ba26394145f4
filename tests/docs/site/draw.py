"""Draws the diagrams of pages for the site: `python -m tests.docs.site.draw MERMAID_JS CHROMIUM`.

GitHub draws blocks in the language Mermaid itself. The site loads nothing from another host, so its
drawings are files, made by the script `mermaid.min.js` of the package `mermaid` in a headless
Chromium. A diagram without a drawing is shown as text.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.docs.blocks import ROOT
from tests.docs.site.arrangement import DIAGRAM, DRAWINGS, drawing, pages

_DRAWN = re.compile(r'<div id="(\w+)" class="drawn">(<svg.*?</svg>)</div>', re.DOTALL)
_PAGE = """<!doctype html><meta charset="utf-8"><body>{blocks}
<script src="{script}"></script>
<script>
mermaid.initialize({{ startOnLoad: false, htmlLabels: false, flowchart: {{ htmlLabels: false }} }});
(async () => {{
  for (const block of document.querySelectorAll("pre")) {{
    const drawn = await mermaid.render("d" + block.id, block.textContent);
    block.outerHTML = `<div id="${{block.id}}" class="drawn">${{drawn.svg}}</div>`;
  }}
}})();
</script>"""


def diagrams() -> Iterator[tuple[str, str]]:
    """The name of the drawing of each diagram on the site, and its text."""
    for source in pages():
        if source.endswith(".md"):
            for text in DIAGRAM.findall((ROOT / source).read_text(encoding="utf-8")):
                yield drawing(text), text


def draw(script: Path, chromium: str) -> None:
    wanted = dict(diagrams())
    blocks = "".join(
        f'<pre id="{Path(name).stem}">{html.escape(text)}</pre>' for name, text in wanted.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "diagrams.html"
        page.write_text(_PAGE.format(blocks=blocks, script=script.resolve().as_uri()), "utf-8")
        dumped = subprocess.run(
            [
                *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
                *("--no-first-run", "--disable-background-networking", "--disable-sync"),
                *("--disable-component-update", f"--user-data-dir={folder}/data"),
                *("--virtual-time-budget=30000", "--dump-dom", page.as_uri()),
            ],
            check=True,
            capture_output=True,
            text=True,
        )
    DRAWINGS.mkdir(parents=True, exist_ok=True)
    for old in DRAWINGS.iterdir():
        old.unlink()
    for name, drawn in _DRAWN.findall(dumped.stdout):
        # As a file of its own it is XML.
        (DRAWINGS / f"{name}.svg").write_text(drawn.replace("<br>", "<br/>") + "\n", "utf-8")
        print(name)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), sys.argv[2])
