"""Runs one command: what it raises becomes a message and an exit code, never a bare traceback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tenuto.cli import exits
from tenuto.cli.positions import Positions
from tenuto.cli.sources import Located
from tenuto.cli.views.errors import error_json, show_error
from tenuto.cli.views.terminal import say, show_json
from tenuto.model.errors import TenutoError


def perform(
    work: Callable[[], Coroutine[Any, Any, int]],
    *,
    is_json: bool,
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> int:
    """The exit code of `work`, in a loop that `loop` makes, else in the usual one."""
    try:
        with asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(work())
    except Located as located:
        return _tell(located.error, located.positions, is_json=is_json)
    except TenutoError as error:
        return _tell(error, None, is_json=is_json)
    except KeyboardInterrupt:
        say("stopped")
        return exits.INTERRUPTED


def _tell(error: TenutoError, positions: Positions | None, *, is_json: bool) -> int:
    if is_json:
        show_json(error_json(error))
    else:
        show_error(error, positions)
    return exits.exit_code(error)
