"""Imports run one way: gateway -> worker.protocol, worker -> models -> engine. Of the models the gateway has
the ends of sentences and the taking out of noise.

Gateway and worker write to sockets through `sockets`, and tell `telemetry` what they do. Inside the gateway
each room imports only rooms that stand before it, and no modules of a package import each other in a circle.

Only voxfleet, which starts everything, may know them all.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("engine", "models", "sockets", "telemetry", "worker", "gateway", "voxfleet")

ALLOWED = {
    "engine": {"engine"},
    "models": {"models", "engine"},
    "sockets": {"sockets"},
    "telemetry": {"telemetry"},
    "worker": {"worker", "models", "engine", "sockets", "telemetry"},
    "gateway": {
        *("gateway", "worker.protocol", "models.sentences", "models.denoising", "sockets", "telemetry"),
    },
    "voxfleet": set(PACKAGES),
}
GATEWAY_ROOMS = (
    *(
        "log",
        "bounds",
        "errors",
        "bodies",
        "slots",
        "settings",
        "files",
        "finishing",
        "yielding",
        "heaps",
        "confined",
        "metrics",
        "edge",
        "audio",
        "text",
        "timing",
        "site",
    ),
    *(
        "requests",
        "workers",
        "database",
        "callers",
        "streams",
        "lexicons",
        "voices",
        "adapters",
        "sessions",
        "operations",
    ),
    *(
        "tending",
        "service",
        "synthesis",
        "answers",
        "jobs",
        "training",
        "documents",
        "books",
        "live",
        "api",
        "protocols",
        "description",
        "app",
        "cli",
    ),
)
ROOMS = {
    "gateway": GATEWAY_ROOMS,
    "gateway/slots": (
        *("requirement", "capacity", "line", "open_tickets", "leases", "demand", "grace", "admission"),
        *("dispatch", "reports", "pool"),
    ),
    "gateway/api": (
        *("failures", "permissions", "transfer", "pages"),
        *("speech", "voices", "long_texts", "sessions", "operations"),
    ),
    "gateway/live": ("messages", "session", "speech", "hosted"),
    "gateway/sessions": (
        *("search", "file_names", "storage", "index", "recording", "listing", "archive", "words"),
        *("cleanup", "upkeep", "recorder", "witness"),
    ),
    "gateway/operations": (
        *("stored", "eta_settings", "pages", "page_gate", "overview", "restart", "sayings", "event_log"),
        *("worker_journal", "overload", "measurements", "fleet_messages", "fleet", "operations"),
    ),
}
"""Subfolders and single files of a folder; each imports only what stands before it here."""
MAY_NOT_IMPORT = {
    "gateway": {"torch", "transformers", "safetensors"},
    "engine/sequence.py": {"torch"},
    "engine/kv_cache/block_manager.py": {"torch"},
    "engine/kv_cache/blocks.py": {"torch"},
    "engine/scheduling": {"torch"},
    "engine/llm_engine.py": {"torch"},
    "engine/loop.py": {"torch"},
    "engine/errors.py": {"torch"},
    "models/speech.py": {"torch", "models.voxcpm"},
    "models/sentences.py": {"torch", "numpy", "models", "engine"},
    "models/denoising.py": {"torch", "models", "engine"},
    "worker/protocol": {"torch", "numpy", "engine", "models", "fastapi"},
}
LIGHT_IMPORTS = {
    "gateway.app": ("torch", "engine", "models.speech", "models.voxcpm", "opentelemetry.sdk"),
    "worker.protocol": ("torch", "engine", "models", "numpy", "fastapi"),
    "voxfleet.cli": ("torch", "engine", "models", "gateway", "worker", "fastapi"),
    "telemetry": ("torch", "numpy", "fastapi", "prometheus_client", "opentelemetry"),
    "engine.scheduling.scheduler": ("torch", "models"),
    "models.speech": ("torch",),
    "gateway.text": ("torch", "numpy", "fastapi", "wetext", "kaldifst"),
}


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything a file imports; `from a import b` counts as `a.b` where that is a
    module.
    """
    package = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}" if is_module(module, alias.name) else module


def is_module(package: str, name: str) -> bool:
    directory = ROOT.joinpath(*package.split("."))
    return (directory / f"{name}.py").is_file() or (directory / name).is_dir()


def name_of(path: Path) -> str:
    """`gateway.slots` for gateway/slots/__init__.py."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def within(module: str, allowed: str) -> bool:
    return module == allowed or module.startswith(f"{allowed}.")


def sources(where: str) -> list[Path]:
    path = ROOT / where
    return [path] if path.suffix == ".py" else sorted(path.rglob("*.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_what_stands_below_it(package: str) -> None:
    files = sources(package)
    assert files, f"{package} has no sources"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in files
        for line, module in imported_modules(path)
        if module.partition(".")[0] in PACKAGES
        and not any(within(module, allowed) for allowed in ALLOWED[package])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", ROOMS)
def test_each_room_imports_only_rooms_before_it(folder: str) -> None:
    found = {path.stem for path in (ROOT / folder).iterdir() if path.name != "__pycache__"}
    assert found == {"__init__", *ROOMS[folder]}
    package = folder.replace("/", ".")
    depth = package.count(".") + 2
    places = {f"{package}.{room}": place for place, room in enumerate(ROOMS[folder])}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources(folder)
        for line, module in imported_modules(path)
        if (there := ".".join(module.split(".")[:depth])) in places
        and (here := ".".join(name_of(path).split(".")[:depth])) in places
        and places[there] > places[here]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_of_a_package_import_each_other_in_a_circle(package: str) -> None:
    """Imports for type checkers count too: a circle of names is a circle for the reader."""
    files = {name_of(path): path for path in sources(package)}
    imports = {
        name: {module for _, module in imported_modules(path) if module in files and module != name}
        for name, path in files.items()
    }
    try:
        order = list(TopologicalSorter(imports).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
    assert len(order) == len(files)


def test_what_tests_share_is_in_no_test_module() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for folder in ("tests", "benchmarks", "scripts")
        for path in sources(folder)
        for line, module in imported_modules(path)
        if within(module, "tests") and ".test_" in module
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("where", MAY_NOT_IMPORT)
def test_light_rooms_name_no_heavy_import(where: str) -> None:
    files = sources(where)
    assert files and all(path.is_file() for path in files), f"{where} is not there"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in files
        for line, module in imported_modules(path)
        if any(within(module, forbidden) for forbidden in MAY_NOT_IMPORT[where])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("module", LIGHT_IMPORTS)
def test_importing_a_light_module_loads_nothing_heavy(module: str) -> None:
    """Static imports can be right and a chain of them still load PyTorch; a fresh interpreter shows it."""
    program = f"import {module}, sys; print(*sorted(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    loaded = result.stdout.split()
    wrong = [name for name in loaded if any(within(name, heavy) for heavy in LIGHT_IMPORTS[module])]
    assert not wrong, f"importing {module} loads {', '.join(wrong[:5])}"


def test_a_worker_of_a_cpu_starts_without_triton() -> None:
    """PyTorch for CPUs does not bring it along; the packages of the tests do."""
    program = """
import sys
sys.modules["triton"] = None
import models.llm.parallel.rank, models.voxcpm.finetuning.trainer
from worker.engines.loading import load_engine
from worker.settings import WorkerSettings
engine = load_engine(WorkerSettings(model="bundled", device="cpu", slots=1), lambda *told, **more: None)
engine.close()
"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_the_walk_sees_every_form_of_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules above are worth what this finds."""
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    for name in ("worker", "gateway/api"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "worker" / "app.py").touch()
    source = tmp_path / "gateway" / "api" / "tts.py"
    source.write_text(
        "def f():\n    from worker import app, nothing\n    import torch.nn\nfrom ..pool import Pool\n"
    )
    assert list(imported_modules(source)) == [
        (4, "gateway.pool"),
        (2, "worker.app"),
        (2, "worker"),
        (3, "torch.nn"),
    ]
