"""The inputs of a program: named tensors at fixed addresses, brought to the device by one copy.

inputs = Inputs({"slots": (torch.int64, (4,)), "noise": (torch.float32, (4, 2, 64))}, device)
host = inputs.take()               # numpy arrays of the same names
host["slots"][:] = 7
inputs.send()                      # inputs["slots"] changes in order with the kernels
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from engine.device.staging import Staging

Fields = dict[str, tuple[torch.dtype, tuple[int, ...]]]
"""Name -> type and shape."""
_ALIGNMENT = 64  # bytes


class Inputs:
    """See the module; zeros at first."""

    def __init__(self, fields: Fields, device: torch.device) -> None:
        total = sum(_padded(_num_bytes(field)) for field in fields.values())
        storage = torch.zeros(total, dtype=torch.uint8, device=device)
        self._tensors = _views(storage, fields)
        self.staging = Staging(storage)
        self._hosts = [
            {name: view.numpy() for name, view in _views(host, fields).items()} for host in self.staging.hosts
        ]

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def take(self) -> dict[str, np.ndarray]:
        """What the next `send` brings; it may hold the values of an earlier one."""
        return self._hosts[self.staging.take()]

    def send(self) -> None:
        """Copy what was taken to the device."""
        self.staging.send()


def _views(storage: Tensor, fields: Fields) -> dict[str, Tensor]:
    views, begin = {}, 0
    for name, field in fields.items():
        dtype, size = field
        views[name] = storage[begin : begin + _num_bytes(field)].view(dtype).view(size)
        begin += _padded(_num_bytes(field))
    return views


def _num_bytes(field: tuple[torch.dtype, tuple[int, ...]]) -> int:
    dtype, size = field
    return dtype.itemsize * int(np.prod(size))


def _padded(num_bytes: int) -> int:
    return -(-num_bytes // _ALIGNMENT) * _ALIGNMENT
