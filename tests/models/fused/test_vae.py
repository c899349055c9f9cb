"""The decoder's form for CUDA gives what the plain streaming decoder gives; its kernels are interpreted."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from models.voxcpm.fused import vae_stages
from models.voxcpm.fused.vae import FusedDecoder
from models.voxcpm.fused.vae_stages import (
    Arithmetic,
    Call,
    DepthwiseStage,
    Signal,
)
from models.voxcpm.fused.vae_tiles import Tile, conv_tile, depthwise_tile, runs, separable_tile
from models.voxcpm.vae.adapted_decoder import vae_with
from models.voxcpm.vae.audio_vae import CausalConv1d
from models.voxcpm.vae.streaming_vae import StreamingDecoder
from tests.engine.compiler import compiled
from tests.models.vae.shapes import SHAPES, make_vae, random_decoder

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
MANY_PROCESSORS = 10_000


def pair(shape: str, num_slots: int, **options: object) -> tuple[StreamingDecoder, FusedDecoder]:
    vae = make_vae(shape).to(DEVICE)
    return StreamingDecoder(vae, num_slots), FusedDecoder(vae, num_slots, **{"precision": "ieee"} | options)


def slots_of(*slots: int) -> torch.Tensor:
    return torch.tensor(slots, device=DEVICE)


def difference(a: torch.Tensor, b: torch.Tensor) -> float:
    assert a.shape == b.shape
    return float((a - b).abs().max() / b.abs().max())


@pytest.mark.parametrize("shape", SHAPES)
@torch.inference_mode()
def test_streams_of_different_ages_sound_and_are_remembered_as_in_the_plain_form(shape: str) -> None:
    check_streams(*pair(shape, 5))


@torch.inference_mode()
def test_the_smallest_tiles_give_the_same() -> None:
    check_streams(*pair("conditioned", 5, processors=MANY_PROCESSORS))


@pytest.mark.parametrize("steps", [1, 4])
@torch.inference_mode()
def test_a_depthwise_convolution_and_its_product_may_be_two_kernels(
    monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    tile = Tile(16, 16, 0, 4, 1, None, steps)
    monkeypatch.setattr(vae_stages, "separable_tile", lambda *_: None)
    monkeypatch.setattr(vae_stages, "depthwise_tile", lambda *_: tile)
    check_streams(*pair("depthwise", 5))


@torch.inference_mode()
def test_rows_of_several_frames_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    tile = Tile(16, 16, 16, 4, 1, None, 3)
    monkeypatch.setattr(vae_stages, "separable_tile", lambda *_: tile)
    check_streams(*pair("conditioned", 5))


def check_streams(plain: StreamingDecoder, fused: FusedDecoder) -> None:
    """Streams begin at different patches in any order of rows; slot 3 stays untouched."""
    for decoder in (plain, fused):
        decoder._storage.fill_(0.5)
    batches = [(4,), (0, 2, 4), (2, 1), (1, 4, 0, 2)]
    for patch, batch in enumerate(batches):
        latents = torch.randn(len(batch), 2, 8, device=DEVICE)
        expected, heard = (decoder.decode(latents, slots_of(*batch)) for decoder in (plain, fused))
        assert difference(heard, expected) <= 1e-5, patch
    assert difference(fused._storage, plain._storage) <= 1e-5
    assert (fused._storage[3] == 0.5).all()


@pytest.mark.parametrize("shape", ["depthwise", "dense"])
@torch.inference_mode()
def test_a_history_of_any_length_starts_a_stream_and_disturbs_no_other(shape: str) -> None:
    plain, fused = pair(shape, 3)
    for length in (0, 1, 6):
        history, latents = torch.randn(length, 2, 8, device=DEVICE), torch.randn(2, 2, 8, device=DEVICE)
        for decoder in (plain, fused):
            decoder._storage[[0, 2]] = 0.25
            decoder.start(1, history)
            assert (decoder._storage[[0, 2]] == 0.25).all()
        assert (
            difference(fused.decode(latents, slots_of(1, 2)), plain.decode(latents, slots_of(1, 2))) <= 1e-5
        ), length


@torch.inference_mode()
def test_a_stream_decodes_as_the_whole_does() -> None:
    vae = make_vae("conditioned").to(DEVICE)
    latents = torch.randn(9, 2, 8, device=DEVICE)
    whole = vae.decode(latents.flatten(0, 1).T[None])[0]
    fused = FusedDecoder(vae, 2, precision="ieee")
    fused.start(1, latents[:4])
    heard = torch.cat([fused.decode(patch[None], slots_of(1)) for patch in latents[4:]], dim=1)
    assert difference(heard, whole[:, -heard.shape[1] :]) <= 1e-5


@torch.inference_mode()
def test_slots_may_be_a_column_of_a_table() -> None:
    plain, fused = pair("depthwise", 4)
    latents, table = torch.randn(3, 2, 8, device=DEVICE), slots_of(2, 3, 0, 3, 1, 3).view(3, 2)
    for _ in range(2):
        assert difference(fused.decode(latents, table[:, 0]), plain.decode(latents, table[:, 0])) <= 1e-5


@torch.inference_mode()
def test_rows_without_a_sequence_share_the_spare_slot() -> None:
    plain, fused = pair("depthwise", 4)
    latents = torch.randn(4, 2, 8, device=DEVICE)
    for _ in range(3):
        expected = plain.decode(latents[:1], slots_of(2))
        heard = fused.decode(latents, slots_of(2, 3, 3, 3))
        assert difference(heard[:1], expected) <= 1e-5
    assert torch.isfinite(fused._storage).all()
    assert (fused._storage[:2] == 0).all()


@torch.inference_mode()
def test_another_decoder_of_the_same_slots_is_what_it_is_in_the_plain_form() -> None:
    plain, fused = pair("depthwise", 3, processors=2)
    config = make_vae("depthwise").config
    other = vae_with(make_vae("depthwise").to(DEVICE), random_decoder(config))
    decoders = (plain, plain.of(other)), (fused, fused.of(other))
    assert decoders[1][1]._arithmetic == fused._arithmetic
    for slot, number in ((0, 0), (1, 1), (0, 0), (1, 1), (0, 1)):
        latents = torch.randn(1, 2, 8, device=DEVICE)
        expected, heard = (pairs[number].decode(latents, slots_of(slot)) for pairs in decoders)
        assert difference(heard, expected) <= 1e-5
    assert difference(fused._storage, plain._storage) <= 1e-5


@pytest.mark.parametrize("tile", [None, Tile(16, 16, 16, 4, 1, None, 3), Tile(32, 16, 16, 4, 1)])
@pytest.mark.parametrize("shape", SHAPES)
@torch.inference_mode()
def test_one_decode_serves_streams_of_several_decoders(
    shape: str, tile: Tile | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of tiles are streams' own, also where those have fewer; who has no decoder keeps every bit."""
    if tile is not None:
        monkeypatch.setattr(vae_stages, "separable_tile", lambda *_: tile)
        monkeypatch.setattr(vae_stages, "depthwise_tile", lambda *_: tile)
        monkeypatch.setattr(vae_stages, "conv_tile", lambda *_: tile)
    plain, fused = pair(shape, 6)
    layers = [random_decoder(make_vae(shape).config, seed) for seed in range(2)]
    of = [
        (decoder, *(decoder.of(vae_with(make_vae(shape).to(DEVICE), one)) for one in layers))
        for decoder in (plain, fused)
    ]
    for numbers in ((0, 1, 0, 2, 1), (2, 1, 2, 1, 1), (0, 0, 0, 0, 0)):
        latents, slots = torch.randn(5, 2, 8, device=DEVICE), slots_of(3, 0, 5, 1, 4)
        states = fused._storage.clone()
        expected, heard = (pairs[0].decode_each([pairs[n] for n in numbers], latents, slots) for pairs in of)
        assert difference(heard, expected) <= 1e-5, numbers
        assert difference(fused._storage, plain._storage) <= 1e-5, numbers
        rows = torch.tensor([n == 0 for n in numbers], device=DEVICE)
        fused._storage.copy_(states)
        assert torch.equal(fused.decode(latents[rows], slots[rows]), heard[rows]), numbers
        fused._storage.copy_(plain._storage)


@torch.inference_mode()
def test_tf32_differs_by_its_rounding_and_no_more() -> None:
    plain, fused = pair("depthwise", 2, precision="tf32")
    for _ in range(3):
        latents = torch.randn(2, 2, 8, device=DEVICE)
        heard, expected = (decoder.decode(latents, slots_of(0, 1)) for decoder in (fused, plain))
        assert 1e-6 < difference(heard, expected) < 5e-3


@torch.inference_mode()
def test_snake_keeps_its_precision_at_large_angles() -> None:
    conv = CausalConv1d(16, 16, 1, groups=16).to(DEVICE)
    conv.weight.fill_(1.0)
    conv.bias.zero_()
    stage = DepthwiseStage(Arithmetic("ieee", 1), conv, None)
    stage.epilogue.alpha = stage.epilogue.reciprocal = torch.ones(16, device=DEVICE)
    for size in (0.01, 1.0, 100.0, 5000.0):
        x = size * torch.randn(1, 64, 16, device=DEVICE)
        heard = stage(Signal(None, x), Call(slots_of(0), x[:, 0])).activation
        sine = heard.double() - x.double()
        assert (sine - x.double().sin().square()).abs().max() <= 4e-7 * max(1.0, size)


def test_tiles_grow_with_the_batch_once_every_processor_has_one() -> None:
    assert conv_tile(4, 8192, 132)[:2] == (16, 32)
    assert conv_tile(32, 1024, 132)[:2] == (16, 16)
    assert conv_tile(64 * 960, 512, 132)[:2] == (128, 128)
    few, many = (separable_tile(streams, 1920, 128, 128, 9, 132) for streams in (1, 64))
    assert few is not None and many is not None
    assert (few.m, few.n, few.steps) == (16, 128, 1)
    assert (many.m, many.n, many.steps) == (32, 128, 4)
    assert separable_tile(64, 960, 256, 256, 1, 132) is None
    assert depthwise_tile(1, 960, 256, 9, 132).steps == 1
    assert depthwise_tile(64, 960, 256, 9, 132).steps == 8


def test_runs_cover_every_frame_once() -> None:
    for frames, dilation, steps in ((32, 9, 4), (7680, 3, 16), (5, 1, 1), (8, 9, 8)):
        first = torch.arange(runs(frames, dilation, steps))
        if steps > 1:
            first = first // dilation * (dilation * steps) + first % dilation
        covered = (first[:, None] + dilation * torch.arange(steps)).flatten()
        assert torch.equal(covered[covered < frames].sort().values, torch.arange(frames))


@pytest.mark.timeout(300)
def test_the_kernels_compile_for_hopper_and_load_windows_asynchronously(tmp_path: Path) -> None:
    lines = compiled("tests.models.fused.compile_vae", tmp_path)
    assert len(lines) == 13
    assert all(line.endswith("True") for line in lines if line.startswith("conv_kernel"))
