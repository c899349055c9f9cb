"""Takes from this process all that a reader does not need, for good: files, sockets, processes, memory.

    if sandbox.unsupported() is None:
        sandbox.enter()

On Linux the kernel answers EPERM to every system call outside a short list (seccomp): what is left is
reading standard input, writing standard output, and memory that cannot be executed. Elsewhere there are
limits alone, which `set_limits` sets everywhere. Standard library only, through ctypes: the packages that
wrap seccomp need a C library that not every machine has.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import resource
import struct
import sys
from typing import NamedTuple

ADDRESS_SPACE_BYTES = 512 << 20
NOT_CONFINED = 77
"""Exit status of a process that `enter` failed in; it has read nothing."""
_STANDARD_FILES = 3


class _Architecture(NamedTuple):
    """The numbers of `linux/audit.h` and of the system calls."""

    audit: int
    seccomp: int
    read: int
    write: int
    mmap: int
    mprotect: int
    free: tuple[int, ...]
    """System calls that are allowed with any arguments: close, fstat, lseek, munmap, mremap, brk, madvise,
    rt_sigaction, rt_sigprocmask, rt_sigreturn, futex, sched_yield, clock_gettime, gettimeofday, getrandom,
    exit, exit_group.
    """


_ARCHITECTURES = {
    "x86_64": _Architecture(
        0xC000003E, 317, 0, 1, 9, 10, (3, 5, 8, 11, 25, 12, 28, 13, 14, 15, 202, 24, 228, 96, 318, 60, 231)
    ),
    "aarch64": _Architecture(
        0xC00000B7, 277, 63, 64, 222, 226,
        (57, 80, 62, 215, 216, 214, 233, 134, 135, 139, 98, 124, 113, 169, 278, 93, 94),
    ),
}  # fmt: skip

_NO_NEW_PRIVILEGES = 38
_SET_FILTER, _IS_ACTION_KNOWN = 1, 2
_ALL_THREADS = 1
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
"""Instructions of classic BPF: load a word; jump if equal, if a bit is set; return."""
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""
_EXECUTABLE = 4
Instruction = tuple[int, int, int, int]


def set_limits(processor_seconds: int) -> None:
    """Bound memory and processor time; no file may grow, none be opened, no process started."""
    for limit, value in (
        (resource.RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (resource.RLIMIT_CPU, processor_seconds),
        (resource.RLIMIT_NOFILE, _STANDARD_FILES),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))


def close_descriptors() -> None:
    """All but standard input, output and errors."""
    os.closerange(_STANDARD_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def unsupported() -> str | None:
    """Why `enter` cannot work on this machine; None when it can. Changes nothing."""
    if sys.platform != "linux":
        return f"{platform.system()} has no seccomp"
    architecture = _architecture()
    if architecture is None:
        return f"no list of system calls for {platform.machine()} with {8 * struct.calcsize('P')} bits"
    action = ctypes.c_uint32(_REFUSE & 0xFFFF0000)
    if _libc().syscall(architecture.seccomp, _IS_ACTION_KNOWN, 0, ctypes.byref(action)):
        return f"this kernel has no seccomp filters ({os.strerror(ctypes.get_errno())})"
    return None


def enter() -> None:
    """Close the door, for the rest of the process's life. Raises OSError when the kernel refuses."""
    libc, architecture = _libc(), _architecture()
    if architecture is None:
        raise OSError(errno.ENOSYS, "no seccomp on this machine")
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    instructions = _program(architecture)
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(instructions), ctypes.addressof(buffer))
    if libc.syscall(architecture.seccomp, _SET_FILTER, _ALL_THREADS, program):
        raise OSError(ctypes.get_errno(), "the seccomp filter was refused")


def _program(architecture: _Architecture) -> list[Instruction]:
    """Allow what is on the list; kill a caller that poses as another architecture; refuse the rest."""
    return [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        *(line for number in architecture.free for line in _allow(number)),
        *_allow_when(architecture.read, argument=0, test=(_EQUAL, 0, 1, 0)),
        *_allow_when(architecture.write, argument=0, test=(_EQUAL, 0, 1, 1)),
        *_allow_when(architecture.mmap, argument=2, test=(_ANY_BIT, 1, 0, _EXECUTABLE)),
        *_allow_when(architecture.mprotect, argument=2, test=(_ANY_BIT, 1, 0, _EXECUTABLE)),
        (_RETURN, 0, 0, _REFUSE),
    ]


def _allow(number: int) -> list[Instruction]:
    return [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]


def _allow_when(number: int, argument: int, test: Instruction) -> list[Instruction]:
    """Allow a call if its argument, of which the low word counts, makes `test` go on; else refuse it."""
    return [
        (_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, _ARGUMENTS + 8 * argument),
        test,
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]


def _architecture() -> _Architecture | None:
    return _ARCHITECTURES.get(platform.machine()) if struct.calcsize("P") == 8 else None


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc
