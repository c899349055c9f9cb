"""Steps launched ahead, under random traffic, on a device made of dictionaries: whatever else happens, each
request gets what it gets alone.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.sequence import Sequence
from tests.engine.fakes import make_engine
from tests.models.programs.device_of_dictionaries import (
    NUM_STEPS,
    Device,
    State,
    Streams,
    alone,
    trailing_patches,
)
from tests.models.programs.random_traffic import changes, check_each_alone

requests = st.lists(
    st.tuples(
        st.lists(st.sampled_from([0, 1, b"a"]), min_size=1, max_size=9),
        st.integers(1, 12),
        st.sampled_from([NUM_STEPS, NUM_STEPS, NUM_STEPS, 4]),
        st.integers(0, 6),
    ),
    min_size=2,
    max_size=6,
)


@pytest.mark.parametrize("block_size", [1, 2, 4])
@settings(max_examples=max(400, settings.default.max_examples))
@given(
    requests=requests,
    changes=changes,
    spare_blocks=st.integers(0, 4),
    max_num_seqs=st.integers(1, 4),
    max_decodes=st.none() | st.integers(1, 2),
    max_prefill_tokens=st.integers(1, 9),
    host_slots=st.sampled_from([0, 3, 40]),
)
def test_any_traffic_gives_each_request_what_it_gets_alone(
    block_size: int,
    requests: list[tuple[list[int | bytes], int, int, int]],
    changes: list[tuple[int, str, int]],
    spare_blocks: int,
    max_num_seqs: int,
    max_decodes: int | None,
    max_prefill_tokens: int,
    host_slots: int,
) -> None:
    num_blocks = -(-20 // block_size) + spare_blocks
    device = Device(num_blocks, block_size, Streams(max_num_seqs), host_slots=host_slots)
    limits = {"max_num_seqs": max_num_seqs, "max_num_batched_tokens": max_num_seqs + 8}
    limits |= {"max_decodes": max_decodes, "max_prefill_tokens": max_prefill_tokens, "look_ahead": True}
    engine = make_engine(device, **limits)  # type: ignore[arg-type]
    expected, arrivals = {}, []
    for number, (prompt, count, num_steps, arrival) in enumerate(requests):
        state = State(number, count, num_steps)
        expected[str(number)] = alone(prompt, state)
        resumed = trailing_patches(prompt) if number % 2 else 0
        sequence = Sequence(
            str(number), prompt, count, state, token_seconds=number % 2, num_resumed_tokens=resumed
        )
        arrivals.append((arrival, sequence))
    check_each_alone(engine, arrivals, changes, expected, lambda result: (result.token, result.output))
    assert engine.scheduler.block_manager.num_free_blocks == num_blocks
    assert sorted(device.streams._free) == list(range(max_num_seqs))
    assert not device.ahead._kept and not device.served_freely
