"""Ends a test server when the process in charge of it is gone, however that went.

That process holds a lock, which the kernel frees with it. Whoever ends a server in good order
removes its folder before it lets go, and then there is nothing left to do here.

python postgres_keeper.py LOCK FOLDER
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path


def main(lock: Path, folder: Path) -> None:
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    with suppress(OSError, ValueError, IndexError):
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
