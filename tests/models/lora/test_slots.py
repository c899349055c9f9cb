"""Steps with adapters in slots, by the forms for CUDA in Triton's interpreter: as the plain forms speak."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from triton.runtime.interpreter import GridExecutor

from engine.device.cuda_graphs import GraphRecorder
from engine.errors import OptionsError, RequestError
from models.voxcpm import checkpoint as checkpoint_module
from models.voxcpm import engine as engine_module
from models.voxcpm import runner as runner_module
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.fused.model import fuse_model
from models.voxcpm.options import AdapterLayers
from models.voxcpm.programs import step_programs
from models.voxcpm.programs.step_programs import ProgramPlan
from tests.models.conftest import assert_close, latents, request, run
from tests.models.lora.conftest import ADAPTED, ATTENTION, CHECKPOINT, random_adapter

PLAN = ProgramPlan(2, 2, 48, text_chunks=((2, 16),), audio_chunks=((1, 16),), decode_rows=[2])
OPTIONS = EngineOptions(
    max_num_seqs=2, max_model_len=48, block_size=8, silence_guard=False, attention_backend="triton",
    graphs="off", adapter_slots=2, enable_prefix_caching=False,
)  # fmt: skip
Fused = Callable[..., VoxCPMEngine]


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fused]:
    monkeypatch.setattr(checkpoint_module, "pack_model", lambda model, _: fuse_model(model))
    monkeypatch.setattr(step_programs, "SHORT_CONTEXT", 48)
    made = []

    def make(**changes: Any) -> VoxCPMEngine:
        with monkeypatch.context() as patched:
            for module in (engine_module, runner_module):
                patched.setattr(module, "runs_triton", lambda device: True)
            made.append(VoxCPMEngine(load_checkpoint(CHECKPOINT, "cpu"), replace(OPTIONS, **changes)))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def clip(name: str, adapter: str | None) -> Any:
    return request(
        name, max_seconds=0.02, min_seconds=0.02, inference_timesteps=2, seed=ord(name), adapter=adapter
    )


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
    engine._runner.rehearse(PLAN)
    with monkeypatch.context() as patched:
        patched.setattr(GraphRecorder, "record", lambda self, compute: recorded.append("one") or compute)
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
    with pytest.raises(OptionsError, match="at most 128"):
        replace(OPTIONS, adapter_rank=129)
    with pytest.raises(OptionsError, match="adapter_layers must be one of all, attention"):
        replace(OPTIONS, adapter_layers="qkv")
