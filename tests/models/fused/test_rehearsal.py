"""A few layers of a fused stack launch every kernel that all of them do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from engine.kernels.launch import kernel_on
from engine.kernels.linear.split_tiling import MAX_ROWS
from models.transformer.fused import fuse_layers
from models.transformer.rehearsal import few_layers, to_run
from models.transformer.stack import Transformer, bidirectional_attention
from models.voxcpm.config import RopeScaling, TransformerConfig

LAYERS = 6
ANY = range(1 << 20)
Form = tuple[Any, ...]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Form]:
    """What is launched, each with all that Triton compiles a kernel for."""
    forms: list[Form] = []
    launch = kernel_on.__getitem__

    def noted(self: kernel_on, grid: tuple[int, ...]) -> Callable[..., None]:
        def run(*args: Any, **options: Any) -> None:
            types = tuple((tuple(x.shape), x.dtype) if isinstance(x, Tensor) else x for x in args)
            named = tuple(sorted((name, str(value)) for name, value in options.items()))
            forms.append((self._kernel.fn.__name__, grid, types, named))
            launch(self, grid)(*args, **options)

        return run

    monkeypatch.setattr(kernel_on, "__getitem__", noted)
    return forms


@pytest.mark.parametrize("limits", [(0, ()), (0, (ANY,)), (MAX_ROWS, ())], ids=["many", "halved", "few"])
@pytest.mark.parametrize("keep", [None, slice(-2, None)])
@torch.inference_mode()
def test_a_rehearsal_launches_every_form_of_every_kernel(
    limits: tuple[int, tuple[range, ...]], keep: slice | None, launched: list[Form]
) -> None:
    config = TransformerConfig(
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=LAYERS,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=64,
        rope_scaling=RopeScaling((1.0,) * 8, (1.0,) * 8, 64),
        kv_channels=16,
    )
    stack = Transformer(config).eval().requires_grad_(False)
    fuse_layers(stack, *limits)
    x, rope = torch.randn(1, 5, 48), stack.cos_sin(torch.arange(5))

    def forms() -> list[Form]:
        launched.clear()
        stack(x.clone(), rope, bidirectional_attention, keep)
        return list(launched)

    whole = forms()
    with few_layers():
        rehearsed = forms()
    assert set(rehearsed) == set(whole)
    assert 0 < len(rehearsed) < len(whole)
    assert forms() == whole


def test_the_layers_of_a_rehearsal_are_the_first_one_between_and_the_last() -> None:
    assert to_run("abcdef") == "abcdef"
    with few_layers():
        assert list(to_run("abcdef")) == ["a", "b", "f"]
        assert list(to_run("abc")) == ["a", "b", "c"]
        assert list(to_run("a")) == ["a"]
