"""What an attacker who has taken over a process of the sandbox would try.

`python -c "…; main()" USER WANTED IN OUT` confines itself as a process of the sandbox does,
tries all of it, and sends what happened as JSON.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from tenuto.sandbox.confinement import FILTER, NO_FILES, Limits, confine
from tenuto.sandbox.messages import LENGTH, Confinement


def main() -> None:
    """Be confined and try everything."""
    wanted, reading, writing = sys.argv[-3], int(sys.argv[-2]), int(sys.argv[-1])
    confinement = msgspec.json.decode(wanted, type=Confinement)
    # Looked up before, since files are gone later.
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    if sys.argv[-4] != "-" and os.geteuid() == 0:
        user = int(sys.argv[-4])
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    got, missing = confine(confinement, reading, writing)
    niceness = os.nice(0) if not confinement.filter else None
    Limits(confinement.memory).begin(5.0, 32 << 20, 0)

    def call(name: str, *given: object) -> None:
        if getattr(libc, name)(*given) == -1:
            raise OSError(ctypes.get_errno(), name)

    probes: dict[str, Callable[[], object]] = {
        "read a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "list a folder": lambda: list(Path("/etc").iterdir()),
        "write a file": lambda: os.open("/tmp/x", os.O_WRONLY | os.O_CREAT),
        "read the memory of the parent": lambda: os.open(f"/proc/{parent}/mem", os.O_RDONLY),
        "read the environment of the parent": lambda: os.open(
            f"/proc/{parent}/environ", os.O_RDONLY
        ),
        "open a socket": lambda: socket.socket(socket.AF_INET),
        "open a local socket": lambda: socket.socket(socket.AF_UNIX),
        "fork": os.fork,
        "signal the parent": lambda: os.kill(parent, signal.SIGTERM),
        "trace the parent": lambda: call("ptrace", 16, parent, None, None),
        "get a gigabyte": lambda: mmap.mmap(-1, 1 << 30),
        "raise the limits": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
        "become root": lambda: call("setuid", 0) if os.getuid() else _refuse(),
        "make a pipe": os.pipe,
        "mount": lambda: call("mount", b"none", b"/", b"tmpfs", 0, None),
    }
    if {FILTER, NO_FILES} & set(got):
        # Else a program can be begun: without files it does not even find its libraries.
        probes["run a program"] = lambda: os.execv("/bin/sh", ["sh", "-c", "exit 0"])
    happened = {name: _tried(probe) for name, probe in probes.items()}
    said = json.dumps(
        {
            "environment": dict(os.environ),
            "got": got,
            "missing": missing,
            "happened": happened,
            "user": os.getuid(),
            "niceness": niceness,
        }
    ).encode()
    os.write(writing, LENGTH.pack(len(said)) + said)
    os._exit(0)


def _refuse() -> None:
    raise OSError(errno.EPERM, "it is root, with no rights")


def _tried(probe: Callable[[], object]) -> str:
    try:
        done = probe()
    except (OSError, ValueError, MemoryError) as error:
        return f"refused: {type(error).__name__}"
    if done == 0:
        # The child of a fork.
        os._exit(0)
    return "done"
