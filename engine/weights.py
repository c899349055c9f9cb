"""Checkpoints in, checkpoints out, and nothing left to chance in between.

`load_state` reads the released layouts (safetensors in one file or in shards with an index, or a PyTorch
pickle that is only ever opened with `weights_only=True`); `load_into` copies a state into a module and raises
one error that names every missing key, unexpected key and wrong shape; `export_state` writes the released
names back.

A module may have a part of a layer, as its `cuts` say; of the released tensor no more than that is read.

Modules may be fused where checkpoints are not: a `MergedLinear` at `layers.0.attention.qkv` takes its rows
from `layers.0.attention.q_proj.weight` and so on, and exports them under the same names.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load as load_safetensors
from torch import Tensor, nn

from engine.archives import check_head, checked_archive
from engine.device.host_copies import HostCopies
from engine.errors import WeightError
from engine.layers.linear import MergedLinear
from engine.parallel.part import Cut

PICKLE_SUFFIXES = {".bin", ".pth", ".pt", ".ckpt"}
_ARCHIVE = b"PK\x03\x04"
"""What PyTorch's files begin with."""


def find_checkpoint(directory: Path, stem: str = "model") -> list[Path]:
    """The files of checkpoint `stem` in a directory, in the order in which the layouts are preferred.

    For "model": `model.safetensors`, the shards named by `model.safetensors.index.json`, `pytorch_model.bin`,
    the shards of its index, `model.pth`; for "audiovae" the same with that stem. Other files there are never
    read.

    Raises:
        WeightError: none of them exists, or an index names a file that does not.
    """
    candidates = [f"{stem}.safetensors", f"pytorch_{stem}.bin", f"{stem}.bin", f"{stem}.pth", f"{stem}.pt"]
    for candidate in candidates:
        if (directory / candidate).is_file():
            return [directory / candidate]
        index = directory / f"{candidate}.index.json"
        if index.is_file():
            return _shards_of(index)
    raise WeightError(
        f"no checkpoint {stem!r} in {directory}; looked for {', '.join(candidates)} and their indexes"
    )


def _shards_of(index: Path) -> list[Path]:
    try:
        names = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise WeightError(f"{index} is no weight index: {error!r}") from error
    outside = [name for name in names if Path(name).name != name]
    if outside:
        raise WeightError(f"{index} names files outside its directory: {', '.join(outside)}")
    absent = [name for name in names if not (index.parent / name).is_file()]
    if absent:
        raise WeightError(f"{index} names shards that do not exist: {', '.join(absent)}")
    return [index.parent / name for name in names]


def load_state(path: str | Path, stem: str = "model") -> dict[str, Tensor]:
    """Reads a checkpoint file, or checkpoint `stem` of a directory, into name -> CPU tensor.

    Tensors are memory-mapped where the format allows it, so nothing is read from disk until it is copied; do
    not write to them. A single nesting under "state_dict" is taken off.

    Raises:
        WeightError: no such checkpoint, an unreadable file, or one name in two shards.
    """
    path = Path(path)
    files = find_checkpoint(path, stem) if path.is_dir() else [path]
    state: dict[str, Tensor] = {}
    for file in files:
        part = _load_pickle(file) if file.suffix in PICKLE_SUFFIXES else _load_safetensors(file)
        twice = state.keys() & part.keys()
        if twice:
            raise WeightError(f"{file} repeats names of an earlier shard: {', '.join(sorted(twice))}")
        state.update(part)
    return state


def _load_safetensors(file: Path) -> dict[str, Tensor]:
    try:
        with safe_open(file, framework="pt") as tensors:
            return {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118 (not a mapping)
    except (OSError, SafetensorError) as error:
        raise WeightError(f"cannot read {file}: {error}") from error


def _load_pickle(file: Path) -> dict[str, Tensor]:
    try:
        mmap = zipfile.is_zipfile(file)
        content = torch.load(file, map_location="cpu", weights_only=True, mmap=mmap)
    except MemoryError:
        raise
    except Exception as error:  # what a broken file raises is nowhere said
        raise WeightError(f"cannot read {file}: {type(error).__name__}: {error}") from error
    return _state_of(content, str(file))


def state_from_bytes(content: bytes) -> dict[str, Tensor]:
    """What a file that somebody sent holds: safetensors, or a PyTorch archive, of which only data is taken.

    Raises:
        WeightError: it is neither, or more than plain tensors (`engine/archives.py`).
    """
    try:
        if not content.startswith(_ARCHIVE):
            check_head(content)
            return load_safetensors(content)
        state = torch.load(checked_archive(content), map_location="cpu", weights_only=True)
    except WeightError:
        raise
    except Exception as error:  # what a broken file raises is nowhere said
        raise WeightError(f"the weights cannot be read: {type(error).__name__}") from error
    return _state_of(state, "the archive")


def _state_of(content: object, name: str) -> dict[str, Tensor]:
    """Values alone: an archive also keeps that a tensor was trained, or is read with its sign turned."""
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping):
        raise WeightError(f"{name} holds a {type(content).__name__}, not a state dict")
    if not all(isinstance(key, str) for key in content):
        raise WeightError(f"{name} holds tensors without a name")
    strangers = [key for key, value in content.items() if not isinstance(value, Tensor)]
    if strangers:
        raise WeightError(f"{name} holds values that are no tensors: {', '.join(strangers)}")
    return {key: value.detach().resolve_neg() for key, value in content.items()}


def released_tensors(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Walks the parameters and persistent buffers of a module under their released names.

    Yields: (released name, tensor); a part of a `MergedLinear` is a view of its rows of the fused tensor.
    """
    return ((name, tensor) for name, tensor, _ in _released(module))


def _released(module: nn.Module) -> Iterator[tuple[str, Tensor, Cut | None]]:
    """`released_tensors`, and which part of the released one each is; None for the whole."""
    for path, child in module.named_modules():
        prefix = f"{path}." if path else ""
        cuts = getattr(child, "cuts", {})
        own = dict(child.named_parameters(recurse=False))
        for name, buffer in child.named_buffers(recurse=False):
            if name not in child._non_persistent_buffers_set:
                own[name] = buffer
        if isinstance(child, MergedLinear):
            parent = prefix[: prefix.rfind(".", 0, -1) + 1]
            for kind, tensor in own.items():
                for part, rows in child.slices.items():
                    yield f"{parent}{part}.{kind}", tensor[rows], cuts.get(part)
        else:
            for name, tensor in own.items():
                yield f"{prefix}{name}", tensor, cuts.get(name)


def load_into(
    module: nn.Module,
    state: Mapping[str, Tensor],
    dtype: torch.dtype | None = None,
    strict: bool = True,
    ignore: Collection[str] = (),
    device: torch.device | str = "cpu",
) -> None:
    """Copies `state` (released names) into the parameters and persistent buffers of `module`.

    What was built on the meta device is materialised first, which saves the random initialisation.

    Args:
        dtype: floating point tensors of the module become this first; None keeps those of the module.
        device: where tensors are materialised.
        strict: a missing or unexpected name is an error; a wrong shape always is.
        ignore: names, or patterns with `*`, that may be missing or unexpected nevertheless.

    Raises:
        WeightError: with every missing, unexpected and mismatched name; the module is then unchanged.
    """
    _check_fit(module, state, strict, ignore)
    _check_buffers(module)
    if dtype is not None:
        module.to(dtype)
    _materialise(module, device)
    with torch.no_grad():
        copies = HostCopies(device)
        for name, tensor, cut in _released(module):
            if name in state:
                copies.copy(tensor, state[name] if cut is None else cut.of(state[name]))
        copies.finish()


def export_state(module: nn.Module) -> dict[str, Tensor]:
    """A copy of the state of `module` under released (unfused) names, ready to be saved as safetensors."""
    return {
        name: tensor.detach().clone(memory_format=torch.contiguous_format)
        for name, tensor in released_tensors(module)
    }


def _check_fit(module: nn.Module, state: Mapping[str, Tensor], strict: bool, ignore: Collection[str]) -> None:
    shapes = {
        name: tensor.shape if cut is None else torch.Size(cut.whole_shape(tensor))
        for name, tensor, cut in _released(module)
    }
    missing = [name for name in shapes if name not in state and not _matches(name, ignore)]
    unexpected = [name for name in state if name not in shapes and not _matches(name, ignore)]
    mismatched = [
        f"{name} is {list(state[name].shape)}, expected {list(shape)}"
        for name, shape in shapes.items()
        if name in state and state[name].shape != shape
    ]
    mismatched += [
        f"{name} is {state[name].dtype}, expected a float"
        for name, tensor in released_tensors(module)
        if name in state and tensor.is_floating_point() and not state[name].is_floating_point()
    ]
    if mismatched or (strict and (missing or unexpected)):
        raise WeightError(f"checkpoint does not fit {type(module).__name__}", missing, unexpected, mismatched)


def _check_buffers(module: nn.Module) -> None:
    persistent = {id(tensor) for tensor in module.state_dict(keep_vars=True).values()}
    lost = [
        name for name, buffer in module.named_buffers() if buffer.is_meta and id(buffer) not in persistent
    ]
    if lost:
        raise WeightError(f"buffers on the meta device that no checkpoint holds: {', '.join(lost)}")


def _materialise(module: nn.Module, device: torch.device | str) -> None:
    def materialised(tensor: Tensor) -> Tensor:
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=device) if tensor.is_meta else tensor

    module._apply(materialised)


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
