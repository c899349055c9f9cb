#!/usr/bin/env python3
"""Writes the lock files: every package that start_all.sh installs, with version and hashes of its files.

    python scripts/lock.py            needs uv (pip install uv); see docs/dependencies.md

    locks/base.txt    what VoxFleet needs, for Linux and macOS, x86_64 and aarch64
    locks/test.txt    that and the extra `test`
    locks/align.txt   what the extra `align` adds to the first
    locks/torch.txt   PyTorch: the package index's builds, and the CPU builds of PyTorch's own index
    locks/cuda.txt    the CUDA libraries of the package index's build
    locks/uv.txt      uv, which finds the build of PyTorch for an old driver

Versions of direct dependencies come from constraints.txt, the others stay as they are locked where they still
fit. Hashes of CPU builds come from PyTorch's index; where that cannot be reached, those of the same version
are kept.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"
CPU_INDEX = "https://download.pytorch.org/whl/cpu/torch/"
INDEX_SECONDS = 10
CUDA_NAMES = ("nvidia-", "cuda-", "triton")
HEAD = "# Made by scripts/lock.py; docs/dependencies.md says when. Do not edit.\n"


def compile_lock(*source: str) -> dict[str, str]:
    """Package name -> its lines, as uv resolves `source` for every platform."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "lock.txt"
        files = (LOCKS / name for name in ("test.txt", "align.txt", "cuda.txt"))
        known = [file.read_text() for file in files if file.exists()]
        output.write_text("".join(known))  # uv keeps these versions where they fit
        command = [
            *("uv", "pip", "compile", "--universal", "--generate-hashes", "--python-version", "3.11"),
            *("--no-header", "--no-annotate", "--quiet", "-c", "constraints.txt", *source, "-o", str(output)),
        ]
        subprocess.run(command, cwd=ROOT, input="uv\n", text=True, check=True)
        return blocks(output.read_text(encoding="utf-8"))


def blocks(text: str) -> dict[str, str]:
    """The lines of each package of a lock file; several where it has versions for different platforms."""
    found: dict[str, str] = {}
    for block in re.findall(r"^[a-z0-9].*\n(?:^    .*\n)*", text, re.MULTILINE):
        name = re.split(r"[=\s]", block, maxsplit=1)[0]
        found[name] = found.get(name, "") + block
    return found


def hashes(block: str) -> set[str]:
    """The sha256 sums in a block."""
    return set(re.findall(r"sha256:([0-9a-f]{64})", block))


def cpu_hashes(version: str, locked: str) -> set[str]:
    """Sums of PyTorch's CPU wheels of `version`; those in `locked` where its index is silent."""
    try:
        with urllib.request.urlopen(CPU_INDEX, timeout=INDEX_SECONDS) as answer:
            page = answer.read().decode()
    except (urllib.error.URLError, TimeoutError) as error:
        print(f"PyTorch's index: {error}; its hashes of {version} are kept", file=sys.stderr)
        return hashes(locked) if f"torch=={version}" in locked else set()
    wheel = rf"torch-{re.escape(version)}(?:%2B|\+)cpu-[^\"#]*linux[^\"#]*\.whl#sha256=([0-9a-f]{{64}})"
    return set(re.findall(wheel, page))


def torch_block(block: str) -> str:
    """The block of PyTorch with the hashes of its CPU builds added."""
    version = block.split()[0].removeprefix("torch==")
    file = LOCKS / "torch.txt"
    sums = sorted(hashes(block) | cpu_hashes(version, file.read_text() if file.exists() else ""))
    return f"torch=={version} \\\n" + " \\\n".join(f"    --hash=sha256:{value}" for value in sums) + "\n"


def write(name: str, found: list[str]) -> None:
    (LOCKS / name).write_text(HEAD + "".join(found), encoding="utf-8")


def main() -> None:
    LOCKS.mkdir(exist_ok=True)
    everything, base = compile_lock("pyproject.toml", "--extra", "test"), compile_lock("pyproject.toml")
    align = compile_lock("pyproject.toml", "--extra", "align")
    cuda = {name: block for name, block in base.items() if name.startswith(CUDA_NAMES)}
    apart = {*cuda, "torch"} - {"triton"}
    write("uv.txt", list(compile_lock("-").values()))
    write("torch.txt", [torch_block(base["torch"])])
    write("cuda.txt", list(cuda.values()))
    write("align.txt", [block for name, block in align.items() if name not in base])
    write("base.txt", [block for name, block in base.items() if name not in {*apart, "triton"}])
    write("test.txt", [block for name, block in everything.items() if name not in apart])


if __name__ == "__main__":
    main()
