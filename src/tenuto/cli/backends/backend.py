"""What a command needs of the place where it acts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from tenuto.ports import Clock

if TYPE_CHECKING:
    from tenuto.cli.local_run import RunOptions
    from tenuto.cli.test_runs import TestRunOptions
    from tenuto.engine.events.inspector import NearEvents
    from tenuto.engine.turns.held import Held
    from tenuto.model.json import Object
    from tenuto.workspace.protocol import Workspace


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that `tenuto doctor` has checked."""

    what: str
    state: Literal["ok", "warning", "problem"]
    message: str
    advice: str = ""
    exit_code: int = 0


class Backend(Protocol):
    """A workspace, and what the command line has to know of the place where it is."""

    @property
    def space(self) -> Workspace:
        """What can be done there."""
        ...

    @property
    def clock(self) -> Clock: ...

    @property
    def tenant(self) -> str: ...

    @property
    def described(self) -> str:
        """The place as people know it: a file, a database without its password, or a URL."""
        ...

    def once_known(self, tell: Callable[[], None]) -> AbstractContextManager[object]:
        """Call `tell` inside, once, when `described` is complete: a server names its environment.

        No request is made for it: `tell` comes with the first answer, or at the end.
        """
        ...

    @property
    def flag(self) -> str:
        """The options that name the place in a command; empty where it is the default one."""
        ...

    @property
    def is_worked_on(self) -> bool:
        """Whether a process runs the steps of what the last call has set going."""
        ...

    async def has_process(self) -> bool:
        """Whether a process works on it now."""
        ...

    @property
    def is_anonymous(self) -> bool:
        """Whether no credential is shown: from the first key on, one has to be."""
        ...

    def because(self, reason: str | None) -> None:
        """Have the audit log keep a reason with the changes that follow."""
        ...

    async def reveal(self, action: str, target: str) -> None:
        """Have the audit log keep that masked values are shown by the reads that follow.

        `action` is the operation of the service that reads them, `target` the id of what is read.
        """
        ...

    def kept_open(self) -> AbstractAsyncContextManager[object]:
        """Several changes inside share what each would have to open for itself."""
        ...

    async def held(self, id: str) -> Held:
        """An instance, folded from its log; NotFound."""
        ...

    async def held_with_log(self, id: str) -> tuple[Held, list[Object]]:
        """The same, and the entries of its log, which a server sends once for both."""
        ...

    async def advanced(self, held: Held) -> Held:
        """The same instance as it is now."""
        ...

    async def near_events(self, held: Held) -> NearEvents:
        """The events that its open waits did not take."""
        ...

    def watching(self, id: str, after: int) -> AbstractAsyncContextManager[asyncio.Event]:
        """An event that is set when the log of an instance may have grown after an entry."""
        ...

    async def run(self, options: RunOptions) -> int:
        """Run a workflow, or go on with an instance, and watch it to its end; the exit code."""
        ...

    async def run_outstanding(self, options: RunOptions) -> int:
        """Go on with every instance that has not ended, until all have; the exit code."""
        ...

    async def run_test(self, options: TestRunOptions) -> int:
        """Run a definition that is not saved, and watch it to its end; the exit code."""
        ...

    def findings(self) -> AsyncIterator[Finding]:
        """What `tenuto doctor` checks there."""
        ...
