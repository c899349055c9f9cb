"""LLMEngine under random traffic: whatever else happens, each request gets what it gets alone."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from engine.llm_engine import LLMEngine
from engine.sequence import Sequence
from tests.engine.fakes import FakeRunner, check, expected_tokens, generated, make_engine

requests = st.lists(
    st.tuples(
        st.lists(st.integers(0, 1), min_size=1, max_size=9),
        st.integers(1, 12),
        st.sampled_from([b"", b"", b"x"]),
        st.integers(0, 4),
        st.none() | st.none() | st.integers(0, 12),
    ),
    min_size=3,
    max_size=8,
)


@given(
    requests=requests,
    num_blocks=st.integers(10, 14),
    max_num_seqs=st.integers(2, 5),
    max_prefill_tokens=st.integers(1, 9),
    max_decodes=st.none() | st.integers(1, 3),
    caching=st.booleans(),
)
def test_any_traffic_gives_each_request_what_it_gets_alone(
    requests: list[tuple[list[int], int, bytes, int, int | None]],
    num_blocks: int,
    max_num_seqs: int,
    max_prefill_tokens: int,
    max_decodes: int | None,
    caching: bool,
) -> None:
    """Prompts over two tokens collide often; requests arrive at, and some are cancelled at, given steps."""
    engine = make_engine(
        FakeRunner(num_blocks=num_blocks, block_size=2),
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_seqs + 6,
        max_prefill_tokens=max_prefill_tokens,
        max_decodes=max_decodes,
        enable_prefix_caching=caching,
    )
    due = defaultdict(list)
    for number, (prompt, count, salt, arrival, cancelled_after) in enumerate(requests):
        sequence = Sequence(str(number), prompt, count, salt=salt, token_seconds=0.1 * (number % 2))
        due[arrival].append((sequence, cancelled_after))
    sequences = play(engine, due)
    for sequence in sequences:
        tokens = generated(sequence)
        prompt = sequence.token_ids[: sequence.num_prompt_tokens]
        assert tokens == expected_tokens(prompt, len(tokens), sequence.salt)
        assert sequence.finish_reason in ("cancelled", "length")
        assert sequence.finish_reason == "cancelled" or len(tokens) == sequence.max_new_tokens
    assert engine.scheduler.block_manager.num_free_blocks == num_blocks
    assert sorted(engine.runner.released) == sorted(sequence.request_id for sequence in sequences)


def play(engine: LLMEngine, due: dict[int, list[tuple[Sequence, int | None]]]) -> list[Sequence]:
    """Runs arrivals and cancellations at their steps until all is done; all sequences."""
    sequences: list[Sequence] = []
    cancellations: dict[int, list[str]] = defaultdict(list)
    step = 0
    while engine.has_unfinished() or step <= max(due):
        for sequence, cancelled_after in due.get(step, []):
            engine.add(sequence)
            sequences.append(sequence)
            if cancelled_after is not None:
                cancellations[step + cancelled_after].append(sequence.request_id)
        for request_id in cancellations[step]:
            engine.cancel(request_id)
        engine.step()
        check(engine)
        step += 1
    return sequences
