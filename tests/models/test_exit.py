"""A program that ends without closing its models ends as it says, and quietly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.models.conftest import CHECKPOINTS
from tests.text_models import random_model

PROGRAM = """
import asyncio, sys
from models.llm import LLM, SamplingParams
from models.voxcpm import VoxCPM

voice = VoxCPM.from_pretrained(sys.argv[1], device="cpu", silence_guard=False, threads=2)
llm = LLM(sys.argv[2], device="cpu")
audio = iter(voice.generate("hello again", min_seconds=600.0))

async def main():
    tokens = llm.stream("hello", SamplingParams(max_tokens=2000, ignore_eos=True))
    for _ in range(3):
        await anext(tokens)
        next(audio)
    raise SystemExit(3)

asyncio.run(main())
"""


def test_steps_under_way_neither_abort_a_program_nor_fail_at_its_end(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(CHECKPOINTS / "tiny_v2"), str(random_model(tmp_path))]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 3 and "Traceback" not in ended.stderr, ended.stderr
