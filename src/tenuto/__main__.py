"""`python -m tenuto` is the command line."""

from __future__ import annotations

import os
import sys

if sys.path and not sys.flags.safe_path and sys.path[0] == os.path.abspath(os.curdir):  # noqa: PTH100 - pathlib is found on the path
    # Python puts this folder before the libraries, and a file in it may have a library's name.
    # Where tasks are read from it, it is put there again (`import_from`).
    del sys.path[0]

from tenuto.cli import main

main()
