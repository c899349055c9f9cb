"""Which attention backend serves a device: the one that was asked for, or the one that measures fastest.

    attention backend flash on cuda torch.bfloat16 (decode 1 x 512: flash 6.1 us, triton 7.4 us; ...)

On the CPU there is nothing to choose and nothing is measured. Where several backends can serve, each runs a
few representative steps once, as a captured graph over caches larger than the processor's own; the smallest
geometric mean wins. A candidate that fails there is out, and the log says why.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from importlib import import_module

import torch

from engine.attention.backend import AttentionBackend
from engine.attention.paged import FLASH_PAGE_MULTIPLE
from engine.errors import EngineError, OptionsError

logger = logging.getLogger(__name__)

BackendFactory = Callable[[torch.device, torch.dtype, int], AttentionBackend]
Measure = Callable[[AttentionBackend], dict[str, float]]
"""Seconds that a backend takes for each of some named steps."""


def _lazy(module: str, name: str) -> BackendFactory:
    """A factory that imports its module at the first call, since some need packages that may be missing."""

    def build(device: torch.device, dtype: torch.dtype, block_size: int) -> AttentionBackend:
        return getattr(import_module(f"engine.attention.{module}"), name)(device, dtype, block_size)

    return build


BACKENDS: dict[str, BackendFactory] = {
    "sdpa": _lazy("sdpa", "SDPABackend"),
    "triton": _lazy("triton_backend.backend", "TritonBackend"),
    "flash": _lazy("flash", "FlashBackend"),
    "torch_varlen": _lazy("torch_varlen", "TorchVarlenBackend"),
}
# What "auto" considers: the first group of which a backend can serve, and in it the fastest.
AUTO = {"cuda": (("triton", "flash", "torch_varlen"), ("sdpa",))}
AUTO_ELSEWHERE = (("sdpa",),)
BLOCK_SIZES = dict.fromkeys(("flash", "torch_varlen"), FLASH_PAGE_MULTIPLE)
"""Positions of a block for backends that cannot do with what models have otherwise."""


def select_backend(
    name: str,
    device: torch.device | str,
    dtype: torch.dtype,
    head_dim: int,
    block_size: int,
    heads: tuple[int, int] = (16, 2),
) -> AttentionBackend:
    """Builds the backend called `name`, or with "auto" the best one, and logs which and why.

    Args:
        heads: query and key/value heads with which candidates are measured.

    Raises:
        EngineError: an unknown name, or no backend for this combination, with the reason of each.
    """
    device = torch.device(device)
    if name != "auto" and name not in BACKENDS:
        raise EngineError(f"unknown attention backend {name!r}; there are: auto, {', '.join(BACKENDS)}")

    def measure(backend: AttentionBackend) -> dict[str, float]:
        from engine.attention.measure import measure_backend

        return measure_backend(backend, device, dtype, head_dim, block_size, heads)

    reasons: list[str] = []
    for group in AUTO.get(device.type, AUTO_ELSEWHERE) if name == "auto" else ((name,),):
        usable = _usable(group, device, dtype, head_dim, block_size, reasons)
        backend = fastest(usable, measure, reasons)
        if backend is not None:
            why = "; ".join(reasons) or ("first choice" if name == "auto" else "asked for")
            logger.info("attention backend %s on %s %s (%s)", backend.name, device, dtype, why)
            return backend
    raise EngineError(f"no attention backend for {device} {dtype} head_dim {head_dim}: {'; '.join(reasons)}")


def build_backend(
    name: str, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
) -> AttentionBackend | str:
    """The backend of this name, or the reason why there is none for this combination."""
    multiple = BLOCK_SIZES.get(name, 1)
    if block_size % multiple:  # before a package is imported, which takes seconds
        return f"block size {block_size} is not a multiple of {multiple}"
    try:
        backend = BACKENDS[name](device, dtype, block_size)
    except ImportError as error:
        return str(error)
    return backend.supports(device, dtype, head_dim, block_size) or backend


def check_backend(
    name: str, device: torch.device, dtype: torch.dtype, head_dim: int, block_size: int
) -> None:
    """Raises OptionsError when a backend that was asked for does not serve this combination."""
    if name == "auto":
        return
    found = build_backend(name, device, dtype, head_dim, block_size)
    if isinstance(found, str):
        raise OptionsError(f"attention {name} does not serve {device}: {found}")


def _usable(
    names: tuple[str, ...],
    device: torch.device,
    dtype: torch.dtype,
    head_dim: int,
    block_size: int,
    reasons: list[str],
) -> list[AttentionBackend]:
    usable = []
    for name in names:
        backend = build_backend(name, device, dtype, head_dim, block_size)
        if isinstance(backend, str):
            reasons.append(f"{name}: {backend}")
        else:
            usable.append(backend)
    return usable


def fastest(
    backends: list[AttentionBackend], measure: Measure, reasons: list[str]
) -> AttentionBackend | None:
    """The backend with the smallest geometric mean over the measured steps; a single one is not measured.

    Args:
        measure: may raise for a backend that cannot serve after all.
        reasons: gets what was measured, and why candidates dropped out.
    """
    if len(backends) < 2:
        return backends[0] if backends else None
    seconds: dict[str, dict[str, float]] = {}
    for backend in backends:
        try:
            seconds[backend.name] = measure(backend)
        except Exception as error:
            reasons.append(f"{backend.name} failed when measured: {type(error).__name__}: {error}")
    measured = [backend for backend in backends if backend.name in seconds]
    if not measured:
        return None
    for step in seconds[measured[0].name]:
        times = ", ".join(
            f"{name} {step_seconds[step] * 1e6:.1f} us" for name, step_seconds in seconds.items()
        )
        reasons.append(f"{step}: {times}")
    return min(measured, key=lambda b: math.fsum(math.log(value) for value in seconds[b.name].values()))
