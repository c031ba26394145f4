"""Takes from this process what the code of users must not reach; in a process of the sandbox.

Limits of the system are always set. The rest is got where the system allows it, each by itself, and
what was got is said by name: a container may refuse namespaces, and another system has no filter.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from tenuto.sandbox.messages import Confinement
from tenuto.sandbox.system_calls import install_filter

LIMITS: Final = "limits"
NO_PRIVILEGES: Final = "no-privileges"
OWN_USER: Final = "own-user"
NO_NETWORK: Final = "no-network"
NO_FILES: Final = "no-files"
FILTER: Final = "system-call-filter"
DIES_WITH_PARENT: Final = "dies-with-parent"
OVERWRITES: Final = "overwrites-memory"
ALL: Final = (
    LIMITS,
    NO_NETWORK,
    NO_FILES,
    OWN_USER,
    NO_PRIVILEGES,
    OVERWRITES,
    DIES_WITH_PARENT,
    FILTER,
)

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUTS = 0x04000000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63
_M_PERTURB = -6
_FILLER = 0x5A
_FIRST_USER = 0x70000000
"""User ids that no system assigns: each process has one of its own."""
_EMPTY = ("/tmp", "/var", "/mnt", "/usr")  # noqa: S108 - covered, not written to

_SLACK = 48 << 20
"""Bytes of addresses beyond what a call may use, for the interpreter."""
_CPU_SLACK = 5


class Refused(Exception):
    """The system does not give a protection."""


class Limits:
    """The limits of this process that follow those of its call."""

    def __init__(self, most: int) -> None:
        """`most`: the most bytes that a call may use; no limit is raised beyond that."""
        self._usual = _addresses()
        self._hard = self._usual + 2 * most + (1 << 30) if self._usual else resource.RLIM_INFINITY

    def begin(self, seconds: float, memory: int, texts: int) -> None:
        """For one call: a process that its parent forgets ends all the same."""
        if self._usual:
            most = min(self._usual + memory + memory // 4 + texts + _SLACK, self._hard)
            resource.setrlimit(resource.RLIMIT_AS, (most, self._hard))
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu = int(used.ru_utime + used.ru_stime + seconds) + _CPU_SLACK
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        if hard == resource.RLIM_INFINITY or cpu <= hard:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, hard))

    def end(self) -> None:
        """Between two calls."""
        if self._usual:
            resource.setrlimit(resource.RLIMIT_AS, (self._hard, self._hard))


def confine(
    wanted: Confinement, reading: int, writing: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The protections that this process has from now on, and those that it did not get, and why."""
    got: list[str] = []
    missing: list[str] = []

    def protect(names: tuple[str, ...], act: Callable[[], object], *, is_wanted: bool) -> None:
        reason = "it is switched off"
        if is_wanted:
            try:
                act()
                got.extend(names)
                return
            except (OSError, Refused, AttributeError, ValueError) as error:
                reason = str(error)
        missing.extend(f"{name}: {reason}" for name in names)

    os.environ["TZ"] = "UTC"
    time.tzset()
    is_linux = sys.platform == "linux"
    _leave_terminal()
    _limit()
    protect((NO_NETWORK, NO_FILES), _leave, is_wanted=wanted.namespaces)
    protect((OWN_USER,), _change_user, is_wanted=wanted.own_user)
    protect((NO_PRIVILEGES,), _drop_privileges, is_wanted=True)
    protect((OVERWRITES,), _overwrite, is_wanted=is_linux)
    # Not before: a change of the user takes it away.
    protect((DIES_WITH_PARENT,), lambda: _die_with(wanted.parent), is_wanted=is_linux)
    _limit_rest()
    got.append(LIMITS)
    # The last one: what the others need is not let through.
    protect((FILTER,), lambda: install_filter(reading, writing), is_wanted=wanted.filter)
    return tuple(got), tuple(missing)


def _leave_terminal() -> None:
    """It is in the session of the service, which may have one."""
    with suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDWR)
        try:
            fcntl.ioctl(terminal, termios.TIOCNOTTY)
        finally:
            os.close(terminal)


def _limit() -> None:
    """No core file, which would have the data of tenants; nothing is written to a file."""
    for what in ("RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"):
        number = getattr(resource, what, None)
        if number is not None:
            resource.setrlimit(number, (0, 0))


def _limit_rest() -> None:
    """No further process, thread, file or socket."""
    for what in ("RLIMIT_NPROC", "RLIMIT_NOFILE"):
        number = getattr(resource, what, None)
        if number is not None:
            resource.setrlimit(number, (0, 0))


def _leave() -> None:
    """Leave the network and the files of the machine."""
    spaces = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWNET
    if os.geteuid() != 0:
        spaces |= _CLONE_NEWUSER
    _done(_libc().unshare(spaces), "unshare")
    folder = next(each for each in _EMPTY if Path(each).is_dir())
    mount = _libc().mount
    _done(mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount")
    flags = _MS_RDONLY | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    options = b"size=4k,mode=0555"
    _done(mount(b"none", folder.encode(), b"tmpfs", flags, options), "mount")
    os.chroot(folder)
    os.chdir("/")


def _change_user() -> None:
    """Become a user of its own."""
    if os.geteuid() != 0:
        raise Refused("only root can change its user")
    id = _FIRST_USER + os.getpid()
    os.setgroups([])
    os.setresgid(id, id, id)
    os.setresuid(id, id, id)


def _drop_privileges() -> None:
    """Nothing that this process does can give it a right, and none can read its memory."""
    if sys.platform != "linux":
        raise Refused("there is none on this system")
    libc = _libc()
    for each in range(_LAST_CAPABILITY + 1):
        # Only a process with all rights may do so, and only it has to.
        libc.prctl(_PR_CAPBSET_DROP, each, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _done(libc.capset(header, nothing), "capset")
    _done(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _done(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")


def _overwrite() -> None:
    """Let memory be overwritten when it is freed; the library leaves out small pieces."""
    if _libc().mallopt(_M_PERTURB, _FILLER) != 1:
        raise Refused("the library refuses it")


def _die_with(parent: int) -> None:
    _done(_libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != parent:
        os._exit(0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _done(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _addresses() -> int:
    """The bytes of addresses that this process has; 0 where that is not said."""
    return _ADDRESSES


def _read_addresses() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * resource.getpagesize()


_ADDRESSES = _read_addresses()
"""When this module is imported, since there are no files later."""
