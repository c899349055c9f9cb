"""How the ranks of one engine find each other.

They meet by a file in a folder that only this user can enter, and the group is known to nobody but its
holder: PyTorch's default group is not touched, so two engines in one process have nothing in common. On CPUs
gloo's connections are on the loopback interface; on CUDA it is NCCL, beside it symmetric memory for what it
is faster for, which is measured at the start (`symmetric.py`).
"""

from __future__ import annotations

import ctypes
import os
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed as dist

from engine.device.devices import on_device
from engine.parallel.group import Group, Place

if TYPE_CHECKING:
    from engine.parallel.follower import Follower
    from engine.parallel.ranks import Ranks

CONNECT_SECONDS = 60.0
"""For all ranks to be there."""
NCCL_SETTINGS = {
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_NCCL_ENABLE_MONITORING": "0",
}
"""All ranks are on one machine; NVLink multicast stays off; `watch.py` says when a rank hangs."""
EXCHANGE_SECONDS = 3600.0
"""What a rank waits for the others. `watch.py` decides earlier whether one is gone."""


def lead(ranks: Ranks, told: list[dict[str, Any]], device: torch.device) -> Group:
    """Rank 0's side: starts the others, which `follow_into` the group. told: see `Ranks.start`.

    Raises OSError, RuntimeError, DeviceLostError; the ranks are to be closed then, too.
    """
    ranks.start(told)
    ranks.answers()  # all are there
    group = ranks.meet(partial(connect, ranks.place, device))
    ranks.answers()  # all have met
    ranks.joined(group)
    return group


def follow_into(follower: Follower, told: dict[str, Any], device: torch.device) -> Group:
    """The side of another rank, with what it was told first."""
    place = Place(told["rank"], told["size"], told["store"], told["name"])
    follower.answer("ready")
    follower.group = connect(place, device)
    follower.answer("connected")
    return follower.group


def connect(place: Place, device: torch.device) -> Group:
    """Waits for the other ranks. Raises RuntimeError when they do not come."""
    store = dist.FileStore(place.store, place.size)
    store.set_timeout(timedelta(seconds=CONNECT_SECONDS))
    if device.type != "cuda":
        return Group(place, _gloo(store, place))
    from engine.parallel.symmetric import choose_sums  # with Triton, which PyTorch for CPUs does not bring

    with on_device(device):
        backend = _nccl(store, place)
        plain = Group(place, backend)
        plain.all_reduce(torch.zeros(1, device=device))  # NCCL connects with the first one
        torch.cuda.synchronize(device)
        return Group(place, backend, choose_sums(plain, backend, place, store, device))


def _gloo(store: dist.Store, place: Place) -> dist.Backend:
    options = dist.ProcessGroupGloo._Options()
    options._devices = [dist.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
    options._timeout = timedelta(seconds=CONNECT_SECONDS)
    backend = dist.ProcessGroupGloo(store, place.rank, place.size, options)
    backend._set_default_timeout(timedelta(seconds=EXCHANGE_SECONDS))
    return backend


def _nccl(store: dist.Store, place: Place) -> dist.Backend:
    for name, value in NCCL_SETTINGS.items():
        os.environ.setdefault(name, value)
    options = dist.ProcessGroupNCCL.Options()
    options._timeout = timedelta(seconds=EXCHANGE_SECONDS)
    backend = dist.ProcessGroupNCCL(store, place.rank, place.size, options)
    # Its destructor waits for recorded steps, which may live longer; `Group.close` ends it.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(backend))
    return backend
