"""What `make docs` does beside the build of the site.

`python -m tests.docs.site pages FOLDER` before the build, `finish PAGES SITE` after it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.docs.site.arrangement import write_pages
from tests.docs.site.built import problems


def finish(pages: Path, site: Path) -> int:
    """Put the text of each page beside it, and check the site; the number of problems."""
    for page in pages.rglob("*.md"):
        shutil.copyfile(page, site / page.relative_to(pages))
    found = list(problems(site))
    for each in found:
        print(each)
    return len(found)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pages", folder]:
            shutil.rmtree(folder, ignore_errors=True)
            write_pages(Path(folder))
        case ["finish", pages, site]:
            sys.exit(min(finish(Path(pages), Path(site)), 1))
        case _:
            sys.exit(__doc__)
