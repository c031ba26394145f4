"""Commands as processes that need not be loaded: forks of one that has loaded every command.

Each is a process like any other, with its own streams, folder, environment, signals and exit code;
what loading is about (its time, the modules, the encoding of the streams) is tested on processes
that are started. Programs of tests are such processes too: they load what is theirs alone.
"""

from __future__ import annotations

import array
import atexit
import faulthandler
import gc
import importlib.util
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from tenuto import cli
from tenuto.cli.program import program

_ROOT: Final = str(Path(__file__).parents[2])
_NOT_GIVEN: Final = -1
_LONGEST: Final = 1 << 20
_LOADED: Final = (
    *("tenuto.app", "tenuto.client", "tenuto.store.postgres", "tenuto.store.sqlite"),
    *("tenuto.cli.local_run", "tenuto.cli.service", "tenuto.cli.worker", "rich.console"),
)


class ForkedCommand(subprocess.Popen[str]):
    """`python -m tenuto …`, as `subprocess.Popen` has it; its parent is another process.

    `module`: another program, one of the tests.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        module: str = "tenuto",
        **options: Any,  # noqa: ANN401
    ) -> None:
        self._module = module
        self._ends: socket.socket
        super().__init__(arguments, **options)

    def _execute_child(self, args: Any, *rest: Any) -> None:  # noqa: ANN401 - of `subprocess`
        cwd, env, pipes = rest[4], rest[5], rest[9:15]
        child_stdin, _, _, child_stdout, _, child_stderr = pipes
        # What it was not given is that of this process.
        streams = [
            number if each == _NOT_GIVEN else each
            for number, each in enumerate((child_stdin, child_stdout, child_stderr))
        ]
        self._ends, told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        request = json.dumps([self._module, list(args), os.fspath(cwd), dict(env)]).encode()
        fds = array.array("i", [*streams, told.fileno()])
        with told:
            _forker().sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self.pid = int(self._ends.recv(64))
        self._child_created = True

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        if self.returncode is None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._ends, selectors.EVENT_READ)
                if selector.select(timeout=0):
                    self._ended()
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            self._ends.settimeout(timeout)
            try:
                self._ended()
            except TimeoutError as error:
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from error
        return self.returncode

    def _ended(self) -> None:
        self.returncode = os.waitstatus_to_exitcode(int(self._ends.recv(64)))
        self._ends.close()


def run(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; what it printed, and how it ended."""
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    variables = os.environ if env is None else env
    options: dict[str, Any] = {
        "cwd": cwd,
        "env": variables,
        "text": True,
        "stdin": subprocess.DEVNULL,
        **pipes,
    }
    with ForkedCommand(arguments, **options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


@cache
def _forker() -> socket.socket:
    """The connection to the process that forks: one for each test worker, and it ends with it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        its.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _LONGEST)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LONGEST)
        os.set_inheritable(its.fileno(), True)
        command = [sys.executable, "-m", __name__, str(its.fileno())]
        forker = subprocess.Popen(command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)

    def end() -> None:
        ours.close()
        forker.wait()

    atexit.register(end)
    return ours


def _serve(requests: socket.socket) -> None:
    """Fork for each request, until nobody can send one any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        data, fds, _, _ = socket.recv_fds(requests, _LONGEST, 4)
        if not data:
            return
        if os.fork() == 0:
            requests.close()
            os._exit(_watch(json.loads(data), fds))
        for each in fds:
            os.close(each)


def _watch(request: tuple[str, list[str], str, dict[str, str]], fds: list[int]) -> int:
    """Be the parent of the command: its pid is sent, and then how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, told = fds
    pid = os.fork()
    if pid == 0:
        os.close(told)
        os._exit(_command(*request, streams))
    for each in streams:
        os.close(each)
    with socket.socket(fileno=told) as sender:
        sender.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        sender.send(str(status).encode())
    return 0


def _command(
    module: str, words: list[str], folder: str, environment: dict[str, str], streams: list[int]
) -> int:
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if "PYTHONFAULTHANDLER" in environment:
        faulthandler.enable(2)
    sys.argv = [module, *words]
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    try:
        if module == "tenuto":
            cli.main()
        else:
            sys.path.insert(0, _ROOT)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as an interpreter shows it
        traceback.print_exc()
        code = 1
    else:
        code = 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        code = 120
    return code


def _load() -> None:
    """Have everything that commands need, and nothing of the tests."""
    program()
    for each in _LOADED:
        importlib.import_module(each)
    main = types.ModuleType("__main__")
    main.__spec__ = importlib.util.find_spec("tenuto.__main__")
    for name in [each for each in sys.modules if each.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.modules["__main__"] = main
    del sys.path[0]
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _load()
    _serve(socket.socket(fileno=int(sys.argv[1])))
