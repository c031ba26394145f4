"""A filter of system calls: what an engine, an allocator and two pipes need, and nothing else.

Every other call fails with EPERM. Memory never becomes executable, only one descriptor is read and
one is written, and limits are those of this process alone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from typing import Final, NamedTuple

_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_EPERM = 0x00050000 | 1
_PROT_EXEC = 4

_LOAD = 0x20
"""BPF: load a word of the call's data."""
_IF_EQUAL = 0x15
_IF_ANY_BIT = 0x45
_RETURN = 0x06
_NUMBER_AT = 0
_MACHINE_AT = 4
_ARGUMENTS_AT = 16


class _Machine(NamedTuple):
    """What a kind of machine calls itself, and its numbers of system calls."""

    mark: int
    free: dict[str, int]
    """Calls that are always allowed."""
    mapping: tuple[int, ...]
    """Those whose third argument makes memory executable."""
    read: int
    write: int
    own_limits: int


_MACHINES: Final = {
    "x86_64": _Machine(
        mark=0xC000003E,
        free={
            "close": 3,
            "munmap": 11,
            "brk": 12,
            "rt_sigaction": 13,
            "rt_sigprocmask": 14,
            "rt_sigreturn": 15,
            "select": 23,
            "sched_yield": 24,
            "mremap": 25,
            "madvise": 28,
            "nanosleep": 35,
            "getpid": 39,
            "exit": 60,
            "gettimeofday": 96,
            "getrlimit": 97,
            "getrusage": 98,
            "times": 100,
            "getuid": 102,
            "sigaltstack": 131,
            "gettid": 186,
            "time": 201,
            "futex": 202,
            "restart_syscall": 219,
            "clock_gettime": 228,
            "clock_getres": 229,
            "clock_nanosleep": 230,
            "exit_group": 231,
            "pselect6": 270,
            "getrandom": 318,
            "rseq": 334,
        },
        mapping=(9, 10),
        read=0,
        write=1,
        own_limits=302,
    ),
    "aarch64": _Machine(
        mark=0xC00000B7,
        free={
            "close": 57,
            "pselect6": 72,
            "exit": 93,
            "exit_group": 94,
            "futex": 98,
            "nanosleep": 101,
            "clock_gettime": 113,
            "clock_getres": 114,
            "clock_nanosleep": 115,
            "sched_yield": 124,
            "restart_syscall": 128,
            "sigaltstack": 132,
            "rt_sigaction": 134,
            "rt_sigprocmask": 135,
            "rt_sigreturn": 139,
            "times": 153,
            "getrlimit": 163,
            "getrusage": 165,
            "gettimeofday": 169,
            "getpid": 172,
            "getuid": 174,
            "gettid": 178,
            "brk": 214,
            "munmap": 215,
            "mremap": 216,
            "madvise": 233,
            "getrandom": 278,
            "rseq": 293,
        },
        mapping=(222, 226),
        read=63,
        write=64,
        own_limits=261,
    ),
}


_INSTRUCTION = struct.Struct("HBBI")
_PROGRAM = struct.Struct("HP")


def install_filter(reading: int, writing: int) -> None:
    """Allow this process nothing else from now on; OSError where the system has no filters."""
    machine = _MACHINES.get(platform.machine())
    if sys.platform != "linux" or machine is None:
        raise OSError(f"there is none for {sys.platform} on {platform.machine()}")
    steps = _steps(machine, reading, writing)
    instructions = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*each) for each in steps))
    program = _PROGRAM.pack(len(steps), ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl: {os.strerror(number)}")


_Step = tuple[int, int, int, int]


def _steps(machine: _Machine, reading: int, writing: int) -> list[_Step]:
    steps: list[_Step] = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_IF_EQUAL, 1, 0, machine.mark),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for number in machine.free.values():
        steps += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for number in machine.mapping:
        steps += _on(number, (_IF_ANY_BIT, 1, 0, _PROT_EXEC), argument=2)
    steps += _on(machine.read, (_IF_EQUAL, 0, 1, reading), argument=0)
    steps += _on(machine.write, (_IF_EQUAL, 0, 1, writing), argument=0)
    steps += _on(machine.own_limits, (_IF_EQUAL, 0, 1, 0), argument=0)
    return [*steps, (_RETURN, 0, 0, _EPERM)]


def _on(number: int, test: _Step, *, argument: int) -> list[_Step]:
    """Of this call only what passes a test of an argument, which skips one step if it does not."""
    return [
        (_IF_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument),
        test,
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _EPERM),
    ]
