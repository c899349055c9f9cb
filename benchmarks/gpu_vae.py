"""The streaming audio decoder on a GPU: errors and times of its fused form against the plain one.

    python3 -m benchmarks.gpu_vae [--shape voxcpm2] [--streams 1,16,64,256,512] [--output FILE]
    python3 -m benchmarks.gpu_vae --launches --streams 1,64    # each kernel of a decode
    python3 -m benchmarks.gpu_vae --tiles --streams 1,64       # the same with other tiles than the chosen

Errors are norms relative to a decode of the whole in double precision, on random weights. "package" is what
the published package does: convolutions of the whole through cuDNN, whose default is TF32. Times are of one
decode of every stream, in a CUDA graph. The floor is what reading the weights once takes at the rate of a
copy. The first run compiles the kernels.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu_arithmetic import machine_rates
from benchmarks.gpu_checkpoints import SHAPES, shape_config, vae_weights
from engine.attention.measure import captured
from engine.kernels import launch
from models.voxcpm import fused_stages, fused_vae
from models.voxcpm.audio_vae import AudioVAE, fold_weight_norm
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.fused_stages import ProductStage, SeparableStage, Tile
from models.voxcpm.fused_vae import FusedDecoder
from models.voxcpm.streaming_vae import StreamingDecoder

ERROR_PATCHES = 16
REPLAYS, REPEATS = 10, 5
SEPARABLE_OUTPUTS = (128, 256)
"""Widest residual units that are one kernel, both tried."""
TILES = {
    ProductStage: [
        Tile(128, 256, 32, 8, 3), Tile(128, 128, 32, 8, 3, 128), Tile(128, 128, 32, 8, 4),
        Tile(128, 64, 32, 4, 3), Tile(128, 64, 32, 8, 3, 128), Tile(64, 128, 32, 4, 3),
        Tile(64, 64, 32, 4, 4),
        Tile(64, 64, 64, 4, 3), Tile(64, 32, 64, 4, 3), Tile(32, 64, 64, 4, 4), Tile(32, 32, 64, 4, 4),
        Tile(32, 16, 128, 4, 4), Tile(16, 64, 64, 4, 5), Tile(16, 32, 64, 4, 6), Tile(16, 32, 128, 4, 3),
        Tile(16, 32, 128, 4, 4), Tile(16, 16, 128, 4, 4), Tile(16, 16, 256, 4, 4),
    ],
    SeparableStage: [
        Tile(128, 256, 32, 8, 1), Tile(128, 128, 32, 8, 1), Tile(128, 64, 32, 8, 1), Tile(128, 32, 32, 8, 1),
        Tile(64, 256, 16, 8, 1), Tile(64, 256, 32, 8, 1), Tile(64, 128, 32, 8, 1),
        Tile(64, 128, 32, 8, 1, 128),
        Tile(64, 64, 32, 8, 1), Tile(64, 64, 32, 8, 1, 128), Tile(64, 32, 32, 8, 1), Tile(64, 32, 32, 4, 1),
        Tile(32, 256, 32, 4, 1), Tile(32, 128, 32, 4, 1), Tile(32, 64, 32, 4, 1), Tile(32, 32, 32, 4, 1),
        Tile(16, 128, 64, 4, 1), Tile(16, 64, 32, 4, 1), Tile(16, 64, 64, 4, 1), Tile(16, 32, 32, 4, 1),
    ],
}  # fmt: skip
"""What `--tiles` tries."""


class Bench:
    """A VAE of random weights and what is measured with it."""

    def __init__(self, shape: str, device: torch.device) -> None:
        config = VoxCPMConfig.from_dict(shape_config(shape))
        self.device, self._patch = device, (config.patch_size, config.feat_dim)
        weights = vae_weights(config, torch.Generator().manual_seed(0))
        self.vae = AudioVAE(config.audio_vae_config)
        self.vae.load_state_dict(fold_weight_norm(weights))
        self.vae.to(device).eval().requires_grad_(False)

    def latents(self, *size: int) -> Tensor:
        generator = torch.Generator(self.device).manual_seed(1)
        return torch.randn(*size, *self._patch, device=self.device, generator=generator)

    def errors(self) -> dict[str, float]:
        """Norms relative to double precision."""
        latents = self.latents(2, ERROR_PATCHES)
        whole = latents.flatten(1, 2).transpose(1, 2)
        exact = self.vae.double().decode(whole.double())[:, 0]
        self.vae.float()
        heard = {}
        for name, tf32 in (("package", True), ("package without TF32", False)):
            with torch.backends.cudnn.flags(allow_tf32=tf32):
                heard[name] = self.vae.decode(whole)[:, 0]
        heard["plain stream"] = self._stream(StreamingDecoder(self.vae, 2), latents)
        for precision in ("tf32", "ieee"):
            fused = FusedDecoder(self.vae, 2, precision=precision)
            heard[f"fused stream, {precision}"] = self._stream(fused, latents)
        return {name: float((audio - exact).norm() / exact.norm()) for name, audio in heard.items()}

    def _stream(self, decoder: StreamingDecoder, latents: Tensor) -> Tensor:
        slots = torch.arange(len(latents), device=self.device)
        return torch.cat([decoder.decode(patch, slots) for patch in latents.unbind(1)], dim=1)

    def decode(self, decoder: StreamingDecoder, streams: int) -> Callable[[], Any]:
        """One decode of all streams of a decoder with a slot more than these."""
        latents, slots = self.latents(streams), torch.randperm(streams, device=self.device)
        return lambda: decoder.decode(latents, slots)

    def decoders(self, streams: int) -> Iterator[tuple[str, StreamingDecoder, bool]]:
        """Name, decoder, and whether its kernels may overlap."""
        yield "plain", StreamingDecoder(self.vae, streams + 1), True
        for outputs in SEPARABLE_OUTPUTS:
            with mock.patch.object(fused_vae, "MAX_SEPARABLE_OUTPUTS", outputs):
                decoder = FusedDecoder(self.vae, streams + 1)
            yield f"fused {outputs}", decoder, True
        yield f"fused {outputs}, serial", decoder, False

    def times(self, streams: int) -> Iterator[dict[str, Any]]:
        for name, decoder, overlap in self.decoders(streams):
            with nullcontext() if overlap else serial():
                decode = self.decode(decoder, streams)
                milliseconds = 1e3 * seconds(decode, self.device)
            kernels = len(launches(decode, self.device))
            print(f"{streams:7} streams {name:20} {milliseconds:9.3f} ms {kernels:5} kernels", flush=True)
            yield {"streams": streams, "form": name, "ms": milliseconds, "kernels": kernels}

    def launches(self, streams: int) -> Iterator[dict[str, Any]]:
        """The kernels of one fused decode in order, one after the other."""
        with serial():
            found = launches(self.decode(FusedDecoder(self.vae, streams + 1), streams), self.device)
        shown = " ".join(f"{name.split('_')[0]} {time:.1f}" for name, time in found)
        print(f"{streams} streams: {shown}", flush=True)
        yield {"streams": streams, "launches": found}

    def tiles(self, streams: int) -> Iterator[dict[str, Any]]:
        """The whole decode with one stage of it on other tiles, for stages that have any."""
        decoder = FusedDecoder(self.vae, streams + 1)
        decode = self.decode(decoder, streams)
        chosen = 1e6 * seconds(decode, self.device)
        print(f"{streams} streams, as chosen: {chosen:.1f} us", flush=True)
        for place, stage in enumerate(decoder._stages):
            times = {}
            for tile in TILES.get(type(stage), []):
                call = forced(stage, tile)
                with mock.patch.object(decoder, "_stages", replaced(decoder._stages, place, call)):
                    try:
                        times[str(tuple(tile))] = 1e6 * seconds(decode, self.device) - chosen
                    except Exception as error:  # a tile may ask for more than the device has
                        times[str(tuple(tile))] = f"{type(error).__name__}"
            best = sorted((time, tile) for tile, time in times.items() if isinstance(time, float))[:4]
            print(
                f"{streams} streams, stage {place}:", *(f"{tile} {t:+.1f}," for t, tile in best), flush=True
            )
            yield {"streams": streams, "stage": place, "chosen_us": chosen, "difference_us": times}


def serial() -> Any:
    """Kernels are launched one after the other."""
    return mock.patch.object(launch, "pdl", lambda device: False)


def forced(stage: Any, tile: Tile) -> Callable[..., Any]:
    """The stage on a tile of one's own."""
    name = "conv_tile" if isinstance(stage, ProductStage) else "separable_tile"

    def call(*arguments: Any) -> Any:
        with mock.patch.object(fused_stages, name, lambda *_: tile):
            return stage(*arguments)

    return call


def replaced(stages: list[Any], place: int, stage: Any) -> list[Any]:
    return [*stages[:place], stage, *stages[place + 1 :]]


def seconds(run: Callable[[], Any], device: torch.device) -> float:
    """Of one run within a CUDA graph, the median of several."""
    replay = captured(run, device)
    replay()
    times = []
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(REPLAYS):
            replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / REPLAYS)
    return statistics.median(times)


def launches(run: Callable[[], Any], device: torch.device) -> list[tuple[str, float]]:
    """Name and microseconds of every kernel of one run, in order."""
    run()
    torch.cuda.synchronize(device)
    with profile(activities=[ProfilerActivity.CUDA]) as recorder:
        run()
        torch.cuda.synchronize(device)
    kernels = [event for event in recorder.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    kernels.sort(key=lambda event: event.time_range.start)
    return [(event.name, event.time_range.elapsed_us()) for event in kernels]


@torch.inference_mode()
def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--streams", default="1,16,64,256,512")
    parser.add_argument("--launches", action="store_true", help="the time of each kernel instead")
    parser.add_argument("--tiles", action="store_true", help="the time with other tiles instead")
    parser.add_argument("--output", type=Path, help="where the results go, as JSON")
    options = parser.parse_args(arguments)
    device = torch.device("cuda")
    bench = Bench(options.shape, device)
    results: dict[str, Any] = {"shape": options.shape, "device": torch.cuda.get_device_name(device)}
    what = bench.launches if options.launches else bench.tiles if options.tiles else bench.times
    if what == bench.times:
        results["errors"] = bench.errors()
        for name, error in results["errors"].items():
            print(f"{name:24} error {error:.2e}", flush=True)
        weights = sum(parameter.numel() for parameter in bench.vae.decoder.parameters()) * 4
        results["floor_ms"] = 1e3 * weights / machine_rates(device)["copy_bytes_per_second"]
        print(f"weights {weights / 1e6:.0f} MB, {results['floor_ms']:.3f} ms to read them", flush=True)
    results["rows"] = [row for count in options.streams.split(",") for row in what(int(count))]
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
