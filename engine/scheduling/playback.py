"""How far ahead of its listener a sequence is, and who goes first when a step cannot serve all.

A stream of 160 ms per token that has sent 10 tokens, the first of them 1.2 s ago, has a lead of 0.4 s. It may
wait that much longer before its listener hears a gap. Waiting shrinks a lead second by second, and a token
adds what it plays, so whoever waits becomes urgent. All that are late by more than a second are equally
urgent and take turns. So nobody starves, and where the device is too slow for all, all fall behind alike.

Times come from the engine's clock; nothing here measures them.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.sequence import Sequence

UNPACED_LEAD_SECONDS = 1.0
"""Lead of a sequence that nobody listens to, just after it was served; it falls behind while it waits."""
MOST_URGENT_LEAD_SECONDS = -1.0
"""Being later than this makes nobody more urgent; among such, whoever was served longest ago goes first."""


def record_arrival(sequence: Sequence, now: float) -> None:
    """Its listener, if any, waits from now on; called once, when the sequence is queued."""
    sequence.arrived_at = sequence.served_at = now


def record_token(sequence: Sequence, now: float) -> None:
    """A token has come out; the first of them starts playing."""
    sequence.served_at = now
    if sequence.first_token_at is None:
        sequence.first_token_at = now


def record_pause(sequence: Sequence, now: float) -> None:
    """Its listener has stopped playing too."""
    sequence.paused_at = now


def record_resumption(sequence: Sequence, now: float) -> None:
    """It goes on with the lead that it had: all its times move by the length of the pause."""
    if sequence.paused_at is None:
        return
    paused_seconds = now - sequence.paused_at
    sequence.paused_at = None
    sequence.arrived_at += paused_seconds
    sequence.served_at += paused_seconds
    if sequence.first_token_at is not None:
        sequence.first_token_at += paused_seconds


def lead_seconds(sequence: Sequence, now: float) -> float:
    """Audio sent less the time since the first of it; below 0 its listener is waiting."""
    if not sequence.token_seconds:
        return UNPACED_LEAD_SECONDS - (now - sequence.served_at)
    if sequence.first_token_at is None:
        return sequence.arrived_at - now
    return sequence.num_new_tokens * sequence.token_seconds - (now - sequence.first_token_at)


def most_urgent(sequences: Iterable[Sequence], count: int, now: float) -> list[Sequence]:
    """The `count` most urgent sequences, by lead; they come back in the order in which they were given."""
    sequences = list(sequences)

    def urgency(index: int) -> tuple[float, float, int]:
        lead = lead_seconds(sequences[index], now)
        return max(lead, MOST_URGENT_LEAD_SECONDS), sequences[index].served_at, index

    chosen = sorted(range(len(sequences)), key=urgency)[:count]
    return [sequences[index] for index in sorted(chosen)]
