"""Prompts in programs: many in one launch, long ones in parts, and the same speech as alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.programs import step_programs
from models.voxcpm.programs.language_program import LanguageProgram
from models.voxcpm.programs.patch_program import PatchProgram
from tests.models.conftest import assert_close, audio, latents, request, run
from tests.models.engine.requests import clip

Engines = Callable[..., VoxCPMEngine]


@pytest.fixture
def chunk_launches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, list[int]]]:
    """Of each launch with chunks: whether it has room for audio, and the lengths of its chunks."""
    launches: list[tuple[bool, list[int]]] = []
    fill = LanguageProgram.fill

    def noted(self: LanguageProgram, rows: Any) -> None:
        if rows and self.shape.attention.num_chunks:
            launches.append((self.shape.chunk_audio, [len(row.keys) for row in rows]))
        fill(self, rows)

    monkeypatch.setattr(LanguageProgram, "fill", noted)
    return launches


@pytest.fixture
def solved_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of each launch of flow matching and VAE, for how many rows it is made."""
    rows: list[int] = []
    launch = PatchProgram.launch
    monkeypatch.setattr(
        PatchProgram,
        "launch",
        lambda self, num_steps: rows.append(self.shape.rows) or launch(self, num_steps),
    )
    return rows


def prompts() -> list[Any]:
    """Three of text, two of audio."""
    common = {"max_seconds": 0.03, "min_seconds": 0.03}
    return [
        *(request(f"text {seed}", "hello world " * seed, seed=seed, **common) for seed in (1, 2, 3)),
        *(request(f"audio {n}", reference_latents=clip(n, n), seed=n, **common) for n in (5, 9)),
    ]


def test_prompts_that_come_together_are_one_launch(
    make_engine: Engines, programs: Engines, chunk_launches: list[Any]
) -> None:
    alone = {item.request_id: run(make_engine(), item)[item.request_id] for item in prompts()}
    together = run(programs(max_num_seqs=5), *prompts())
    assert [(audio, len(lengths)) for audio, lengths in chunk_launches] == [(False, 3), (True, 2)]
    for name, clips in alone.items():
        assert_close(latents(together[name]), latents(clips), 1e-5)
        assert_close(audio(together[name]), audio(clips), 1e-4)


def test_prompts_in_parts_are_served_by_programs(
    make_engine: Engines, programs: Engines, chunk_launches: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts because a step has no room for more, and because no program has."""
    whole = run(make_engine(max_num_seqs=8), *prompts())
    engine = programs(max_num_seqs=5, max_num_batched_tokens=24, max_prefill_tokens=12)
    engine._runner.prepare(step_programs.ProgramPlan(10, 5, 96, ((1, 4), (2, 8)), ((2, 8),)))
    monkeypatch.setattr(engine._runner, "_run_freely", lambda batch: pytest.fail("not by a program"))
    outputs = run(engine, *prompts())
    assert any(len(lengths) == 2 for _, lengths in chunk_launches)
    assert max(sum(lengths) for _, lengths in chunk_launches) == 8
    for name, clips in whole.items():
        assert_close(latents(outputs[name]), latents(clips), 1e-5)
        assert_close(audio(outputs[name]), audio(clips), 1e-4)


@pytest.mark.parametrize("budget", [6, 9])
def test_a_part_of_one_position_is_served_by_a_program(
    make_engine: Engines, programs: Engines, monkeypatch: pytest.MonkeyPatch, budget: int
) -> None:
    """Wherever the room of a step ends: what no program serves waits for kernels that were never launched."""
    whole = run(make_engine(max_num_seqs=8), *prompts())
    engine = programs(max_num_seqs=5, max_num_batched_tokens=budget, max_prefill_tokens=budget)
    counts = lone_parts(engine, monkeypatch)
    monkeypatch.setattr(engine._runner, "_run_freely", lambda batch: pytest.fail("not by a program"))
    outputs = run(engine, *prompts())
    assert counts
    for name, clips in whole.items():
        assert_close(latents(outputs[name]), latents(clips), 1e-5)


def lone_parts(engine: VoxCPMEngine, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Requests of which one position was computed that does not end the prompt, as they come."""
    found: list[str] = []
    serve = engine._runner.run

    def noted(batch: list[Any]) -> Any:
        found.extend(row.sequence.request_id for row in batch if row.count == 1 and not row.samples)
        return serve(batch)

    monkeypatch.setattr(engine._runner, "run", noted)
    return found


@pytest.mark.parametrize("cut", [1, 5])
def test_a_resumed_clip_that_is_alone_keeps_its_bits(
    programs: Engines,
    chunk_launches: list[Any],
    solved_rows: list[int],
    monkeypatch: pytest.MonkeyPatch,
    cut: int,
) -> None:
    """Its patches are computed again as decodes, and by the program that computed them first, but for flow
    matching and VAE: what those make is known."""
    item = request("clip", "hello world", seed=4, min_seconds=0.12, max_seconds=0.12)
    spoken = run(programs(), item)["clip"]
    assert solved_rows == [1] * 12
    solved_rows.clear()
    engine = programs()
    monkeypatch.setattr(engine._runner, "_run_freely", lambda batch: pytest.fail("not by a program"))
    chunk_launches.clear()
    resumed = run(engine, replace(item, resume_latents=latents(spoken)[:cut]))["clip"]
    assert len(chunk_launches) == 1 and not chunk_launches[0][0]
    assert np.array_equal(latents(resumed), latents(spoken)[cut:])
    assert solved_rows == [1] * (12 - cut)


def test_only_the_end_of_a_prompt_is_solved_for_and_for_as_many_rows_as_it_has(
    programs: Engines, solved_rows: list[int]
) -> None:
    """Its program has room for three chunks, and the part before the last needs no patch at all."""
    engine = programs(max_num_batched_tokens=12)
    engine._runner.prepare(step_programs.ProgramPlan(10, 3, 96, ((1, 4), (3, 12)), ((3, 12),)))
    item = request("r", "hello world " * 7, max_seconds=0.01, min_seconds=0.01)
    assert len(engine.prepare(item).token_ids) > 12
    assert len(run(engine, item)["r"]) == 1
    assert solved_rows == [1]


def test_chunks_are_packed_into_the_fewest_launches_in_turn(programs: Engines) -> None:
    engine = programs(graphs="off")
    rooms = ((1, 16), (1, 32), (2, 32), (4, 64))
    engine._runner.prepare(step_programs.ProgramPlan(10, 4, 96, rooms, ()))
    served = engine._runner._programs._programs
    for lengths, expected in (
        ([], []),
        ([16], [(1, 16, 1)]),
        ([17], [(1, 32, 1)]),
        ([64], [(4, 64, 1)]),
        ([16, 16], [(2, 32, 2)]),
        ([1] * 5, [(4, 64, 4), (1, 16, 1)]),
        ([40, 20, 10, 60], [(4, 64, 2), (1, 16, 1), (4, 64, 1)]),
    ):
        packed = [
            (program.shape.attention.num_chunks, program.shape.attention.num_chunk_tokens, count)
            for program, count in served.pack(lengths, False)
        ]
        assert packed == expected
    assert served.longest_chunk(False) == 64 and served.longest_chunk(True) == 0
