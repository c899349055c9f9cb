#!/usr/bin/env python3
"""Writes the lock files: every package that start_all.sh installs, with version and hashes of its files.

    python scripts/lock.py            needs uv (pip install uv); see docs/dependencies.md

    locks/base.txt    what VoxFleet needs, for Linux and macOS, x86_64 and aarch64
    locks/test.txt    that and the extra `test`
    locks/align.txt   what the extra `align` adds to the first; locks/denoise.txt, locks/otel.txt and
                      locks/ray.txt the same of those
    locks/torch.txt   PyTorch: the package index's builds, and the CPU builds of PyTorch's own index
    locks/cuda.txt    the CUDA libraries of the package index's build
    locks/uv.txt      uv, which finds the build of PyTorch for an old driver
    tests/clients/lock.txt   the clients of other services that the tests try, in an environment of their own
    tests/engine/oldest/lock.txt   the oldest Triton that kernels are compiled with in tests

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
CLIENTS, OLDEST = ROOT / "tests" / "clients", ROOT / "tests" / "engine" / "oldest"
LOCKED_EXTRAS = ("align", "denoise", "otel", "ray")
PRODUCT = ("-c", "constraints.txt", "pyproject.toml")
PRODUCT_LOCKS = tuple(LOCKS / f"{name}.txt" for name in ("test", *LOCKED_EXTRAS, "cuda"))
HEAD = "# Made by scripts/lock.py; docs/dependencies.md says when. Do not edit.\n"


def compile_lock(*source: str, known: tuple[Path, ...] = PRODUCT_LOCKS) -> dict[str, str]:
    """Package name -> its lines, as uv resolves `source` for every platform; versions in `known` stay."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "lock.txt"
        output.write_text("".join(file.read_text() for file in known if file.exists()))
        command = [
            *("uv", "pip", "compile", "--universal", "--generate-hashes", "--python-version", "3.11"),
            *("--no-header", "--no-annotate", "--quiet", *source, "-o", str(output)),
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


def write(file: Path, found: list[str]) -> None:
    file.write_text(HEAD + "".join(found), encoding="utf-8")


def main() -> None:
    LOCKS.mkdir(exist_ok=True)
    everything, base = compile_lock(*PRODUCT, "--extra", "test"), compile_lock(*PRODUCT)
    extras = {name: compile_lock(*PRODUCT, "--extra", name) for name in LOCKED_EXTRAS}
    cuda = {name: block for name, block in base.items() if name.startswith(CUDA_NAMES)}
    apart = {*cuda, "torch"} - {"triton"}
    write(LOCKS / "uv.txt", list(compile_lock("-c", "constraints.txt", "-").values()))
    for folder in (CLIENTS, OLDEST):
        found = compile_lock(str(folder / "requirements.txt"), known=(folder / "lock.txt",))
        write(folder / "lock.txt", list(found.values()))
    write(LOCKS / "torch.txt", [torch_block(base["torch"])])
    write(LOCKS / "cuda.txt", list(cuda.values()))
    for extra, packages in extras.items():
        write(LOCKS / f"{extra}.txt", [block for name, block in packages.items() if name not in base])
    write(LOCKS / "base.txt", [block for name, block in base.items() if name not in {*apart, "triton"}])
    write(LOCKS / "test.txt", [block for name, block in everything.items() if name not in apart])


if __name__ == "__main__":
    main()
