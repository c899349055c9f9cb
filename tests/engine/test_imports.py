"""What the engine may depend on: it has to start on machines that have little more than torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine

ROOT = Path(engine.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
THIRD_PARTY = {"torch", "numpy", "safetensors", "xxhash", "triton", "flash_attn", "cuda"}
"""`cuda` comes with torch's builds for CUDA."""
WITHOUT_TORCH = [
    "config",
    "errors",
    "kv_cache.block_manager",
    "llm_engine",
    "loop",
    "model_runner",
    "output_stream",
    "scheduling.scheduler",
    "sequence",
]


def packages_imported_by(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(ROOT)) for file in FILES])
def test_only_the_few_declared_packages_are_imported(file: Path) -> None:
    assert set(packages_imported_by(file)) <= sys.stdlib_module_names | THIRD_PARTY | {"engine"}


@pytest.mark.parametrize("module", WITHOUT_TORCH)
def test_the_core_runs_without_torch(module: str) -> None:
    code = f"import sys; sys.modules['torch'] = None; import engine.{module}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
