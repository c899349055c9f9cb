"""The file of results: figures by shape and scenario, with the machine that they depend on, and its plot."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.goals import verdicts
from benchmarks.gpu.kernels.attention import version_of
from benchmarks.gpu.plot import plot
from benchmarks.shared.results import keep, kept

RESULTS = Path(__file__).parents[1] / "results" / "gpu.json"
PACKAGES = ("torch", "triton", "flash_attn", "numpy", "transformers", "nano-vllm-voxcpm")
Figures = dict[str, Any]


def machine(device: torch.device, rates: dict[str, float]) -> Figures:
    """What the figures depend on."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    versions = {package: version_of(package) for package in PACKAGES}
    return {
        "device": name, "cuda": torch.version.cuda, "python": platform.python_version(),
        "versions": versions, **rates,
    }  # fmt: skip


def merged(document: Figures, results: dict[str, Figures]) -> Figures:
    """The results file with these scenarios put in or replaced."""
    scenarios = dict(sorted((document.get("scenarios", {}) | results).items()))
    released = {name.removeprefix("voxcpm2/"): figures for name, figures in scenarios.items()}
    goals = verdicts(released)
    return {
        "script": "benchmarks/gpu/engines/scenarios.py",
        "goals_of_voxcpm2": goals,
        "scenarios": scenarios,
    }


def save(file: Path, shape: str, results: dict[str, Figures]) -> None:
    """Beside what other scenarios and shapes left there."""
    document = merged(kept(file), {f"{shape}/{name}": figures for name, figures in results.items()})
    file.parent.mkdir(parents=True, exist_ok=True)
    keep(file, document)
    file.with_suffix(f".{shape}.svg").write_text(plot(document, shape))
