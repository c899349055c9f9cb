"""What goes to a device and comes back; on the CPU, where nothing is on its way."""

from __future__ import annotations

import numpy as np
import torch

from engine.device.staging import Readback, Staging


def test_what_is_sent_stands_in_the_tensor() -> None:
    target = torch.zeros(3)
    staging = Staging(target)
    for value in (1.0, 2.0):
        staging.hosts[staging.take()][:] = value
        staging.send()
        assert target.tolist() == [value] * 3


def test_a_copy_keeps_what_the_tensor_held_when_it_was_taken() -> None:
    source = torch.zeros(4, 2)
    readback = Readback(source)
    copies = []
    for value in range(5):  # more than there are buffers at first
        source[:] = value
        copies.append(readback.take(value))
    source[:] = -1
    for value, copy in enumerate(copies):
        np.testing.assert_array_equal(copy.wait(), np.full((value, 2), value))


def test_a_copy_that_was_given_back_makes_room_for_another() -> None:
    readback = Readback(torch.zeros(4), count=1)
    first = readback.take(2)
    assert readback.take(2) is not first
    first.give_back()
    assert readback.take(3) is first
