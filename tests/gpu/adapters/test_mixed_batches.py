"""Adapters in recorded steps: who has one speaks with it, nobody else notices, loading disturbs nobody."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from benchmarks.gpu.engines.ours import relative
from models.lora.adapter import Adapter
from models.voxcpm.engine import VoxCPMEngine
from tests.gpu.adapters.adapted import ATTENTION, OPTIONS, Engines, random_adapter, request, speak
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = needs_gpu
EVERYTHING = (*ATTENTION, "gate_proj", "up_proj", "down_proj", "lm_to_dit_proj", "enc_to_lm_proj")


def test_rows_of_a_mixed_batch_speak_as_each_alone(engines: Engines) -> None:
    engine = engines()
    for name, rank in (("low", 4), ("high", 40)):
        engine.adapters.add(name, random_adapter(engine, rank, rank))
    work = [request("ab", "low"), request("b", "high"), request("cd", None), request("d", "low")]
    work = work[: OPTIONS.max_num_seqs]
    alone = [speak(engine, wanted) for wanted in work]
    together = speak(engine, *work)
    for found in alone:
        for name, latents in found.items():
            assert relative(together[name], latents) < 1e-3, name
    plain = speak(engine, request("ab", None))["ab"]
    assert relative(together["ab"], plain) > 1e-2


@pytest.mark.parametrize("targets", [ATTENTION, EVERYTHING])
def test_an_adapter_speaks_as_the_weights_it_is_merged_into(
    engines: Engines, targets: tuple[str, ...]
) -> None:
    engine = engines()
    adapter = random_adapter(engine, 1, 24, targets)
    engine.adapters.add("anna", adapter)
    actual = speak(engine, request("ab", "anna"), request("b", "anna"))
    merged = engines(own=targets[-1], graphs="off")
    with torch.inference_mode():
        merge(merged, adapter)
    expected = speak(merged, request("ab", None), request("b", None))
    for name, latents in expected.items():
        assert relative(actual[name], latents) < 2e-3, name


def merge(engine: VoxCPMEngine, adapter: Adapter) -> None:
    """Add an adapter to the weights that fused layers hold."""
    model = engine.checkpoint.model
    stacks = {
        "base_lm": model.base_lm,
        "residual_lm": model.residual_lm,
        "feat_decoder.estimator.decoder": model.dit.decoder,
    }
    rows = {"q_proj": "qkv", "k_proj": "qkv", "v_proj": "qkv", "o_proj": "output", "gate_proj": "gate_up",
            "up_proj": "gate_up", "down_proj": "down"}  # fmt: skip
    for name, (down, up) in adapter.scaled():
        delta = (up @ down).to(DEVICE)
        stack = next((stack for stack in stacks if name.startswith(f"{stack}.layers.")), None)
        if stack is None:
            model.get_submodule(name).weight.add_(delta)
            continue
        number, _, kind = name.removeprefix(f"{stack}.layers.").split(".")
        layer = stacks[stack].layers[int(number)]
        weight = getattr(layer, rows[kind])
        heads, size = layer.num_heads * layer.head_dim, layer.num_kv_heads * layer.head_dim
        begin = {"k_proj": heads, "v_proj": heads + size, "up_proj": len(weight) // 2}.get(kind, 0)
        weight[begin : begin + len(delta)].add_(delta)


def test_plain_rows_are_the_same_in_every_bit_beside_adapters(engines: Engines) -> None:
    engine = engines(torch.bfloat16 if CUDA else torch.float32)
    engine.adapters.add("anna", random_adapter(engine, 3))
    for other in ("b", "d"):
        without = speak(engine, request("ab", None), request(other, None))
        beside = speak(engine, request("ab", None), request(other, "anna"))
        np.testing.assert_array_equal(beside["ab"], without["ab"])
        assert not np.array_equal(beside[other], without[other])


@pytest.mark.skipif(not CUDA, reason="only recorded steps may differ")
def test_recorded_unrecorded_and_free_steps_agree_with_adapters(engines: Engines) -> None:
    work = [request("ab", "anna"), request("b", "ben"), request("cd", None)]
    spoken = {}
    for graphs in ("auto", "static", "off"):
        engine = engines(graphs=graphs)
        for seed, name in enumerate(("anna", "ben")):
            engine.adapters.add(name, random_adapter(engine, seed, 8 + 16 * seed, EVERYTHING))
        spoken[graphs] = speak(engine, *work)
    for name, latents in spoken["auto"].items():
        np.testing.assert_array_equal(latents, spoken["static"][name])
        assert relative(latents, spoken["off"][name]) < 1e-3, name


def test_adapters_that_lost_their_slots_come_back_the_same(engines: Engines) -> None:
    """In one slot, one after the other; and all in one batch, which then takes several launches."""
    roomy, narrow = engines(), engines(adapter_slots=1)
    before = roomy._runner.adapters.num_copies
    names = ("anna", "ben", "carl")[: OPTIONS.max_num_seqs]
    for engine in (roomy, narrow):
        for seed, name in enumerate(names):
            engine.adapters.add(name, random_adapter(engine, seed, 8))
    first, second = ([speak(narrow, request(name, name))[name] for name in names] for _ in range(2))
    for name, once, again in zip(names, first, second, strict=True):
        np.testing.assert_array_equal(once, again)
        assert relative(once, speak(roomy, request(name, name))[name]) < 1e-3, name
    assert narrow._runner.adapters.num_copies >= 2 * len(names)
    assert roomy._runner.adapters.num_copies - before <= len(names)
    work = [request(name, name) for name in names]
    expected, actual = speak(roomy, *work), speak(narrow, *work)
    for name in names:
        assert relative(actual[name], expected[name]) < 1e-3, name


def test_clips_whose_adapters_came_before_their_turn_sound_as_alone(engines: Engines) -> None:
    """All are copied when their requests are taken; some wait while others run."""
    engine = engines(adapter_slots=3)
    bank = engine._runner.adapters
    names = ("anna", "ben", "carl")
    for seed, name in enumerate(names):
        engine.adapters.add(name, random_adapter(engine, 20 + seed, 8))
    work = [request(name, name, 1) for name in names]
    work += [request(name * 2, name, 3) for name in names if CUDA]
    together = speak(engine, *work)
    assert bank.num_copies == bank.num_fetched == 3
    for wanted in work:
        alone = speak(engine, wanted)[wanted.request_id]
        assert relative(together[wanted.request_id], alone) < 1e-3, wanted.request_id


def test_loading_beside_running_streams_changes_no_bit(engines: Engines) -> None:
    engine = engines(torch.bfloat16 if CUDA else torch.float32)
    engine.adapters.add("anna", random_adapter(engine, 0, 16))
    patches = 12 if CUDA else 3
    work = [request("ab", "anna", patches), request("b", None, patches)]
    expected = speak(engine, *work)
    threads: list[threading.Thread] = []

    def load(step: int) -> None:
        adapter = random_adapter(engine, 10 + step, 16)
        thread = threading.Thread(target=engine.adapters.add, args=(f"new{step}", adapter))
        thread.start()
        threads.append(thread)

    actual = speak(engine, *work, each_step=load)
    for thread in threads:
        thread.join()
    for name, latents in expected.items():
        np.testing.assert_array_equal(actual[name], latents)
    engine.adapters.add("wider", random_adapter(engine, 99, 48, EVERYTHING))
    later = speak(engine, *work)
    for name, latents in expected.items():
        assert relative(later[name], latents) < (0.05 if CUDA else 1e-3), name


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_a_step_that_brings_an_adapter_to_the_device_waits_for_nothing(engines: Engines) -> None:
    engine = engines(torch.bfloat16)
    bank = engine._runner.adapters
    for seed in range(3):
        engine.adapters.add(str(seed), random_adapter(engine, seed, 16))
    speak(engine, request("ab", "0"), request("b", None))
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        bank.fetch(engine.adapters.get("1"))
        slots = bank.place([engine.adapters.get("1"), None, engine.adapters.get("2")])
        bank.read(slots)
    finally:
        torch.cuda.set_sync_debug_mode(before)
    assert slots[1] == -1 and len({*slots}) == 3
