"""Installs what VoxFleet needs into a virtual environment; start_all.sh and the Dockerfile run it.

    python3 scripts/install_packages.py --venv .venv [--extras test] [--device cpu|cuda]

Packages come from the lock files: a file whose sum is not in them is refused. PyTorch has builds of very
different size. One for CPUs is some 200 MB, one with CUDA 3 GB, and the package index has only the latter for
Linux. So:

* pip is asked what it would take, by its own settings. Where that fits this machine, it is taken.
* Without a GPU, PyTorch's own index of CPU builds is next, if it answers within seconds.
* With a GPU whose driver is too old for that build, uv finds the one for it.
* Otherwise what pip offers is taken, and how large it is stands on the terminal.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
ANSWER_SECONDS = 5
CUDA_NAMES = ("nvidia-", "cuda-")
GPU_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg")


class InstallError(RuntimeError):
    """What the user should read."""


@dataclass(frozen=True)
class Build:
    """A build of PyTorch: where its file lies, what it brings, and the bytes to fetch (None: nobody says)."""

    version: str
    url: str
    cuda: str | None
    download_bytes: int | None

    def __str__(self) -> str:
        kind = f"with CUDA {self.cuda}" if self.cuda else "for CPUs"
        place = urllib.parse.urlsplit(self.url).hostname or "this machine"
        size = "an unknown amount" if self.download_bytes is None else megabytes(self.download_bytes)
        return f"PyTorch {self.version} {kind}, from {place}: {size} to download"


class Installer:
    """pip of one virtual environment."""

    def __init__(self, venv: Path, cpu_index: str) -> None:
        self.python = str(venv / "bin/python")
        self.cpu_index = cpu_index.rstrip("/")

    def pip(self, *arguments: str) -> None:
        """Runs `pip install`. Raises InstallError."""
        command = [self.python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
        if subprocess.run([*command, *arguments], cwd=ROOT, check=False).returncode:
            raise InstallError("the packages could not be installed; pip says why above.")

    def locked(self, *names: str) -> None:
        """Installs lock files as they are."""
        files = [word for name in names for word in ("-r", str(LOCKS / name))]
        self.pip("--quiet", "--no-deps", "--require-hashes", *files)

    def torch_version(self) -> str | None:
        """What is installed already."""
        code = "from importlib.metadata import version; print(version('torch'))"
        result = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=False)
        return result.stdout.strip() if result.returncode == 0 else None

    def offer(self, *arguments: str) -> Build | None:
        """The build that pip would take; None where it finds none."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            command = [self.python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
            command += ["--dry-run", "--ignore-installed", "--quiet", "--report", str(report), *arguments]
            if subprocess.run([*command, locked_torch()], capture_output=True, check=False).returncode:
                return None
            items = json.loads(report.read_text(encoding="utf-8"))["install"]
        found = {item["metadata"]["name"].lower().replace("_", "-"): item for item in items}
        cuda = next((found[name] for name in found if name.startswith("nvidia-cuda-runtime")), None)
        has_cuda = any(name.startswith(CUDA_NAMES) for name in found)
        urls = [item["download_info"]["url"] for item in found.values()]
        torch = found["torch"]
        return Build(
            torch["metadata"]["version"],
            torch["download_info"]["url"],
            (cuda["metadata"]["version"] if cuda else "of some version") if has_cuda else None,
            total_bytes(urls),
        )

    def install_torch(self, device: str) -> None:
        """Chooses a build of PyTorch, says which, and installs it. Raises InstallError."""
        if (self.torch_version() or "").partition("+")[0] == locked_torch().partition("==")[2]:
            return
        say("Looking for the build of PyTorch for this machine")
        build = self.choose(device)
        if build is None:
            raise InstallError(
                "PyTorch could not be installed: no package index has a build for this machine."
            )
        say(str(build))
        if device == "cuda" and build.cuda and not driver_serves(build.cuda):
            if answers(self.cpu_index):
                return self.install_torch_for_old_driver()
            say(f"The driver is too old for CUDA {build.cuda}; PyTorch will not use the GPU")
        sums = " ".join(re.findall(r"--hash=\S+", (LOCKS / "torch.txt").read_text(encoding="utf-8")))
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(f"torch @ {build.url} {sums}\n")
            file.flush()
            self.pip("--no-deps", "--require-hashes", "-r", file.name)
        if build.cuda:
            self.locked("cuda.txt")

    def choose(self, device: str) -> Build | None:
        """The build for a device, "cpu" or "cuda"."""
        offered = self.offer()
        if device == "cuda" or (offered is not None and offered.cuda is None):
            return offered
        if answers(self.cpu_index):
            build = self.offer("--no-deps", "--index-url", self.cpu_index)
            if build is not None:
                return build
        say(f"PyTorch's own CPU builds are out of reach ({ANSWER_SECONDS} s): the package index has to do")
        return offered

    def install_torch_for_old_driver(self) -> None:
        """Leaves the choice to uv, which knows what each driver serves."""
        self.locked("uv.txt")
        say("The driver is older than that build: uv takes the one for it")
        command = [self.python, "-m", "uv", "pip", "install", "--python", self.python, "--torch-backend=auto"]
        if subprocess.run([*command, locked_torch()], cwd=ROOT, check=False).returncode:
            raise InstallError("PyTorch could not be installed; uv says why above.")


def locked_torch() -> str:
    """`torch==VERSION`."""
    lock = (LOCKS / "torch.txt").read_text(encoding="utf-8")
    return re.findall(r"^torch==[^\s\\]+", lock, re.MULTILINE)[0]


def has_gpu() -> bool:
    """Whether there is an NVIDIA driver."""
    return any(Path(file).exists() for file in GPU_FILES)


def driver_serves(cuda: str) -> bool:
    """Whether the driver is new enough for a runtime version like "13.0.96"; yes where nobody says."""
    try:
        result = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return True
    known = re.search(r"CUDA Version: (\d+)", result.stdout)
    wanted = re.match(r"\d+", cuda)
    return known is None or wanted is None or int(known[1]) >= int(wanted[0])


def answers(index: str) -> bool:
    """Whether a package index can be reached within seconds."""
    try:
        with urllib.request.urlopen(f"{index}/torch/", timeout=ANSWER_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def total_bytes(urls: list[str]) -> int | None:
    """What files at these addresses are together, without those on this machine; None if one is silent."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(size_of, urls))
    return None if None in sizes else sum(size or 0 for size in sizes)


def size_of(url: str) -> int | None:
    if url.startswith("file:"):
        return 0
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, method="HEAD"), timeout=ANSWER_SECONDS
        ) as answer:
            return int(answer.headers["Content-Length"])
    except (OSError, TypeError, ValueError):
        return None


def megabytes(size: int) -> str:
    return "nothing" if size == 0 else f"{max(1, round(size / 1e6)):,} MB"


def say(text: str) -> None:
    print(f"==> {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--extras", default="", help="with commas between them")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--packages-only", action="store_true", help="leave VoxFleet itself out")
    arguments = parser.parse_args()
    extras = {name for name in arguments.extras.replace(",", " ").split() if name}
    device = arguments.device if arguments.device != "auto" else ("cuda" if has_gpu() else "cpu")
    installer = Installer(arguments.venv, os.environ.get("VOXFLEET_TORCH_INDEX") or CPU_INDEX)
    try:
        installer.install_torch(device)
        say("Installing the other packages")
        installer.locked("test.txt" if "test" in extras else "base.txt")
        for extra in ("align", "denoise", "otel", "ray"):
            if extra in extras:
                installer.locked(f"{extra}.txt")
        if not arguments.packages_only:
            installer.pip("--quiet", "--no-deps", "--no-build-isolation", "-e", ".")
        if "flash" in extras:  # built on the machine, for its PyTorch: no file to lock
            installer.pip("--no-build-isolation", "-c", "constraints.txt", "-e", ".[flash]")
        if "watermark" in extras:  # its one version and the sum of its weights are in the code
            installer.pip("-c", "constraints.txt", "-e", ".[watermark]")
    except InstallError as error:
        print(f"start_all.sh: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
