"""What a decoder of uploads does once somebody else's code runs in it: it tries to get out.

    python -I taken_over_decoder.py PROGRAM_FOLDER READER_FOLDER confined|limits|free

Runs the program of that folder as it is, but for the reader's `read`, which tries every escape and prints
what came of each, as JSON: the name of an error, or "done".
"""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import mmap
import os
import signal
import socket
import sys
from collections.abc import Callable

PARENT, GROUP = os.getppid(), os.getpgrp()
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
ATTACH_WITHOUT_STOP = 0x4206
MEMORY = ctypes.create_string_buffer(8)
PIECE = (ctypes.c_size_t * 2)(ctypes.addressof(MEMORY), 8)


def call(name: str, *arguments: object) -> None:
    if getattr(LIBC, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), name)


def system_call(x86_64: int, aarch64: int, *arguments: object) -> None:
    whole_words = (ctypes.c_long(item) if isinstance(item, int) else item for item in arguments)
    call("syscall", ctypes.c_long(x86_64 if X86 else aarch64), *whole_words)


def start_a_child() -> None:
    if os.fork() == 0:
        os._exit(0)


def executable_memory() -> None:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def make_memory_executable() -> None:
    page = mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    call("mprotect", ctypes.c_void_p(address), 4096, mmap.PROT_READ | mmap.PROT_EXEC)


ESCAPES: dict[str, Callable[[], object]] = {
    "read a file": lambda: os.open("/etc/passwd", os.O_RDONLY),
    "write a file": lambda: os.open("/tmp/voxfleet-escaped", os.O_CREAT | os.O_WRONLY),
    "look whether a file exists": lambda: os.stat("/etc/passwd"),
    "list a folder": lambda: os.listdir("/"),
    "delete a file": lambda: os.unlink("/tmp/voxfleet-escaped"),
    "read the parent's environment": lambda: os.open(f"/proc/{PARENT}/environ", os.O_RDONLY),
    "open the parent's memory": lambda: os.open(f"/proc/{PARENT}/mem", os.O_RDWR),
    "read the parent's memory": lambda: system_call(310, 270, PARENT, PIECE, 1, PIECE, 1, 0),
    "trace the parent": lambda: call("ptrace", ATTACH_WITHOUT_STOP, PARENT, None, None),
    "kill the parent": lambda: os.kill(PARENT, 0),
    "kill its group": lambda: os.killpg(GROUP, 0),
    "open a socket": lambda: socket.socket(socket.AF_INET),
    "open a local socket": lambda: socket.socket(socket.AF_UNIX),
    "open a pair of sockets": socket.socketpair,
    "open a pipe": os.pipe,
    "open a file in memory": lambda: os.memfd_create("escaped"),
    "start a process": start_a_child,
    "run a program": lambda: os.execv("/does/not/exist", ["x"]),
    "open an io_uring": lambda: system_call(425, 425, 1, ctypes.create_string_buffer(256)),
    "leave its namespaces": lambda: call("unshare", 0),
    "read its output": lambda: os.read(1, 0),
    "write its input": lambda: os.write(0, b""),
    "allocate executable memory": executable_memory,
    "make memory executable": make_memory_executable,
    "take a signal's place": lambda: signal.setitimer(signal.ITIMER_REAL, 0.0),
}


def outcome(escape: Callable[[], object]) -> str:
    try:
        escape()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "done"


def main() -> None:
    folder, reader_folder, how = sys.argv[1:]
    sys.path[:0] = [folder, reader_folder]
    import reader

    spec = importlib.util.spec_from_file_location("confined_program", f"{folder}/__main__.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)

    def read(file: object, *arguments: str) -> tuple[dict[str, object], bytes]:
        return {name: outcome(escape) for name, escape in ESCAPES.items()}, b""

    reader.read = read
    if how == "limits":
        program.sandbox.unsupported = lambda: "tried without"
    elif how == "free":
        program.confine = lambda processor_seconds: None
    sys.exit(program.main(reader_folder, "10"))


if __name__ == "__main__":
    main()
