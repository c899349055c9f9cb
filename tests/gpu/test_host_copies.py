"""What goes to a device through pinned buffers arrives as it was, in pieces and in other types, too."""

from __future__ import annotations

import torch

from engine.device.host_copies import HostCopies
from tests.gpu.device import DEVICE, needs_gpu

pytestmark = needs_gpu


def test_tensors_arrive_whatever_their_size_and_layout() -> None:
    copies = HostCopies(DEVICE, buffer_bytes=1024)
    sources = [torch.randn(size) for size in (1, 100, 512, 5000)]
    sources += [torch.randn(70, 30).t(), torch.zeros(0), torch.tensor(3.0)]
    targets = [torch.empty(source.shape, dtype=torch.bfloat16, device=DEVICE) for source in sources]
    part = torch.zeros(100, 30, device=DEVICE)
    for target, source in zip(targets, sources, strict=True):
        copies.copy(target, source)
    copies.copy(part[20:90], sources[4].t())
    copies.finish()
    for target, source in zip(targets, sources, strict=True):
        assert torch.equal(target.cpu(), source.bfloat16())
    assert torch.equal(part[20:90].cpu(), sources[4].t())
    assert not part[:20].any() and not part[90:].any()
