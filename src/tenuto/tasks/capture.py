"""Notes what code of an attempt prints and logs, and lets it go where it goes anyway.

A context variable says which attempt runs: tasks that an attempt starts in the loop, and threads
that are given its context, such as those of `asyncio.to_thread`, belong to it. Streams are wrapped;
log records are seen where they are made. A handler would change the logging of the program: without
one of its own it would show no warnings, and `logging.basicConfig` would do nothing.
"""

from __future__ import annotations

import logging
import sys
import threading
from contextvars import ContextVar
from types import FrameType
from typing import Any, Protocol, TextIO

from tenuto.model.task_logs import Stream
from tenuto.tasks.attempt_log import AttemptLog
from tenuto.tasks.redactor import without_known_secrets

_STREAMS: tuple[Stream, ...] = ("stdout", "stderr")
_OURS = ("tenuto", "tenuto.")
_HANDLING = logging.Handler.handle.__code__
_DEEPEST = 50
"""How many frames a handler may be above the stream that it writes to."""


class Logged(Protocol):
    """An attempt whose lines are kept."""

    @property
    def log(self) -> AttemptLog:
        """Where they are noted."""
        ...


CURRENT: ContextVar[Logged | None] = ContextVar("tenuto_attempt", default=None)
"""The attempt whose code runs."""


class _Nesting(threading.local):
    is_inside = False
    is_making = False


_nesting = _Nesting()


class CapturedStream:
    """A stream like the one that it wraps."""

    def __init__(self, inner: TextIO, name: Stream) -> None:
        self._inner = inner
        self._name = name

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # Libraries look whether a stream is one of the classes of `io`.
        return type(self._inner)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        return getattr(self._inner, name)

    def write(self, text: str) -> int:
        """Note a text of an attempt, and write it."""
        attempt = CURRENT.get()
        if attempt is None or _nesting.is_inside:
            return self._inner.write(text)
        if not _is_of_handler():
            _note(attempt, self._name, text)
        # The stream may write to another one that is captured, as the display of `tenuto run` does.
        _nesting.is_inside = True
        try:
            # The log of the service may go there too.
            self._inner.write(without_known_secrets(text))
            return len(text)
        finally:
            _nesting.is_inside = False

    def writelines(self, texts: Any) -> None:  # noqa: ANN401 - as the stream takes it
        """Write each."""
        for text in texts:
            self.write(text)


class Capture:
    """The streams and log records of the process, for all engines and workers in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before: Any = None

    def begin(self) -> None:
        """Note lines of attempts from now on."""
        with self._lock:
            self._users += 1
            self.renew()
            if self._users == 1:
                self._before = logging.getLogRecordFactory()
                logging.setLogRecordFactory(_noting(self._before))

    def renew(self) -> None:
        """Wrap the streams again, where the program has replaced them."""
        for name in _STREAMS:
            stream = getattr(sys, name)
            if stream is not None and type(stream) is not CapturedStream:
                setattr(sys, name, CapturedStream(stream, name))

    def end(self) -> None:
        """After the last user, leave the streams as they were; other wrappers stay."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            for name in _STREAMS:
                stream = getattr(sys, name)
                if type(stream) is CapturedStream:
                    setattr(sys, name, stream._inner)  # noqa: SLF001
            if isinstance(logging.getLogRecordFactory(), _Noting):
                logging.setLogRecordFactory(self._before)


CAPTURE = Capture()


class _Noting:
    """Makes log records, and notes those of attempts.

    A library may have put a factory around it, which then makes records within another one: a
    record is noted by the outermost.
    """

    def __init__(self, make: Any) -> None:  # noqa: ANN401 - a class, or a function like it
        self._make = make

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:  # noqa: ANN401
        if _nesting.is_making:
            return self._made(*args, **kwargs)
        _nesting.is_making = True
        try:
            record = self._made(*args, **kwargs)
        finally:
            _nesting.is_making = False
        attempt = CURRENT.get()
        # Without a name it is a copy of a record, of another process for instance.
        if attempt is not None and record.name and not _is_ours(record.name):
            _note_record(attempt, record)
        return record

    def _made(self, *args: Any, **kwargs: Any) -> logging.LogRecord:  # noqa: ANN401
        record: logging.LogRecord = self._make(*args, **kwargs)
        return record


def _noting(make: Any) -> _Noting:  # noqa: ANN401 - a class, or a function like it
    return _Noting(make)


def _is_of_handler() -> bool:
    """Whether a handler writes a record, which was noted when it was made."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - cheaper than `inspect`
    for _ in range(_DEEPEST):
        if frame is None:
            return False
        if frame.f_code is _HANDLING:
            return True
        frame = frame.f_back
    return False


def _is_ours(name: str) -> bool:
    return name == _OURS[0] or name.startswith(_OURS[1])


def _note(attempt: Logged, stream: Stream, text: object) -> None:
    if not isinstance(text, str):
        return
    try:
        attempt.log.write(stream, text)
    except Exception:  # noqa: BLE001 - a line that cannot be noted is no failure of the task
        return


def _note_record(attempt: Logged, record: logging.LogRecord) -> None:
    try:
        attempt.log.record(record)
    except Exception:  # noqa: BLE001 - likewise
        return
