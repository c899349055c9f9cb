"""Random adapters of the published package, in its own files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
ALL = {
    "enable_lm": True,
    "enable_dit": True,
    "enable_proj": True,
    "target_modules_lm": LINEARS,
    "target_modules_dit": LINEARS,
}


def adapt(model: Any, r: int = 8, alpha: int = 16, seed: int = 3, **changes: Any) -> dict[str, Any]:
    """Give a published model LoRA layers with random weights; returns the package's configuration of them."""
    import importlib

    module = importlib.import_module(type(model).__module__)
    config = module.LoRAConfig(**{**ALL, "r": r, "alpha": alpha, **changes})
    model.lora_config = config
    model._apply_lora()
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            spread = 1.0 if name.endswith("lora_A") else 0.15
            parameter.data = (
                spread * torch.randn(parameter.shape, generator=generator) / parameter.shape[1] ** 0.5
            )
    return config.model_dump()


def write(model: Any, config: dict[str, Any], directory: Path, pickled: bool = False) -> Path:
    """Write the adapter of a model as the package's training script does."""
    directory.mkdir(parents=True)
    state = model.get_lora_state_dict()
    if pickled:
        torch.save({"state_dict": state}, directory / "lora_weights.ckpt")
    else:
        save_file(state, directory / "lora_weights.safetensors")
    about = {"base_model": "/somewhere/VoxCPM", "lora_config": config}
    (directory / "lora_config.json").write_text(json.dumps(about))
    return directory
