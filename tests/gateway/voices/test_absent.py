"""Names that nobody has are remembered for a moment, and no longer."""

from __future__ import annotations

from gateway.voices.absent import AbsentNames


def test_a_name_is_absent_for_a_moment_or_until_a_voice_is_made() -> None:
    now = 10.0
    names = AbsentNames(lambda: now)
    assert "nova" not in names
    names.add("nova")
    assert "nova" in names and "echo" not in names
    now += 2.5
    assert "nova" not in names
    names.add("nova")
    names.clear()
    assert "nova" not in names


def test_no_flood_of_names_is_kept() -> None:
    names = AbsentNames(lambda: 0.0)
    for number in range(5000):
        names.add(str(number))
    assert len(names._until) <= 1000
