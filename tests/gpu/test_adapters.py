"""Adapters in recorded steps: who has one speaks with it, nobody else notices, loading disturbs nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from benchmarks.gpu.checkpoints import make_checkpoint
from benchmarks.gpu.ours import relative
from engine.layers.low_rank import LowRank, LowRankPlace, turns_of
from models.lora.adapter import Adapter
from models.speech import SpeechRequest
from models.voxcpm import checkpoint as checkpoint_module
from models.voxcpm import engine as engine_module
from models.voxcpm import runner as runner_module
from models.voxcpm.adapters import adaptable
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.vae.adapted_decoder import adaptable_convolutions, vae_with
from tests.gpu.device import CUDA, DEVICE, RECORDED, needs_gpu

pytestmark = needs_gpu
OPTIONS = EngineOptions(
    max_num_seqs=4 if CUDA else 2,
    max_model_len=128 if CUDA else 48,
    silence_guard=False,
    ratio_cap=False,
    attention_backend="triton",
    graphs=RECORDED,
    enable_prefix_caching=False,
    adapter_slots=8,
    adapter_layers="attention",
)
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
EVERYTHING = (*ATTENTION, "gate_proj", "up_proj", "down_proj", "lm_to_dit_proj", "enc_to_lm_proj")
STEPS = 10 if CUDA else 2
if TYPE_CHECKING:
    from engine.kernels.low_rank.slots import LowRankRows
Engines = Callable[..., VoxCPMEngine]
Spoken = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("tiny", tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="module")
def engines(tiny: Path) -> Iterator[Engines]:
    """Engines of fused layers, on a CPU too; those of the same options are one."""
    with pytest.MonkeyPatch.context() as patched:
        if not CUDA:
            from models.voxcpm.fused.model import fuse_model

            patched.setattr(checkpoint_module, "pack_model", lambda model, _: fuse_model(model))
            for module in (engine_module, runner_module):
                patched.setattr(module, "runs_triton", lambda device: True)
        made: dict[tuple[object, ...], VoxCPMEngine] = {}

        def make(dtype: torch.dtype = torch.float32, own: str = "", **changes: object) -> VoxCPMEngine:
            key = (dtype, own, *sorted(changes.items()))
            if key not in made:
                checkpoint = load_checkpoint(tiny, str(DEVICE), dtype=dtype)
                made[key] = VoxCPMEngine(checkpoint, replace(OPTIONS, **changes))
            made[key].adapters.clear()
            return made[key]

        yield make
        for engine in made.values():
            engine.close()


def random_adapter(
    engine: VoxCPMEngine, seed: int, rank: int = 8, targets: tuple[str, ...] = ATTENTION
) -> Adapter:
    generator = torch.Generator().manual_seed(seed)
    layers = {
        name: LowRank(
            torch.randn(rank, width, generator=generator) / width**0.5,
            0.1 * torch.randn(height, rank, generator=generator),
        )
        for name, (height, width) in adaptable(engine.config).items()
        if name.endswith(targets)
    }
    return Adapter(layers, 1.0)


def with_decoder(engine: VoxCPMEngine, seed: int, beside: Adapter | None = None) -> Adapter:
    """All that adapters may change of the audio VAE's decoder, beside the layers of another one."""
    generator = torch.Generator().manual_seed(seed)
    layers = {
        name: LowRank(
            torch.randn(8, width, generator=generator) / width**0.5,
            0.03 * torch.randn(height, 8, generator=generator),
        )
        for name, (height, width) in adaptable_convolutions(engine.config.audio_vae_config).items()
    }
    return Adapter({**(beside.layers if beside else {}), **layers}, 1.0)


def request(name: str, adapter: str | None, patches: int = 3) -> SpeechRequest:
    return SpeechRequest(
        name, "hello world " * (1 + len(name) % 2), seed=sum(map(ord, name)), min_seconds=1.0, cfg_value=2.0,
        inference_timesteps=STEPS, adapter=adapter, max_seconds=patches * 0.01,
    )  # fmt: skip


def speak(
    engine: VoxCPMEngine,
    *requests: SpeechRequest,
    each_step: Callable[[int], None] = lambda _: None,
    heard: bool = False,
) -> Spoken:
    """Latents of each request, or its audio where they are to be `heard`."""
    patch = engine.info.patch_seconds
    found: dict[str, list[np.ndarray]] = {}
    for wanted in requests:
        patches = round(wanted.max_seconds / 0.01)
        engine.add_request(replace(wanted, max_seconds=patches * patch))
        found[wanted.request_id] = []
    step = 0
    while engine.has_unfinished():
        each_step(step)
        step += 1
        for output in engine.step():
            assert output.finish_reason != "error", output.error
            if output.audio.size:
                found[output.request_id].append(output.audio if heard else output.latents)
    return {name: np.stack(parts) for name, parts in found.items()}


def additions(
    parts: tuple[int, ...], size: int, rank: int, branches: int, repeat: int, entries: int
) -> tuple[torch.Tensor, LowRankRows, torch.Tensor, torch.Tensor]:
    """x, what five slots add to some of its rows, what that is (float64), and which rows get something."""
    from engine.kernels.low_rank.slots import LowRankRows, LowRankSlots, Zeros

    dtype = torch.bfloat16 if CUDA else torch.float32
    if not CUDA:
        parts, size = tuple(part // 16 for part in parts), size // 32
    outputs, up = sum(parts), len(parts) * rank * size
    draw = torch.Generator().manual_seed(1)
    storage = torch.randn(5, up + outputs * rank, generator=draw)
    storage[:, :up] /= size**0.5
    slots = torch.randint(-1, 5, (entries,), generator=draw, dtype=torch.int32)
    slots[0] = 3
    x = torch.randn(branches * entries * repeat, size, generator=draw).to(dtype)
    storage, of_row = storage.to(dtype), slots.repeat_interleave(repeat).repeat(branches)
    added = torch.zeros(len(x), outputs, dtype=torch.float64)
    for slot in range(5):
        mine, downs = of_row == slot, storage[slot, :up].view(len(parts), rank, size).double()
        ups = storage[slot, up:].view(outputs, rank).double().split(parts)
        pieces = [x[mine].double() @ down.T @ piece.T for down, piece in zip(downs, ups, strict=True)]
        added[mine] = torch.cat(pieces, dim=1)
    weights = LowRankSlots(storage.to(DEVICE), LowRankPlace(0, up, size, parts), rank)
    turns = torch.from_numpy(turns_of(slots.numpy())).to(DEVICE)
    return x.to(DEVICE), LowRankRows(weights, turns, Zeros(DEVICE), branches), added, of_row >= 0


@pytest.mark.parametrize(
    ("parts", "size", "rank", "branches", "repeat", "entries"),
    [
        ((2048, 256, 256), 2048, 32, 1, 1, 1),
        ((2048, 256, 256), 1024, 32, 2, 11, 1),
        ((1024,), 2048, 64, 2, 4, 64),
        ((2048, 256, 256), 2048, 16, 1, 1, 64),
        ((6144, 6144), 2048, 32, 1, 1, 5),
        ((1024,), 4096, 128, 2, 11, 3),
        ((2048, 256, 256), 2048, 32, 1, 1, 700),
    ],
)
def test_the_kernel_adds_what_plain_products_add(
    parts: tuple[int, ...], size: int, rank: int, branches: int, repeat: int, entries: int
) -> None:
    from engine.kernels.low_rank.around import with_low_rank

    dtype = torch.bfloat16 if CUDA else torch.float32
    x, rows, added, adapted = additions(parts, size, rank, branches, repeat, entries)
    y = torch.randn(len(x), sum(rows.slots.place.outputs), generator=torch.Generator().manual_seed(2)).to(
        dtype
    )
    expected, result = y.double() + added, y.to(DEVICE)
    with_low_rank(lambda: result, x, rows)
    error = (result.cpu().double() - expected).norm() / expected.norm()
    assert error < (5e-3 if dtype is torch.bfloat16 else 1e-5)
    assert torch.equal(result.cpu()[~adapted], y[~adapted])


@pytest.mark.parametrize(
    ("parts", "size", "rank", "branches", "repeat", "entries", "split"),
    [
        ((2048, 256, 256), 2048, 32, 1, 1, 1, False),
        ((2048,), 2048, 64, 1, 1, 4, True),
        ((2048, 256, 256), 1024, 32, 2, 11, 1, False),
        ((1024,), 2048, 16, 2, 11, 2, True),
        ((1024,), 4096, 32, 2, 11, 1, True),
    ],
)
def test_a_product_of_few_rows_adds_it_itself_every_time(
    parts: tuple[int, ...], size: int, rank: int, branches: int, repeat: int, entries: int, split: bool
) -> None:
    from engine.kernels.linear.split_linear import adds_itself, partial_linear, split_linear

    dtype = torch.bfloat16 if CUDA else torch.float32
    x, rows, added, _ = additions(parts, size, rank, branches, repeat, entries)
    draw = torch.Generator().manual_seed(2)
    weight = (torch.randn(sum(rows.slots.place.outputs), x.shape[-1], generator=draw) / size**0.5).to(dtype)
    expected = x.cpu().double() @ weight.double().T + added
    weight = weight.to(DEVICE)
    assert adds_itself(x, weight, rows, split) or not CUDA
    product = partial_linear if split else split_linear
    found = [product(x, weight, low_rank=rows) for _ in range(300 if CUDA else 2)]
    for y in found:
        assert torch.equal(y, found[0])
    result = found[0].double().cpu().view(-1, *expected.shape).sum(0)
    assert (result - expected).norm() / expected.norm() < (5e-3 if dtype is torch.bfloat16 else 1e-5)


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


def test_decoders_of_a_mixed_batch_sound_as_each_alone_and_plain_rows_keep_their_bits(
    engines: Engines,
) -> None:
    """Also in slots that other decoders had before, and while one more is loaded."""
    engine = engines()
    adapters = {"steps": random_adapter(engine, 1), "decoder": with_decoder(engine, 2)}
    adapters["both"] = with_decoder(engine, 3, adapters["steps"])
    for name, adapter in adapters.items():
        engine.adapters.add(name, adapter)
    work = [request("ab", None), request("b", "decoder"), request("cd", "both"), request("d", "decoder")]
    for batch in (work[: OPTIONS.max_num_seqs], work[-OPTIONS.max_num_seqs :]):
        together = speak(engine, *batch, heard=True)
        for wanted in batch:
            alone = speak(engine, wanted, heard=True)[wanted.request_id]
            assert relative(together[wanted.request_id], alone) < (0.02 if CUDA else 1e-3), wanted.request_id
    loading = threading.Thread(target=engine.adapters.add, args=("more", with_decoder(engine, 4)))
    beside = speak(
        engine, *work[:2], heard=True, each_step=lambda step: loading.start() if step == 1 else None
    )
    loading.join()
    without = speak(engine, work[0], replace(work[1], adapter=None), heard=True)
    np.testing.assert_array_equal(beside["ab"], without["ab"])
    assert relative(beside["b"], without["b"]) > 0.05


def test_a_decoder_of_its_own_decodes_as_the_weights_it_is_merged_into(engines: Engines) -> None:
    engine = engines()
    adapter = with_decoder(engine, 5)
    engine.adapters.add("anna", adapter)
    latents = speak(engine, request("ab", "anna"))["ab"]
    sound = speak(engine, request("ab", "anna"), heard=True)["ab"]
    vae = vae_with(engine.checkpoint.vae, dict(adapter.scaled()))
    with torch.inference_mode():
        frames = torch.from_numpy(latents).flatten(0, 1).T[None].to(DEVICE)
        expected = vae.decode(frames).flatten().cpu().numpy()
    assert relative(sound.flatten(), expected) < (0.02 if CUDA else 1e-3)


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_decodes_by_several_decoders_wait_for_nothing(engines: Engines) -> None:
    engine = engines(torch.bfloat16)
    for seed in range(2):
        engine.adapters.add(str(seed), with_decoder(engine, seed))
    speak(engine, request("ab", "0"), request("b", "1"))
    programs = engine._runner._programs._programs
    waveforms = programs.for_patches(4, False)._waveforms
    decoders = [engine.adapters.get(name).decoder for name in "01"]
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        shape = programs.for_patches(4, False).shape
        waiting = [waveforms.launch(shape, [None, *decoders, decoders[0]]) for _ in range(2)]
    finally:
        torch.cuda.set_sync_debug_mode(before)
    for copy in waiting:
        assert np.isfinite(copy.wait()).all()
        copy.give_back()


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
