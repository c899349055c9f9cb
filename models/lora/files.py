"""Adapters on disk: the published VoxCPM package's layout, which is also written, and PEFT's.

    lora_weights.safetensors (or .ckpt)  lora_config.json          # the package
    adapter_model.safetensors (or .bin)  adapter_config.json       # PEFT

    adapter = read_adapter(Path("anna/latest"), adaptable(config))
    adapter = received_adapter(config_file, weights, adaptable(config))    # the content of both files
    write_adapter(Path("anna"), adapter, {"r": 32, "alpha": 32})

Reading is strict. The package itself reads no `lora_config.json` and skips names that it does not know; an
adapter that was half applied, or at half its scale, sounds muffled, and nobody knows why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.errors import WeightError
from engine.layers.low_rank import LowRank
from engine.weights import PICKLE_SUFFIXES, load_state, state_from_bytes
from models.lora.adapter import MAX_RANK, Adapter, AdapterError
from models.lora.layouts import CONFIG_FILE, PEFT_CONFIG_FILE, Layout, package_layout, peft_layout
from models.transformer.adapted import Size
from models.whole_files import replacing

WEIGHTS = ("lora_weights.safetensors", "lora_weights.ckpt")
PEFT_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_FLOATS = (torch.float32, torch.bfloat16, torch.float16)
_BYTES_OF_NAMES = 1 << 22
_NAMED = 6
"""Of many wrong names an error tells so many."""


def read_adapter(
    directory: Path,
    adaptable: Mapping[str, Size],
    base_digest: Callable[[], str] | None = None,
    audio_vae_digest: Callable[[], str] | None = None,
) -> Adapter:
    """The adapter in a directory, in either layout.

    adaptable: released name -> size of the layers that the base model lets adapters change. base_digest,
    audio_vae_digest: tell those of the model's weights; an adapter that names another one is refused.

    Raises:
        AdapterError: naming what is missing, unknown, misshapen or not finite, or does not fit the model.
    """
    if (directory / CONFIG_FILE).is_file():
        layout, files = package_layout(_object(directory / CONFIG_FILE), adaptable), WEIGHTS
    elif (directory / PEFT_CONFIG_FILE).is_file():
        layout, files = peft_layout(_object(directory / PEFT_CONFIG_FILE), adaptable), PEFT_WEIGHTS
    else:
        raise AdapterError(
            f"{directory} has neither {CONFIG_FILE} nor {PEFT_CONFIG_FILE}, which tell rank and scale"
        )
    _check_base(layout, base_digest, audio_vae_digest)
    return _built(_weights(directory, files, adaptable), layout, adaptable)


def received_adapter(
    config: Mapping[str, Any],
    weights: bytes,
    adaptable: Mapping[str, Size],
    base_digest: Callable[[], str] | None = None,
    audio_vae_digest: Callable[[], str] | None = None,
) -> Adapter:
    """The same of an adapter that somebody sent. Raises AdapterError.

    config: what its configuration file says, in either layout. weights: safetensors, or PyTorch's archive.
    """
    layout = (peft_layout if "peft_type" in config else package_layout)(config, adaptable)
    _check_base(layout, base_digest, audio_vae_digest)
    _check_size("the file", len(weights), adaptable)
    try:
        state = state_from_bytes(weights)
    except WeightError as error:
        raise AdapterError(str(error)) from error
    return _built(state, layout, adaptable)


def most_bytes(adaptable: Mapping[str, Size]) -> int:
    """No file of weights of an adapter of this model is larger."""
    return 4 * MAX_RANK * sum(sum(size) for size in adaptable.values()) + _BYTES_OF_NAMES


def _check_base(
    layout: Layout, base_digest: Callable[[], str] | None, audio_vae_digest: Callable[[], str] | None
) -> None:
    if base_digest and layout.base_digest and layout.base_digest != base_digest():
        raise AdapterError(f"the adapter was trained on another model ({layout.base or layout.base_digest})")
    if audio_vae_digest and layout.audio_vae_digest and layout.audio_vae_digest != audio_vae_digest():
        raise AdapterError(
            f"the adapter was trained on another model's audio VAE ({layout.base or layout.audio_vae_digest})"
        )


def _check_size(name: str, size: int, adaptable: Mapping[str, Size]) -> None:
    most = most_bytes(adaptable)
    if size > most:
        raise AdapterError(f"{name} has {size} bytes, an adapter of this model at most {most}")


def _built(state: Mapping[str, Tensor], layout: Layout, adaptable: Mapping[str, Size]) -> Adapter:
    layers = _layers(state, layout, adaptable)
    base = layout.base, layout.base_digest, layout.audio_vae_digest
    return Adapter(layers, layout.scale, layout.scales, *base)


def write_adapter(directory: Path, adapter: Adapter, lora_config: Mapping[str, Any]) -> None:
    """Weights in fp32, and `lora_config.json` in the package's layout.

    lora_config: what the package wants to be told of it (`enable_lm`, `r`, `alpha`, ...).
    """
    directory.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, (down, up) in adapter.layers.items():
        tensors[f"{name}.lora_A"], tensors[f"{name}.lora_B"] = down.float(), up.float()
    with replacing(directory / WEIGHTS[0]) as partial:
        save_file({name: tensors[name].contiguous() for name in sorted(tensors)}, partial)
        partial.chmod(0o644)
    about = {"base_model": adapter.base, "base_digest": adapter.base_digest}
    if adapter.audio_vae_digest:
        about["audio_vae_digest"] = adapter.audio_vae_digest
    about["lora_config"] = dict(lora_config)
    (directory / CONFIG_FILE).write_text(json.dumps(about, indent=2) + "\n")


def _object(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AdapterError(f"{path.name} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise AdapterError(f"{path.name} does not hold a JSON object")
    return found


def _weights(directory: Path, names: tuple[str, ...], adaptable: Mapping[str, Size]) -> dict[str, Tensor]:
    file = next((directory / name for name in names if (directory / name).is_file()), None)
    if file is None:
        raise AdapterError(f"{directory} has neither {' nor '.join(names)}")
    _check_size(file.name, file.stat().st_size, adaptable)
    try:
        state = load_state(file)
    except WeightError as error:
        raise AdapterError(str(error)) from error
    # A mapped file may be replaced under its tensors.
    return (
        {name: tensor.clone() for name, tensor in state.items()}
        if file.suffix not in PICKLE_SUFFIXES
        else state
    )


def _layers(state: Mapping[str, Tensor], layout: Layout, adaptable: Mapping[str, Size]) -> dict[str, LowRank]:
    found: dict[str, dict[str, Tensor]] = {}
    unknown = []
    for key, tensor in state.items():
        place = layout.place(key)
        if place is None or place[0] not in adaptable:
            unknown.append(key)
        else:
            found.setdefault(place[0], {})[place[1]] = tensor
    if unknown:
        raise AdapterError(f"tensors that no adapter of this model has: {_some(unknown)}")
    expected = layout.expected or set(found)
    missing = [
        f"{name}.lora_{kind}"
        for name in sorted(expected | set(found))
        for kind in "AB"
        if kind not in found.get(name, {})
    ]
    if missing:
        raise AdapterError(f"tensors are missing: {_some(missing)}")
    if not found:
        raise AdapterError("the adapter has no layer")
    if layout.expected and (surplus := sorted(set(found) - layout.expected)):
        raise AdapterError(f"layers that the adapter's configuration does not name: {_some(surplus)}")
    return {
        name: _checked(name, found[name], layout.rank_of(name), adaptable[name]) for name in sorted(found)
    }


def _checked(name: str, pair: Mapping[str, Tensor], rank: int, size: Size) -> LowRank:
    wanted = {"A": (rank, size[1]), "B": (size[0], rank)}
    for kind, shape in wanted.items():
        tensor, where = pair[kind], f"{name}.lora_{kind}"
        if tuple(tensor.shape) != shape:
            raise AdapterError(
                f"{where} is {list(tensor.shape)}, this model and rank {rank} want {list(shape)}"
            )
        if tensor.layout is not torch.strided or tensor.device.type != "cpu":
            raise AdapterError(f"{where} is no plain tensor")
        if tensor.dtype not in _FLOATS:
            raise AdapterError(f"{where} is {tensor.dtype}, not a float of 16 or 32 bits")
        if not torch.isfinite(tensor).all():
            raise AdapterError(f"{where} has values that are not finite")
    return LowRank(pair["A"].float().contiguous(), pair["B"].float().contiguous())


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
