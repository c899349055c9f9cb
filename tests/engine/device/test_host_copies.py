"""To other devices than GPUs a copy is a copy, in the target's type; `tests/gpu` has those that travel."""

from __future__ import annotations

import torch

from engine.device.host_copies import HostCopies


def test_values_are_there_and_of_the_type_of_the_target() -> None:
    source, target = torch.randn(30, 70), torch.empty(70, 30, dtype=torch.bfloat16)
    copies = HostCopies("cpu")
    copies.copy(target, source.t())
    copies.finish()
    assert torch.equal(target, source.t().bfloat16())
