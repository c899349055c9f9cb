"""Random traffic through both tiers: each request gets what it gets from an engine that never forgets."""

from __future__ import annotations

import random

import pytest

from engine.llm_engine import LLMEngine
from engine.sequence import Sequence
from tests.engine.fakes import FakeRunner, check, expected_tokens, generated, make_engine


@pytest.mark.parametrize("hundred", range(5))
def test_500_schedules_give_what_the_plain_engine_gives(hundred: int) -> None:
    brought = computed = 0
    for seed in range(100 * hundred, 100 * hundred + 100):
        figures = play(random.Random(seed)).scheduler.figures
        brought += figures.brought_blocks
        computed += figures.computed_positions
    assert brought > 100 and computed > 1000  # or nothing was tried


def play(chance: random.Random) -> LLMEngine:
    """One schedule: arrivals, pauses, resumptions and cancellations at random, little room on both tiers."""
    runner = FakeRunner(
        num_blocks=chance.randint(8, 14),
        block_size=2,
        host_slots=chance.choice([1, 3, 8, 40]),
        arrives_after=lambda: chance.choice([0, 0, 1, 3]),
    )
    bring_back = chance.choice(["auto", "always"])
    if runner.host_memory is not None and bring_back == "always":
        runner.host_memory.seconds = chance.choice([0.0, 1e-5, 4e-4])  # a step waits for none, all or some
    engine = make_engine(
        runner,
        max_num_seqs=chance.randint(2, 5),
        max_num_batched_tokens=12,
        max_prefill_tokens=chance.randint(1, 9),
        look_ahead=chance.random() < 0.5,
        bring_back=bring_back,
    )
    sequences = [make_sequence(chance, number) for number in range(chance.randint(4, 10))]
    unborn, unfinished, paused = list(sequences), dict[str, Sequence](), set[str]()
    while unborn or unfinished:
        if unborn and chance.random() < 0.4:
            sequence = unborn.pop()
            engine.add(sequence)
            unfinished[sequence.request_id] = sequence
        for name in list(unfinished):
            disturb(engine, name, paused, chance)
        engine.step()
        check(engine)
        unfinished = {name: sequence for name, sequence in unfinished.items() if not sequence.stopped}
    for sequence in sequences:
        tokens = generated(sequence)
        prompt = sequence.token_ids[: sequence.num_prompt_tokens]
        assert tokens == expected_tokens(prompt, len(tokens), sequence.salt)
        assert sequence.finish_reason == "cancelled" or len(tokens) == sequence.max_new_tokens
    assert engine.scheduler.block_manager.num_free_blocks == runner.num_blocks
    return engine


def make_sequence(chance: random.Random, number: int) -> Sequence:
    """Prompts over two tokens have beginnings in common."""
    prompt = [chance.randint(0, 1) for _ in range(chance.randint(1, 9))]
    salt, lasting = chance.choice([b"", b"", b"x"]), chance.choice([0, 4])
    return Sequence(str(number), prompt, chance.randint(1, 8), salt=salt, num_lasting_tokens=lasting)


def disturb(engine: LLMEngine, name: str, paused: set[str], chance: random.Random) -> None:
    dice = chance.random()
    if name in paused:
        if dice < 0.3:
            engine.resume(name)
            paused.discard(name)
    elif dice < 0.1:
        engine.pause(name)
        paused.add(name)
    elif dice < 0.12:
        engine.cancel(name)
