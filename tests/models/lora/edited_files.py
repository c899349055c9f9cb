"""Changes to an adapter's files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor


def change(directory: Path, **config: Any) -> None:
    path = directory / "lora_config.json"
    about = json.loads(path.read_text())
    about["lora_config"] |= config
    path.write_text(json.dumps(about))


def rewrite(directory: Path, edit: Callable[[dict[str, Tensor]], Any]) -> None:
    state = load_file(directory / "lora_weights.safetensors")
    edit(state)
    save_file(state, directory / "lora_weights.safetensors")


def to_peft(directory: Path, **config: Any) -> None:
    state = load_file(directory / "lora_weights.safetensors")
    named = {f"base_model.model.{name}.weight": tensor for name, tensor in state.items()}
    save_file(named, directory / "adapter_model.safetensors")
    about = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": None, "bias": "none"}
    about |= {"base_model_name_or_path": "tiny"} | config
    (directory / "adapter_config.json").write_text(json.dumps(about))
    for name in ("lora_weights.safetensors", "lora_config.json"):
        (directory / name).unlink()
