"""Admission counts on both tiers: a GPU of 24 GiB, emulated by a limit, under the sizes of VoxCPM2."""

from __future__ import annotations

import itertools

import pytest
import torch

from benchmarks.gpu.checkpoints import shape_config
from engine.config import EngineConfig
from engine.kv_cache import sizing
from engine.kv_cache.sizing import GIB
from engine.scheduling.scheduler import Scheduler
from engine.sequence import Sequence
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.kv_sizing import default_blocks, second_tier_slots
from models.voxcpm.options import EngineOptions
from tests.engine.fakes import FakeHost

WEIGHTS_GIB, POSITIONS, BLOCK = 4.7, 475, 16
"""Of a session: a minute of patches, and a hundred positions of text and voice."""


class Sessions:
    """Live sessions, each of which speaks for a minute, is paused, and goes on once more."""

    def __init__(self, blocks: int, slots: int) -> None:
        config = EngineConfig(
            num_blocks=blocks, block_size=BLOCK, max_model_len=4096, max_num_seqs=64, bring_back="always"
        )
        host = FakeHost(slots, lambda block: [], lambda block, content: None)
        self.scheduler = Scheduler(config, itertools.count().__next__, host)
        self.all: list[Sequence] = []

    def step(self, sequence: Sequence) -> None:
        """Until a sequence has its next token."""
        before = len(sequence)
        while len(sequence) == before:
            for row in self.scheduler.schedule():
                self.scheduler.commit(row)
                if row.samples:
                    self.scheduler.append(row.sequence, 7)

    def speak(self) -> None:
        session = Sequence(str(len(self.all)), [len(self.all), *[5] * (POSITIONS - 1)], 100)
        self.all.append(session)
        self.scheduler.add(session)
        self.step(session)
        self.scheduler.pause(session)

    def go_on(self) -> tuple[int, int]:
        """Each in turn; how many had lost their blocks, and how many positions were computed for these."""
        before, count = self.scheduler.figures.computed_positions, 0
        for session in self.all:
            count += not session.block_table
            self.scheduler.resume(session)
            self.step(session)
            self.scheduler.pause(session)
        return count, self.scheduler.figures.computed_positions - before


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Blocks of VoxCPM2 on a GPU of 24 GiB, and twice as many on the host."""
    device, config = torch.device("cuda"), VoxCPMConfig.from_dict(shape_config("voxcpm2"))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    free = int((24 - WEIGHTS_GIB) * GIB)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 24 * GIB))
    monkeypatch.setattr(sizing, "available_bytes", lambda: 128 * GIB)
    options = EngineOptions(max_num_seqs=64, typical_seconds=3000.0)
    blocks = default_blocks(config, options, 32768, device, torch.bfloat16)
    host = EngineOptions(kv_host_gib=2 * blocks * BLOCK * 36864 / GIB)
    return blocks, second_tier_slots(config, host, blocks, device, torch.bfloat16)


def test_twice_the_memory_on_the_host_holds_three_times_the_paused_sessions(room: tuple[int, int]) -> None:
    """None of them computes more than the one position that yields its next patch."""
    blocks, slots = room
    held = blocks // -(-(POSITIONS + 1) // BLOCK)
    assert held > 900
    sessions = Sessions(blocks, slots)
    for _ in range(3 * held - 64):
        sessions.speak()
    assert sum(not session.block_table for session in sessions.all) > 1.9 * held
    lost, computed = sessions.go_on()
    assert computed == lost > 1.9 * held
    assert sessions.scheduler.figures.dropped_blocks == 0


def test_without_it_they_are_computed_again(room: tuple[int, int]) -> None:
    blocks, _ = room
    sessions = Sessions(blocks, 1)
    for _ in range(blocks // 30 + 50):
        sessions.speak()
    lost, computed = sessions.go_on()
    assert computed > lost * POSITIONS / 2
