"""Notes the kernels of an engine's programs as for compute capability 9.0, without a GPU.

    python -m tests.models.programs.note_programs CHECKPOINT

A line of JSON for one stream and one for many: how many forms of kernels the programs launch, with those of a
stream that begins after patches, how many of them the rehearsal leaves out or adds, and how many more the
programs launch for other numbers of solver steps. Nothing is compiled
or computed. The interpreter has to be off (TRITON_INTERPRET unset), hence a program of its own.
"""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

import torch
from torch import Tensor
from triton.runtime import driver

from engine.attention.triton_backend import backend as triton_backend
from engine.device.cuda_graphs import Rehearsal
from engine.kernels import launch
from engine.kernels.ahead import noted
from models.voxcpm import checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.flow_matching import FlowSolver
from models.voxcpm.fused.vae import FusedDecoder
from models.voxcpm.programs.step_programs import ProgramPlan, StepPrograms
from models.voxcpm.runner import VoxCPMRunner
from models.voxcpm.vae import waveform_streams
from tests.engine.kernels.compiling.compile_noted import Hopper

OPTIONS = EngineOptions(max_model_len=2048, kv_blocks=256, attention_backend="triton", graphs="static")
STREAMS = (1, 64)
OTHER_STEPS = (2, 6)
PROCESSORS = 132


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return x.new_empty(*x.shape[:-1], len(weight))


def batched(x: Tensor, y: Tensor, out_dtype: torch.dtype | None = None) -> Tensor:
    return x.new_empty(len(x), x.shape[1], y.shape[2], dtype=out_dtype)


def note(runner: VoxCPMRunner, plan: ProgramPlan, *_: object, **__: object) -> None:
    """Takes the place of `VoxCPMRunner.prepare`."""
    solver = FlowSolver(runner.model.dit, runner.config.mean_mode)
    with torch.inference_mode():
        with noted(lambda kernel: None) as rehearsed:
            runner.builder.rehearse(plan)
        with noted(lambda kernel: None) as launched:
            programs = runner.builder.build(plan, Rehearsal, solver)
            for program in programs.all:
                program.compute()  # with all steps of the solver, where recording rehearses fewer
            begin_after_patches(runner)
        with noted(lambda kernel: None) as otherwise:
            take_other_steps(programs)
    differing = {"differing": len(launched ^ rehearsed), "other_steps": len(otherwise - rehearsed)}
    print(json.dumps({"launched": len(launched), **differing}))


def take_other_steps(programs: StepPrograms) -> None:
    """As for requests with `inference_timesteps` of their own."""
    for program in itertools.chain(*programs._patches.values()):
        for num_steps in OTHER_STEPS:
            program.compute(num_steps)


def begin_after_patches(runner: VoxCPMRunner) -> None:
    """As a clip that follows a prompt, or goes on elsewhere."""
    patch, decoder = (runner.config.patch_size, runner.config.feat_dim), runner._streams.decoder
    for count in range(1, decoder.replay_patches(runner.config.patch_size) + 1):
        decoder.start(0, torch.zeros(count, *patch))


def main() -> None:
    driver.set_active(Hopper())
    fused = mock.Mock(return_value=True)
    decoder = mock.patch.dict(FusedDecoder.__init__.__kwdefaults__, processors=PROCESSORS)
    with (
        decoder,
        mock.patch.object(checkpoint, "runs_triton", fused),
        mock.patch.object(waveform_streams, "runs_triton", fused),
        mock.patch.object(launch, "pdl", fused),
        mock.patch.object(triton_backend.TritonBackend, "supports", mock.Mock(return_value=None)),
        mock.patch.object(VoxCPMRunner, "prepare", note),
        mock.patch.object(torch.nn.functional, "linear", product),
        mock.patch.object(torch, "bmm", batched),
    ):
        loaded = checkpoint.load_checkpoint(Path(sys.argv[1]), "cpu", dtype=torch.bfloat16)
        for streams in STREAMS:
            VoxCPMEngine(loaded, replace(OPTIONS, max_num_seqs=streams))


if __name__ == "__main__":
    main()
