"""What a step costs the host, per row: scheduling, filling of programs, results. The device computes nothing.

    python -m benchmarks.host_cost [--streams 64 512] [--words 600] [--profile]

Rows have the sizes of VoxCPM2 (patches of 4 x 64 latents and 7,680 samples), programs are filled, "launched"
and read as on a GPU, one step ahead, but their computation is left out.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import statistics
import tempfile
import time
from pathlib import Path
from unittest import mock

os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported: the backend of programs on a CPU

from benchmarks.gpu import checkpoints
from engine.device.staging import HostCopy, Readback
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.programs.language_program import LanguageProgram
from models.voxcpm.programs.patch_program import PatchProgram
from models.voxcpm.programs.waveform_programs import PatchShape, WaveformPrograms

WARM_UP_STEPS = 8


def make_engine(streams: int) -> VoxCPMEngine:
    """An engine of tiny weights and rows of full size."""
    config = checkpoints.shape_config("tiny")
    vae = config["audio_vae_config"] | {
        "latent_dim": 64, "decoder_dim": 64, "decoder_rates": [8, 6, 5, 2, 2, 2], "out_sample_rate": 48000,
    }  # fmt: skip
    config |= {"feat_dim": 64, "audio_vae_config": vae, "max_length": 4096}
    options = EngineOptions(
        max_num_seqs=streams, max_model_len=4096, attention_backend="triton", graphs="static",
        ratio_cap=False, kv_blocks=streams * 100,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        with mock.patch.object(checkpoints, "shape_config", lambda shape: config):
            path = checkpoints.make_checkpoint("tiny", Path(directory))
        return VoxCPMEngine(load_checkpoint(path, "cpu"), options)


def speak(programs: WaveformPrograms, shape: PatchShape) -> None:
    """Something that is no silence, and no end."""
    outputs = programs._readback.source
    if not outputs[shape.rows - 1, 0]:
        outputs[: shape.rows] = 0.1
        outputs[: shape.rows, -2] = 0.0


def at_once(readback: Readback, rows: int) -> HostCopy:
    """A copy that is none: on a GPU the host has no part in it."""
    return HostCopy(readback.source, [], rows=rows)


def run(streams: int, words: int, steps: int, profile: bool) -> None:
    """Print the median time of a step of so many decodes, in all and per row."""
    engine = make_engine(streams)
    with (
        mock.patch.object(LanguageProgram, "compute", lambda program: None),
        mock.patch.object(PatchProgram, "compute", lambda program: None),
        mock.patch.object(WaveformPrograms, "compute", speak),
        mock.patch.object(Readback, "take", at_once),
    ):
        engine._prepare_programs(None)
        for i in range(streams):
            engine.add_request(SpeechRequest(f"stream {i}", f"{i} " + "hello " * words, seed=i))
        rows = 0
        while rows < streams:
            rows = len(engine.step())
        for _ in range(WARM_UP_STEPS):
            engine.step()
        profiler = cProfile.Profile()
        seconds = []
        for _ in range(steps):
            began = time.process_time()
            if profile:
                profiler.enable()
            assert len(engine.step()) == streams
            profiler.disable()
            seconds.append(time.process_time() - began)
    middle = statistics.median(seconds)
    print(f"{streams:>5} streams: {middle * 1e3:7.2f} ms a step, {middle / streams * 1e6:6.1f} us a row")
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(28)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 64, 512])
    parser.add_argument("--words", type=int, default=20, help="of each text, one position each")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    for streams in arguments.streams:
        run(streams, arguments.words, arguments.steps, arguments.profile)


if __name__ == "__main__":
    main()
