"""The networks of Perth, Resemble AI's watermark for speech, in NumPy: the gateway does without PyTorch.

They come with the package `resemble-perth` (MIT), in the extra `watermark`; only its file of weights is used.
Both networks see levels, as fractions of a range of 195 dB, of 128 bands of 15.6 Hz in frames of 64 ms every
10 ms. `residual` says by how much each level changes to carry the mark, `confidence` whether levels carry it.
The frames are the same in time and frequency at every sample rate.
"""

from __future__ import annotations

import functools
import hashlib
import io
import pickle
import zipfile
from collections import OrderedDict
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

import numpy as np

BANDS = 128
FRAMES_PER_SECOND = 100
_FRAME_SECONDS = 0.064
_RATE = 32_000
"""At which the networks were trained: their levels are those of its frames."""
_LEAST_DB, _RANGE_DB = -180.0, 195.0
_LEAST_SHARE = 0.05
"""Frames with less than this share of the loudest frame's levels are not looked at."""
_STRETCHES = (("slow", 1.25), ("normal", 1.0), ("fast", 0.75))
_SLOPE = 0.01
_FILE = "perth/perth_net/pretrained/implicit/perth_net_250000.pth.tar"
_SHA256 = "a15bce457ebc53ce5e6c9c3f11df78cf7ee2bf9cdab0a798902135b4c4027670"

Layers = list[tuple[np.ndarray, np.ndarray]]


class WatermarkMissingError(RuntimeError):
    """The networks are not installed, or are others than these; the message says what to do."""


def frame_sizes(sample_rate: int) -> tuple[int, int]:
    """Samples of a frame, and from one frame to the next."""
    return 2 * round(sample_rate * _FRAME_SECONDS / 2), round(sample_rate / FRAMES_PER_SECOND)


def levels(spectrum: np.ndarray, sample_rate: int) -> np.ndarray:
    """float32 [frames, bins] of complex spectra of Hann-windowed frames, as the networks want them."""
    magnitude = np.abs(spectrum) * (_RATE / sample_rate)
    decibels = 20 * np.log10(np.maximum(magnitude, 10 ** (_LEAST_DB / 20)))
    return ((decibels - _LEAST_DB) / _RANGE_DB).astype(np.float32)


def residual_db(bands: np.ndarray) -> np.ndarray:
    """By how many decibels [frames, 128] the levels [frames, 128] change to carry the mark."""
    return _run(networks()["encoder.layers"], bands) * _RANGE_DB


def confidence(all_levels: np.ndarray) -> float:
    """About 1 for levels [frames, bins] that carry the mark, about 0 for others."""
    loudness = all_levels.sum(axis=1)
    heard = (loudness > _LEAST_SHARE * loudness.max()).astype(np.float32)
    if not heard.any():
        return 0.0
    bands, votes = all_levels[:, :BANDS], []
    for name, stretch in _STRETCHES:
        frames = max(int(len(bands) * stretch), 1)
        output = _run(networks()[f"decoder.{name}_layers"], _stretched(bands, frames))
        nearest = heard[np.arange(frames) * len(heard) // frames]
        votes.append((output * nearest[:, None]).sum(axis=0) / max(nearest.sum(), 1.0))
    attention, marks = np.array(votes).T
    share = np.exp(attention - attention.max())
    return float((marks * share).sum() / share.sum())


def _stretched(bands: np.ndarray, frames: int) -> np.ndarray:
    """Linear interpolation in time, the ends in place."""
    if frames == len(bands):
        return bands
    places = np.linspace(0, len(bands) - 1, frames)
    before = places.astype(int)
    after = np.minimum(before + 1, len(bands) - 1)
    share = (places - before).astype(np.float32)[:, None]
    return bands[before] * (1 - share) + bands[after] * share


def _run(layers: Layers, x: np.ndarray) -> np.ndarray:
    """Convolutions over time [frames, channels], with leaky ReLUs between them."""
    for index, (weight, bias) in enumerate(layers):
        width = weight.shape[0] // x.shape[1]
        if width > 1:
            padded = np.pad(x, ((width // 2, width // 2), (0, 0)))
            x = np.lib.stride_tricks.sliding_window_view(padded, width, axis=0).reshape(len(x), -1)
        x = x @ weight + bias
        if index < len(layers) - 1:
            x = np.maximum(x, _SLOPE * x)
    return x


# ------------------------------------------------------------------------------------------- the weights


@functools.cache
def networks() -> dict[str, Layers]:
    """The layers of encoder and decoders. Raises WatermarkMissingError."""
    try:
        content = distribution("resemble-perth").locate_file(_FILE).read_bytes()
    except (PackageNotFoundError, OSError) as error:
        message = "the watermark needs its extra: VOXFLEET_EXTRAS=watermark ./start_all.sh --install-only"
        raise WatermarkMissingError(message) from error
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise WatermarkMissingError("the watermark needs resemble-perth 1.0.1; its weights here are others")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (index,) = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        tensors = _Weights(archive, index).load()["model"]
    stacks = ("encoder.layers", *(f"decoder.{name}_layers" for name, _ in _STRETCHES))
    return {stack: [_layer(tensors, f"{stack}.{index}.conv") for index in range(7)] for stack in stacks}


def _layer(tensors: dict[str, np.ndarray], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Weight [inputs x width, outputs] and bias of a convolution."""
    weight = tensors[f"{name}.weight"]
    return np.ascontiguousarray(weight.reshape(len(weight), -1).T), tensors[f"{name}.bias"]


class _Weights(pickle.Unpickler):
    """Reads a checkpoint of PyTorch as `torch.load(weights_only=True)` does: nothing but tensors is made."""

    def __init__(self, archive: zipfile.ZipFile, index: str) -> None:
        super().__init__(io.BytesIO(archive.read(index)))
        self._archive, self._root = archive, index.removesuffix("data.pkl")

    def find_class(self, module: str, name: str) -> Any:
        known = {
            "collections.OrderedDict": OrderedDict,
            "torch._utils._rebuild_tensor_v2": _tensor,
            "torch.FloatStorage": np.dtype("<f4"),
        }
        if (found := known.get(f"{module}.{name}")) is None:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a checkpoint")
        return found

    def persistent_load(self, pid: tuple[str, np.dtype, str, str, int]) -> np.ndarray:
        _, dtype, key, _, _ = pid
        return np.frombuffer(self._archive.read(f"{self._root}data/{key}"), dtype)


def _tensor(storage: np.ndarray, offset: int, shape: tuple, strides: tuple, *_: Any) -> np.ndarray:
    bytes_apart = [stride * storage.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, bytes_apart).copy()
