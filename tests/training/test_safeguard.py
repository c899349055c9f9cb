"""The safeguard against a loss that jumps: it goes back to a state from before the jump, at half the rate."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from models.voxcpm.training.stages.optimization import Group, adamw, set_learning_rate
from models.voxcpm.training.vae.safeguard import KEPT, REMEMBER_EVERY, Safeguard


class Line:
    """One parameter under Adam that moves by one learning rate per step."""

    def __init__(self) -> None:
        self.parameter = nn.Parameter(torch.zeros(1))
        self.optimizer = adamw([self.parameter], weight_decay=0.0)
        set_learning_rate(self.optimizer, 1.0)
        self.safeguard = Safeguard([Group(self.optimizer, [self.parameter])])
        self.safeguard.remember()

    def step(self) -> None:
        self.parameter.grad = torch.ones(1)
        self.optimizer.step()


@pytest.fixture
def line() -> Line:
    return Line()


def test_a_steady_loss_is_left_alone(line: Line) -> None:
    assert not any(line.safeguard.check(loss) for loss in (5.0, 4.0, 4.5, 3.0, 3.5, 3.2))
    assert line.safeguard.rate_scale == 1.0 and line.safeguard.rollbacks == 0


@pytest.mark.parametrize("jump", [9.0, float("inf"), float("nan")])
def test_a_jump_restores_parameters_and_optimizer_and_halves_the_rate(line: Line, jump: float) -> None:
    line.safeguard.check(2.0)
    for _ in range(3):
        line.step()
    assert line.safeguard.check(jump)
    assert line.parameter.item() == 0.0
    assert all(not value.any() for value in line.optimizer.state[line.parameter].values())
    assert line.safeguard.rate_scale == 0.5 and line.safeguard.rollbacks == 1


def test_the_state_it_goes_back_to_is_the_oldest_kept(line: Line) -> None:
    remembered = [0.0]
    for stretch in range(1, REMEMBER_EVERY * (KEPT + 2) + 1):
        line.step()
        assert not line.safeguard.check(1.0)
        if stretch % REMEMBER_EVERY == 0:
            remembered.append(line.parameter.item())
    assert line.safeguard.check(50.0)
    assert line.parameter.item() == remembered[-KEPT]


def test_a_second_jump_from_the_same_state_works_as_well(line: Line) -> None:
    line.safeguard.check(1.0)
    for expected in (0.5, 0.25):
        line.step()
        assert line.safeguard.check(10.0)
        assert line.safeguard.rate_scale == expected and line.parameter.item() == 0.0
