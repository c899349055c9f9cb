"""What a device remembers of answers between their steps: the last token, and how the next one is drawn.

A slot is filled when a sequence gets it, and from then on the programs move it on; the host only tells which
slots a step is about and which places in their answers its tokens have.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from engine.device.staging import upload
from engine.programs.slots import Slots
from engine.sequence import Sequence
from models.llm.programs.kernels import BARRED, BIAS, PREFIX, PROMPT, RULES
from models.llm.sampler import Answer
from models.llm.sampling_params import SamplingParams

COLUMNS = 8
"""Of `Tables.floats`: temperature, top-k, top-p, min-p, repetition, presence and frequency penalty, and one
that nobody reads."""
FIELDS = 4 + PREFIX
"""Of a rule: kind, token, the place in the answer from which on it is void, value, and the tokens that must
precede it, -1 for any."""
_FOREVER = np.iinfo(np.int32).max
_NEUTRAL = (0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0)

Rule = tuple[int, int, int, float, tuple[int, ...]]


class Tables(Slots):
    """Slots of answers.

    Attributes:
        tokens: int64 [slots + 1], the last token of each.
        seeds: int64 [slots + 1], as bits.
        floats: fp32 [slots + 1, COLUMNS].
        counts: int32 [slots + 1, V], how often the answer has each token; PROMPT is added for those of the
            prompt. Kept for answers with penalties alone.
        history: int32 [slots + 1, PREFIX], the last tokens of each answer, -2 before the first.
        rules: int32 [slots + 1, RULES, FIELDS].
    """

    def __init__(self, num_slots: int, vocab_size: int, device: torch.device) -> None:
        super().__init__(num_slots)
        self._device, rows = device, num_slots + 1
        self.tokens = torch.zeros(rows, dtype=torch.int64, device=device)
        self.seeds = torch.zeros(rows, dtype=torch.int64, device=device)
        self.floats = upload(np.array([_NEUTRAL] * rows, np.float32), device)
        self.counts = torch.zeros(rows, vocab_size, dtype=torch.int32, device=device)
        self.history = torch.full((rows, PREFIX), -2, dtype=torch.int32, device=device)
        self.rules = torch.zeros(rows, RULES, FIELDS, dtype=torch.int32, device=device)
        self._ruled: set[int] = set()
        """Slots whose rules are not those of nobody."""

    def slots(self, sequences: list[Sequence]) -> list[int]:
        """The slot of each sequence, ready for its next token. A sequence's payload is a `TextState`."""
        slots, new = self.find(sequences)
        if new:
            self._fill([(slots[index], sequences[index]) for index in new])
        return slots

    def _fill(self, rows: list[tuple[int, Sequence]]) -> None:
        answers = [sequence.payload.answer for _, sequence in rows]
        slots = upload(np.array([slot for slot, _ in rows]), self._device)
        last = np.array([sequence.token_ids[-1] for _, sequence in rows], np.int64)
        seeds = np.array([answer.seed for answer in answers], np.uint64).view(np.int64)
        both = upload(np.stack([last, seeds]), self._device)
        self.tokens[slots], self.seeds[slots] = both
        self.floats[slots] = upload(
            np.array([floats_of(a.params) for a in answers], np.float32), self._device
        )
        for (slot, sequence), answer in zip(rows, answers, strict=True):
            if learns(answer.params):
                self._fill_counts(slot, sequence, answer)
                self._fill_rules(slot, answer)
                self._ruled.add(slot)
            elif slot in self._ruled:
                self.rules[slot].zero_()
                self._ruled.remove(slot)

    def _fill_counts(self, slot: int, sequence: Sequence, answer: Answer) -> None:
        answered = sequence.token_ids[len(sequence) - answer.index :]
        counts = np.zeros(self.counts.shape[1], np.int32)
        np.add.at(counts, answered, 1)
        counts[sequence.token_ids[: len(sequence) - answer.index]] |= PROMPT.value
        self.counts[slot] = upload(counts, self._device)
        history = np.full(PREFIX, -2, np.int32)
        recent = answered[-PREFIX:]
        history[PREFIX - len(recent) :] = recent
        self.history[slot] = upload(history, self._device)

    def _fill_rules(self, slot: int, answer: Answer) -> None:
        rules = np.zeros((RULES, FIELDS), np.int32)
        for row, (kind, token, until, value, before) in zip(
            rules, rules_of(answer.params, answer.logits.end_ids), strict=False
        ):
            row[:3] = kind, token, until
            row[3:4] = np.array([value], np.float32).view(np.int32)
            row[4:] = (-1,) * (PREFIX - len(before)) + before
        self.rules[slot] = upload(rules, self._device)


def floats_of(params: SamplingParams) -> tuple[float, ...]:
    """A row of `Tables.floats`."""
    return (
        params.temperature,
        float(min(params.top_k, _FOREVER)),
        params.top_p,
        params.min_p,
        params.repetition_penalty,
        params.presence_penalty,
        params.frequency_penalty,
        0.0,
    )


def rules_of(params: SamplingParams, end_ids: list[int]) -> Iterator[Rule]:
    """Biases first, then tokens that are barred: (kind, token, until, value, tokens before it)."""
    for token, bias in params.logit_bias.items():
        yield BIAS.value, token, _FOREVER, bias, ()
    if params.min_tokens:
        for token in end_ids:
            yield BARRED.value, token, min(params.min_tokens, _FOREVER), 0.0, ()
    for *before, last in params.bad_words:
        yield BARRED.value, last, _FOREVER, 0.0, tuple(before)


def fits(params: SamplingParams, end_ids: list[int]) -> bool:
    """Whether a slot has room for the rules of an answer."""
    rules = list(rules_of(params, end_ids))
    return len(rules) <= RULES and all(len(before) <= PREFIX for *_, before in rules)


def learns(params: SamplingParams) -> bool:
    """Whether the logits of an answer change with what it has said, or by rules."""
    return bool(
        params.logit_bias
        or params.bad_words
        or params.min_tokens
        or params.repetition_penalty != 1.0
        or params.presence_penalty
        or params.frequency_penalty
    )


def filters(params: SamplingParams) -> bool:
    """Whether tokens are drawn from a part of the distribution."""
    return not params.greedy and bool(params.top_k or params.top_p < 1 or params.min_p)
