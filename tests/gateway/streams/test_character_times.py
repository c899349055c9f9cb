"""Times of characters, told while the audio comes: all characters, in order, never past the audio."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.streams.character_times import CharacterTimes, spread

TEXT = "It costs $5.20. "


def check_order(timed: list, seconds: float) -> None:
    assert all(each.start <= each.end for each in timed)
    assert all(a.end <= b.start + 1e-9 for a, b in pairwise(timed))
    assert not timed or timed[-1].end <= seconds + 1e-9


@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.lists(st.floats(0.01, 1.0), max_size=5)), min_size=1, max_size=4
    )
)
def test_every_character_is_told_once_in_order_and_not_before_its_audio(
    parts: list[tuple[str, list[float]]],
) -> None:
    times, told = CharacterTimes(), []
    for text, pieces in parts:
        times.part(text)
        for seconds in pieces:
            told += times.heard(seconds)
            check_order(told, times.seconds)
    told += times.rest()
    check_order(told, times.seconds)
    assert "".join(each.character for each in told) == "".join(text for text, _ in parts)


def test_the_pace_of_one_part_is_that_of_the_next() -> None:
    times = CharacterTimes()
    times.part("one two three. ")
    times.heard(4.0)
    times.part("one two three. ")
    told = times.heard(2.0)
    assert "".join(each.character for each in told).strip() == "one two"


def test_a_figure_takes_the_time_of_its_words() -> None:
    timed = spread(TEXT, 1.0, 3.0)
    check_order(timed, 3.0)
    assert (timed[0].start, timed[-1].end) == (1.0, pytest.approx(3.0))
    figure = timed[TEXT.index("$") : TEXT.index(". ")]
    assert figure[-1].end - figure[0].start > 1.0


def test_twice_the_speed_is_half_the_time() -> None:
    ends = []
    for speed in (1.0, 2.0):
        times = CharacterTimes(speed)
        times.part("hello there")
        ends.append(times.heard(9.0)[-1].end)
    assert ends[0] == pytest.approx(2 * ends[1])
