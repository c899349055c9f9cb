"""Steps with adapters in slots, by the forms for CUDA in Triton's interpreter: as the plain forms speak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from triton.runtime.interpreter import GridExecutor

from engine.device.cuda_graphs import GraphRecorder
from engine.errors import OptionsError, RequestError
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.options import AdapterLayers
from tests.models.conftest import assert_close, latents, run
from tests.models.lora.conftest import ADAPTED, ATTENTION, OPTIONS, Fused, clip, random_adapter
from tests.models.lora.plan import PLAN


@pytest.mark.timeout(300)
def test_programs_with_adapters_speak_as_the_plain_forms_do(
    make_engine: Callable[..., VoxCPMEngine], fused: Fused
) -> None:
    """Two at a time, of different ranks and products; who has none goes through programs without."""
    adapters = {"anna": random_adapter(0, 4), "ben": random_adapter(1, 20, ADAPTED)}
    plain, engine = make_engine(max_num_seqs=2), fused()
    engine._runner.prepare(PLAN)
    for name, adapter in adapters.items():
        plain.adapters.add(name, adapter)
        engine.adapters.add(name, adapter)
    for pair in ([clip("a", "anna"), clip("b", "ben")], [clip("c", None), clip("d", "ben")]):
        expected, actual = run(plain, *pair), run(engine, *pair)
        for name, outputs in expected.items():
            assert_close(latents(actual[name]), latents(outputs), 1e-4)
    assert engine._runner.adapters.num_copies == 2


@pytest.mark.timeout(300)
def test_free_steps_take_more_adapters_than_slots_in_turns(
    make_engine: Callable[..., VoxCPMEngine], fused: Fused, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, engine = make_engine(max_num_seqs=2), fused()
    monkeypatch.setattr(engine._runner.adapters, "num_slots", 1)
    engine._runner.adapters._free = [0]
    for seed, name in enumerate(("anna", "ben")):
        for each in (plain, engine):
            each.adapters.add(name, random_adapter(seed))
    work = [clip("a", "anna"), clip("b", "ben")]
    expected, actual = run(plain, *work), run(engine, *work)
    for name, outputs in expected.items():
        assert_close(latents(actual[name]), latents(outputs), 1e-4)
    assert engine._runner.adapters.num_copies >= 4


@pytest.mark.parametrize("layers", ["all", "attention"])
def test_the_first_request_with_an_adapter_records_nothing(
    fused: Fused, monkeypatch: pytest.MonkeyPatch, layers: AdapterLayers
) -> None:
    """Of the layers and the rank that slots have room for; every kernel is left out here.

    What needs more is recorded for all slots anew.
    """
    monkeypatch.setattr(GridExecutor, "__call__", lambda *given, **named: None)
    recorded: list[str] = []
    engine = fused(adapter_rank=20, adapter_layers=layers)
    engine._runner.builder.rehearse(PLAN)
    with monkeypatch.context() as patched:
        patched.setattr(GraphRecorder, "record", lambda self, compute, *_: recorded.append("one") or compute)
        engine._runner.prepare(PLAN)
        shapes, bank = len(PLAN.language_shapes()) + len(PLAN.patch_shapes()), engine._runner.adapters
        waveforms = len(recorded) - 2 * shapes
        assert waveforms >= 0 and bank.generation.layout.shape.rank == 32
        learnt = ADAPTED if layers == "all" else ATTENTION
        engine.adapters.add("anna", random_adapter(0, 17, learnt))
        run(engine, clip("z", None), clip("a", "anna"))
        assert len(recorded) == 2 * shapes + waveforms
        engine.adapters.add("ben", random_adapter(0, 33, ADAPTED))
        run(engine, clip("b", "ben"))
        assert len(recorded) > 2 * shapes + waveforms
        assert bank.generation.layout.shape.rank == 64


def test_a_gpu_takes_none_where_nobody_says_how_many(fused: Fused) -> None:
    engine = fused(adapter_slots=None)
    assert "adapters" not in engine.info.features and engine._runner.adapters is None
    with pytest.raises(RequestError, match="adapter_slots") as raised:
        engine.adapters.add("anna", random_adapter())
    assert (raised.value.param, raised.value.code) == ("adapter", "adapters_unsupported")
    with pytest.raises(OptionsError, match="adapter_rank needs adapter_slots"):
        replace(OPTIONS, adapter_slots=None, adapter_rank=8)
    with pytest.raises(OptionsError, match="between 1 and 128"):
        replace(OPTIONS, adapter_rank=129)
    with pytest.raises(OptionsError, match="adapter_layers must be one of all, attention"):
        replace(OPTIONS, adapter_layers="qkv")
