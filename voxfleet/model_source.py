"""Is the model that a command names on this machine? Asked before anything slow starts, without PyTorch.

A model is `bundled` (the voice that ships with VoxFleet), `synthetic` (no model at all), a directory, or the
id of a Hugging Face repository, which only loading can look up.
"""

from __future__ import annotations

from pathlib import Path

from models.download import find_directory, is_repository


class ModelMissingError(RuntimeError):
    """The model is not on this machine and is no repository id either; the message is for the user."""


def check_model(model: str) -> None:
    """Raises ModelMissingError for a directory, the bundled one included, that is not there."""
    if model == "bundled":
        directory = bundled_directory()
        if not (directory / "config.json").is_file():
            raise ModelMissingError(f"the bundled voice is missing: there is no {directory / 'config.json'}")
    elif model != "synthetic" and not is_repository(model) and find_directory(model) is None:
        raise ModelMissingError(f"no such model directory: {model}")


def bundled_directory() -> Path:
    """Where the voice that ships with VoxFleet lies, whether or not it is there."""
    return Path(__file__).resolve().parent.parent / "models" / "voxcpm" / "bundled"
