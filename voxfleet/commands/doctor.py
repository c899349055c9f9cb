"""`voxfleet doctor`: what this machine has and what it lacks, and what to do about it.

A check is a function that returns a `Finding`. FAIL means that VoxFleet cannot speak here; WARN means that
something optional, or only needed by the tests, is not there.
"""

from __future__ import annotations

import asyncio
import importlib
import platform
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile, gettempdir

from rich.table import Table
from rich.text import Text

from engine.cpu.cpus import available_cpus, thread_limit
from engine.errors import NO_CUDA
from gateway.settings import GatewaySettings
from voxfleet.model_source import ModelMissingError, bundled_directory, check_model
from voxfleet.processes import ports
from voxfleet.settings import ServeSettings

MINIMUM_PYTHON = (3, 11)
PACKAGES = (
    "fastapi",
    "uvicorn",
    "websockets",
    "httpx",
    "numpy",
    "safetensors",
    "tokenizers",
    "xxhash",
    "soundfile",
    "soxr",
)
ENCODERS = ("libmp3lame", "libopus", "aac", "flac")
FRONTEND_PAGES = ("index.html", "admin.html")


class Verdict(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    subject: str
    verdict: Verdict
    detail: str


def check_python() -> Finding:
    version = platform.python_version()
    if sys.version_info < MINIMUM_PYTHON:
        return Finding("Python", Verdict.FAIL, f"{version}; 3.11 or newer is needed")
    return Finding(
        "Python",
        Verdict.OK,
        f"{version} on {platform.system()} {platform.machine()}, {available_cpus()} CPUs",
    )


def check_packages() -> Finding:
    broken = []
    for name in PACKAGES:
        try:
            importlib.import_module(name)
        except (ImportError, OSError) as error:
            broken.append(f"{name} ({error})")
    if broken:
        return Finding("Packages", Verdict.FAIL, f"{', '.join(broken)}; run ./start_all.sh --install-only")
    return Finding("Packages", Verdict.OK, f"all {len(PACKAGES)} load")


def check_torch() -> Finding:
    try:
        import torch
    except (ImportError, OSError) as error:
        return Finding("PyTorch", Verdict.FAIL, f"{error}; run ./start_all.sh --install-only")
    built_for = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    return Finding(
        "PyTorch", Verdict.OK, f"{torch.__version__}, {built_for}, {thread_limit()} threads for one worker"
    )


def check_device(wanted: str) -> Finding:
    """`wanted`: the setting `device` of `voxfleet serve`."""
    try:
        import torch
    except (ImportError, OSError):
        return Finding("Device", Verdict.FAIL, "unknown without PyTorch")
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        return Finding("Device", Verdict.OK, f"{len(names)} GPU: {', '.join(names)}; one worker each")
    driver = shutil.which("nvidia-smi") is not None
    if wanted == "cuda":
        why = "an NVIDIA driver is here" if driver else "there is no NVIDIA driver"
        return Finding("Device", Verdict.FAIL, f"`device` is cuda, but {NO_CUDA}; {why}")
    if driver:
        return Finding("Device", Verdict.WARN, "there is an NVIDIA driver, but this PyTorch sees no GPU")
    return Finding("Device", Verdict.OK, "no GPU; one worker on the CPU")


def check_bundled_voice() -> Finding:
    try:
        check_model("bundled")
    except ModelMissingError as error:
        return Finding("Bundled voice", Verdict.FAIL, str(error))
    files = [path for path in bundled_directory().rglob("*") if path.is_file()]
    mebibytes = sum(path.stat().st_size for path in files) / 2**20
    return Finding("Bundled voice", Verdict.OK, f"{len(files)} files, {mebibytes:.1f} MiB")


def check_models(named: Iterable[str]) -> Finding:
    """`named`: the models that `voxfleet serve` would start workers with."""
    try:
        for model in named:
            check_model(model)
    except ModelMissingError as error:
        return Finding("Models", Verdict.FAIL, str(error))
    return Finding("Models", Verdict.OK, ", ".join(named))


def check_pages(directory: Path) -> Finding:
    """`directory`: the gateway's setting `frontend_dir`."""
    missing = [name for name in FRONTEND_PAGES if not (directory / name).is_file()]
    if missing:
        return Finding(
            "Pages", Verdict.WARN, f"{', '.join(missing)} missing in {directory}; the API works without"
        )
    return Finding("Pages", Verdict.OK, str(directory))


def check_encoders() -> Finding:
    try:
        import av.codec
    except (ImportError, OSError) as error:
        return Finding("Encoders", Verdict.FAIL, f"PyAV does not load: {error}")
    missing = [name for name in ENCODERS if name not in av.codec.codecs_available]
    if missing:
        return Finding("Encoders", Verdict.WARN, f"PyAV without {', '.join(missing)}")
    return Finding(
        "Encoders",
        Verdict.OK,
        f"{', '.join(ENCODERS)} inside PyAV {av.__version__}; no ffmpeg program needed",
    )


def check_sandbox() -> Finding:
    from gateway.confined.program import sandbox

    if reason := sandbox.unsupported():
        return Finding("Sandbox", Verdict.WARN, f"uploads are read with limits only: {reason}")
    return Finding("Sandbox", Verdict.OK, "uploads are read where no file or socket can be opened (seccomp)")


def check_aligner(name: str) -> Finding:
    """`name`: the gateway's setting."""
    from gateway.timing.whisper import AlignerMissingError, find_model

    if name == "off":
        return Finding("Word times", Verdict.OK, "estimated: `aligner` is off")
    try:
        return Finding("Word times", Verdict.OK, f"heard by Whisper in {find_model(name)}")
    except AlignerMissingError as error:
        verdict = Verdict.OK if name == "auto" else Verdict.FAIL
        return Finding("Word times", verdict, f"estimated: {error}")


def check_port(settings: ServeSettings) -> Finding:
    try:
        ports.ensure_free(settings.host, settings.port)
        (worker_port,) = ports.hold_free("127.0.0.1", settings.first_worker_port, 1)
    except ports.PortError as error:
        return Finding(
            "Ports", Verdict.WARN, f"{error}; is a server running? `voxfleet serve --port N` takes another"
        )
    worker_port.release()
    return Finding("Ports", Verdict.OK, f"{settings.port} is free, workers start at {worker_port.number}")


def check_disk(data_dir: Path, least_gb: float) -> Finding:
    """Where the gateway keeps what it is given: the folder, or the one that it is made in.

    `least_gb`: its setting `min_free_disk_gb`.
    """
    try:
        folder = next(parent for parent in (data_dir, *data_dir.absolute().parents) if parent.exists())
        with TemporaryFile(dir=folder):
            free_bytes = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("Disk", Verdict.FAIL, f"data_dir {data_dir} cannot be written: {error.strerror}")
    return judge_disk(free_bytes, least_gb, f"in {data_dir.absolute()}")


def judge_disk(free_bytes: int, least_gb: float, where: str) -> Finding:
    """`where`: where so much is free. Warned of as by the alert VoxFleetDiskAlmostFull."""
    room = f"{free_bytes / 2**30:.1f} GiB" if free_bytes >= 2**30 else f"{free_bytes / 2**20:.0f} MiB"
    if free_bytes >= max(2 * least_gb, 1) * 10**9:
        return Finding("Disk", Verdict.OK, f"{room} free {where}")
    if free_bytes >= least_gb * 10**9 and free_bytes > 0:
        return Finding("Disk", Verdict.WARN, f"{room} free {where}: soon nothing more can be kept")
    return Finding("Disk", Verdict.WARN, f"{room} free {where}: nothing is recorded and no voice taken")


def check_database(url: str, data_dir: Path) -> Finding:
    """Where the gateway keeps its rows."""
    from gateway.database.trial import DatabaseError, try_database

    try:
        return Finding("Database", Verdict.OK, asyncio.run(try_database(url, data_dir)))
    except DatabaseError as error:
        return Finding("Database", Verdict.FAIL, f"database_url: {' '.join(str(error).split())}")


def check_temporary_files(largest_upload_bytes: int) -> Finding:
    """Where uploads above a MB stay until they are read."""
    try:
        folder = gettempdir()
        free_bytes = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("Temporary files", Verdict.WARN, f"uploads are refused: {error}")
    if free_bytes >= largest_upload_bytes:
        return Finding("Temporary files", Verdict.OK, f"{free_bytes / 2**30:.1f} GiB free in {folder}")
    room = f"{free_bytes / 2**20:.0f} MiB free in {folder}"
    detail = f"{room}: larger uploads are refused; TMPDIR names another folder"
    return Finding("Temporary files", Verdict.WARN, detail)


def check_test_tools() -> Finding:
    tools = {"flite": "flite", "chromium": "chromium", "node": "nodejs"}
    missing = [package for program, package in tools.items() if shutil.which(program) is None]
    if missing:
        return Finding(
            "Test tools", Verdict.WARN, f"apt-get install {' '.join(missing)} (only for ./run_tests.sh)"
        )
    return Finding("Test tools", Verdict.OK, ", ".join(tools))


def examine(
    settings: ServeSettings, gateway: GatewaySettings, worker_model: str = "bundled"
) -> Iterable[Finding]:
    """All findings, one by one as they are made (loading PyTorch takes some seconds).

    `worker_model`: what workers speak where `settings` name nothing.
    """
    models = [settings.model or worker_model, *filter(None, [settings.text_model])]
    checks: tuple[Callable[[], Finding], ...] = (
        check_python,
        check_packages,
        check_torch,
        lambda: check_device(settings.device),
        check_bundled_voice,
        lambda: check_models(models),
        lambda: check_pages(gateway.frontend_dir),
        check_encoders,
        check_sandbox,
        lambda: check_aligner(gateway.aligner),
        lambda: check_port(settings),
        lambda: check_disk(gateway.data_dir, gateway.min_free_disk_gb),
        lambda: check_database(gateway.database, gateway.data_dir),
        lambda: check_temporary_files(gateway.max_adapter_bytes),
        check_test_tools,
    )
    for check in checks:
        yield check()


def render(findings: Iterable[Finding]) -> Table:
    """A table for the terminal."""
    styles = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "bold red"}
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    for finding in findings:
        verdict = Text(finding.verdict, styles[finding.verdict])
        table.add_row(verdict, Text(finding.subject), Text(finding.detail))
    return table
