"""The streaming audio decoder on a GPU: errors and times of its fused form against the plain one.

    python3 -m benchmarks.gpu.kernels.vae [--shape voxcpm2] [--streams 1,64,512]
        [--sweep 1,64] [--output FILE]

Errors are norms relative to a decode of the whole in double precision, on random weights. "package" is what
the published package does: convolutions of the whole through cuDNN, whose default is TF32. Times are of one
decode of every stream, in a CUDA graph. The floor is what reading the weights once takes at the rate of a
copy. Then every kernel's time, one after the other, and for `--sweep` how much longer a decode takes with
other tiles, layer by layer (`gpu_vae_tiles.brief` reads them). As many processes as there are cores compile
the kernels first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu.arithmetic import machine_rates
from benchmarks.gpu.checkpoints import SHAPES, shape_config, vae_weights
from benchmarks.gpu.device import device_of
from benchmarks.gpu.kernels.timing import launched_plainly, seconds
from benchmarks.gpu.kernels.vae_tiles import Choice, as_for, brief, choices, chosen, forced, groups, size
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.fused.vae import FusedDecoder
from models.voxcpm.fused.vae_stages import Call, Signal, gather
from models.voxcpm.vae.audio_vae import AudioVAE, fold_weight_norm
from models.voxcpm.vae.streaming_vae import StreamingDecoder

ERROR_PATCHES = 16
REPLAYS, REPEATS = 5, 5
SWEEP_REPLAYS, SWEEP_REPEATS = 3, 3
SHOWN = 5
PLAIN_STREAMS = 64
"""Beyond, the plain form is left out: it takes long."""


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
            with torch.backends.cudnn.flags(enabled=True, allow_tf32=tf32):
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
        if streams <= PLAIN_STREAMS:
            yield "plain", StreamingDecoder(self.vae, streams + 1), True
        decoder = FusedDecoder(self.vae, streams + 1)
        yield "fused", decoder, True
        yield "fused, serial", decoder, False

    def times(self, streams: int) -> Iterator[dict[str, Any]]:
        for name, decoder, overlap in self.decoders(streams):
            with nullcontext() if overlap else launched_plainly():
                decode = self.decode(decoder, streams)
                milliseconds = 1e3 * seconds(decode, REPEATS, REPLAYS, self.device)
            kernels = len(launches(decode, self.device))
            print(f"{streams:7} streams {name:14} {milliseconds:9.3f} ms {kernels:5} kernels", flush=True)
            yield {"streams": streams, "form": name, "ms": milliseconds, "kernels": kernels}

    def launches(self, streams: int) -> Iterator[dict[str, Any]]:
        """The kernels of one fused decode in order, one after the other."""
        with launched_plainly():
            found = launches(self.decode(FusedDecoder(self.vae, streams + 1), streams), self.device)
        shown = " ".join(f"{name.split('_')[0]} {time:.1f}" for name, time in found)
        print(f"{streams} streams: {shown}", flush=True)
        yield {"streams": streams, "launches": found}

    def sweep(self, streams: int) -> Iterator[dict[str, Any]]:
        """The whole decode with the stages of one size on other tiles."""
        decoder = FusedDecoder(self.vae, streams + 1)
        decode = self.decode(decoder, streams)
        usual = 1e6 * sweep_seconds(decode, self.device)
        print(f"{streams} streams, us more than {usual:.1f} for all stages of a size:", flush=True)
        for group in groups(decoder._stages):
            stages, times = decoder._stages, {}
            for choice in choices(stages[group[0]], streams):
                tried = [forced(s, choice) if i in group else s for i, s in enumerate(stages)]
                with mock.patch.object(decoder, "_stages", tried):
                    try:
                        times[brief(choice)] = 1e6 * sweep_seconds(decode, self.device) - usual
                    except Exception as error:  # a tile may ask for more than the device has
                        print(f"{brief(choice)}: {type(error).__name__}")
            best = sorted((taken, tile) for tile, taken in times.items())[:SHOWN]
            shape = "x".join(str(part) for part in size(stages[group[0]]) or ())
            print(f" {shape} ({len(group)}):", *(f"{tile} {taken:+.0f}," for taken, tile in best), flush=True)
            yield {"streams": streams, "stages": group, "usual_us": usual, "difference_us": times}

    def library(self, streams: int) -> None:
        """What the library's TF32 products of the same sizes take, without windows, residual and snake."""
        decoder, frames, shown = FusedDecoder(self.vae, 1), 4, []
        for group in groups(decoder._stages):
            stage = decoder._stages[group[0]]
            outputs, inputs = size(stage) or (0, 0)
            x = torch.randn(streams * frames, inputs, device=self.device)
            weight = torch.randn(outputs, inputs, device=self.device)
            torch.backends.cuda.matmul.allow_tf32 = True
            try:
                taken = 1e6 * sweep_seconds(lambda x=x, weight=weight: x @ weight.T, self.device)
            finally:
                torch.backends.cuda.matmul.allow_tf32 = False
            shown.append(f"{outputs}x{inputs} {taken:.0f}")
            frames *= getattr(stage, "_repeats", 1)
        print(f"{streams} streams, us of a product by the library:", ", ".join(shown), flush=True)

    def tasks(self, streams: list[int], swept: list[int]) -> list[tuple[int, Any, bool]]:
        """All that has to be compiled: stage, tiles or the number of streams to choose them by, overlap."""
        decoder = FusedDecoder(self.vae, 1)
        stages = decoder._stages
        found = [(p, n, o) for n in streams for o in (True, False) for p in range(len(stages))]
        for which, count in itertools.product((0, -1), swept):
            for group in groups(decoder._stages):  # of which all but the last are followed by the same
                if which == 0 or len(group) > 1:
                    tried = choices(stages[group[which]], count)
                    found += [(group[which], choice, True) for choice in tried]
        return found


class Compiler:
    """One process's decoder and the signals between its stages."""

    of_process: ClassVar[Compiler]

    def __init__(self, shape: str) -> None:
        bench = Bench(shape, torch.device("cuda"))
        self.decoder = FusedDecoder(bench.vae, 1)
        slots = torch.zeros(1, dtype=torch.int64, device="cuda")
        self.call = Call(slots, gather(self.decoder._storage, slots))
        self.latents = bench.latents(1)

    def signal(self, place: int) -> Signal:
        """Zeros as the stage gets them."""
        frames, channels = self.latents.shape[1:]
        residual = None
        for stage in self.decoder._stages[:place]:
            shape = size(stage)
            repeats = getattr(stage, "_repeats", 1)
            frames *= repeats
            channels = shape[0] // repeats if shape else channels
            residual = torch.zeros(1, frames, channels, device="cuda")
        return Signal(residual, torch.zeros(1, frames, channels, device="cuda"))

    def __call__(self, place: int, tiles: Choice | int, overlap: bool) -> None:
        how = as_for(tiles) if isinstance(tiles, int) else chosen(tiles)
        with how, nullcontext() if overlap else launched_plainly():
            self.decoder._stages[place](self.signal(place), self.call)
        torch.cuda.synchronize()


@torch.inference_mode()
def start_compiler(shape: str) -> None:
    torch.set_num_threads(1)
    Compiler.of_process = Compiler(shape)


@torch.inference_mode()
def compile_one(task: tuple[int, Any, bool]) -> str | None:
    """Runs a stage once, which leaves its kernels in Triton's cache; the error, if any."""
    try:
        Compiler.of_process(*task)
    except Exception as error:
        return f"{task}: {type(error).__name__} {str(error)[:100]}"
    return None


def compile_all(tasks: list[tuple[int, Any, bool]], shape: str) -> None:
    begin = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    workers = min(15, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers, context, start_compiler, (shape,)) as pool:
        errors = [error for error in pool.map(compile_one, tasks) if error]
    print(f"{len(tasks)} stages compiled in {time.perf_counter() - begin:.0f} s", *errors[:5], sep="\n")


def sweep_seconds(run: Callable[[], Any], device: torch.device) -> float:
    """Of one run within a CUDA graph, for sweeps: seen less often."""
    return seconds(run, SWEEP_REPEATS, SWEEP_REPLAYS, device)


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


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


@torch.inference_mode()
def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="voxcpm2")
    parser.add_argument("--streams", type=numbers, default=[1, 64, 512])
    parser.add_argument("--sweep", type=numbers, default=[], help="streams to try other tiles with")
    parser.add_argument("--output", type=Path, help="where the results go, as JSON")
    options = parser.parse_args(arguments)
    device, begin = device_of(), time.perf_counter()
    bench = Bench(options.shape, device)
    compile_all(bench.tasks(options.streams, options.sweep), options.shape)
    results: dict[str, Any] = {"shape": options.shape, "device": torch.cuda.get_device_name(device)}
    results["errors"] = bench.errors()
    results["sweep"] = [row for count in options.sweep for row in bench.sweep(count)]
    for count in options.streams:
        bench.library(count)
    results["launches"] = [row for count in options.streams for row in bench.launches(count)]
    for name, error in results["errors"].items():
        print(f"{name:24} error {error:.2e}")
    weights = sum(parameter.numel() for parameter in bench.vae.decoder.parameters()) * 4
    results["floor_ms"] = 1e3 * weights / machine_rates(device)["copy_bytes_per_second"]
    print(f"weights {weights / 1e6:.0f} MB, {results['floor_ms']:.3f} ms to read them", flush=True)
    results["times"] = [row for count in options.streams for row in bench.times(count)]
    print(f"{time.perf_counter() - begin:.0f} s")
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
