"""Heaps of threads, counted by glibc itself in a process of its own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from tests.forks import search_path

COUNT = """
import ctypes, os, sys, tempfile, threading
from gateway.heaps import share_heaps

if sys.argv[1] == "shared":
    share_heaps()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.fdopen.restype = ctypes.c_void_p, ctypes.c_void_p
libc.malloc_info.argtypes, libc.fclose.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
all_there = threading.Barrier(9)

def use() -> None:
    libc.malloc(1000)
    all_there.wait()

for _ in range(8):
    threading.Thread(target=use).start()
all_there.wait()
with tempfile.TemporaryFile() as told:
    file = libc.fdopen(os.dup(told.fileno()), b"w")
    libc.malloc_info(0, file)
    libc.fclose(file)
    told.seek(0)
    print(told.read().count(b"<heap nr="))
"""


def heaps(mode: str, **environment: str) -> int:
    variables = {key: value for key, value in os.environ.items() if key != "MALLOC_ARENA_MAX"}
    variables |= {"PYTHONPATH": search_path(), **environment}
    return int(subprocess.check_output([sys.executable, "-c", COUNT, mode], env=variables, text=True))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such heaps")
def test_threads_share_two_heaps_unless_the_environment_says_otherwise() -> None:
    assert heaps("own") > 2
    assert heaps("shared") == 2
    assert heaps("shared", MALLOC_ARENA_MAX="4") == 4
