"""The published `voxcpm` package as a yardstick, for benchmarks and as a test oracle.

Its list of requirements is long, but its models need torch, einops, transformers and a few small
packages only. So the wheel is installed without dependencies into a directory of its own, and the two
audio libraries it imports but does not use here become empty modules. The product never imports it.

    model = load_published(checkpoint_dir)        # fp32 on the CPU unless told otherwise
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import torch

VERSION = "2.0.3"
REQUIREMENTS = ("einops", "transformers", "safetensors", "pydantic", "numpy", "tqdm", "huggingface_hub")
DEFAULT_DIRECTORY = Path(__file__).parents[1] / ".published"


def install(directory: Path = DEFAULT_DIRECTORY) -> Path:
    """Put the wheel into `directory` (once) and what it needs into this environment (where missing)."""
    missing = [name for name in REQUIREMENTS if importlib.util.find_spec(name) is None]
    if missing:
        _pip("install", "--quiet", *missing)
    if not (directory / "voxcpm").is_dir():
        _pip("install", "--quiet", "--no-deps", "--target", str(directory), f"voxcpm=={VERSION}")
    return directory


def reason_missing(directory: Path = DEFAULT_DIRECTORY) -> str | None:
    """None when the package can be imported without installing anything, else what is missing."""
    if not (directory / "voxcpm").is_dir():
        return f"the published package is not in {directory}"
    missing = [name for name in REQUIREMENTS if importlib.util.find_spec(name) is None]
    return f"the published package needs {', '.join(missing)}" if missing else None


def import_published(directory: Path = DEFAULT_DIRECTORY) -> types.ModuleType:
    """The package `voxcpm.model`, importable without its audio libraries."""
    path = str(install(directory))
    import transformers  # noqa: F401  (looks for torchaudio by itself; must come before the stubs)

    for name in ("torchaudio", "librosa"):
        sys.modules.setdefault(name, types.ModuleType(name))
    if path not in sys.path:
        sys.path.append(path)
    package = types.ModuleType("voxcpm")
    package.__path__ = [str(directory / "voxcpm")]
    sys.modules.setdefault("voxcpm", package)
    return importlib.import_module("voxcpm.model")


def load_published(
    checkpoint: Path,
    directory: Path = DEFAULT_DIRECTORY,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Any:
    """The published model of a checkpoint, ready for inference."""
    import_published(directory)
    architecture = "voxcpm2" if '"voxcpm2"' in (checkpoint / "config.json").read_text() else "voxcpm"
    module = importlib.import_module(f"voxcpm.model.{architecture}")
    cls = module.VoxCPM2Model if architecture == "voxcpm2" else module.VoxCPMModel
    model = cls.from_local(str(checkpoint), optimize=False, device=device)
    model = model.to(dtype)
    model.config.dtype = str(dtype).removeprefix("torch.")
    for lm in (model.base_lm, model.residual_lm):
        lm.setup_cache(1, model.config.max_length, device, dtype)
    return model


def _pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", *arguments], check=True)
