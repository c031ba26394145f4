"""`python -m tenuto` is the command line."""

from __future__ import annotations

from tenuto.cli import main

main()
