"""Draws the next token of every answer of a step.

The order of the filters is that of `transformers`: temperature, top-k, top-p, min-p. What is drawn depends on
the logits, the seed and the place of the token in its answer alone (`models/keyed_random.py`), so not on what
else is in the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.device.staging import upload
from models.keyed_random import keyed_generator
from models.llm.logits import AnswerLogits
from models.llm.sampling_params import SamplingParams

LIKELIEST = 2048
"""Tokens in which top-p looks first; it sorts the whole vocabulary where they don't reach the share."""


@dataclass
class Answer:
    """What the sampler knows of one answer. seed: given or drawn. index: of the token to be drawn, from 0."""

    params: SamplingParams
    seed: int
    logits: AnswerLogits
    index: int = 0
    kind: int | None = None
    """Of sampling programs, once it is known."""


class Sampled(NamedTuple):
    """A token, with natural logarithms of probabilities before temperature and filters where asked for.

    top: the likeliest tokens, best first.
    """

    token: int
    logprob: float | None = None
    top: tuple[tuple[int, float], ...] = ()


def sample(logits: Tensor, answers: Sequence[Answer]) -> list[Sampled]:
    """logits [N, V] of any dtype -> a token for each of N answers."""
    logits = logits.float()
    told = _logprobs(logits, answers)
    if any(answer.logits.changes for answer in answers):
        logits = logits.clone()
        for row, answer in zip(logits, answers, strict=True):
            answer.logits.apply(row)
    return [
        Sampled(token) if rows is None else _told(token, rows)
        for token, rows in zip(_choose(logits, answers).tolist(), told, strict=True)
    ]


def _choose(logits: Tensor, answers: Sequence[Answer]) -> Tensor:
    """Token ids [N]: the likeliest, or drawn, as each answer wants it."""
    drawing = [i for i, answer in enumerate(answers) if not answer.params.greedy]
    if len(drawing) == len(answers):  # spares going through the vocabulary once more
        return _draw(logits, answers)
    tokens = logits.argmax(-1)
    if drawing:
        rows = upload(np.array(drawing), logits.device)
        tokens[rows] = _draw(logits[rows], [answers[i] for i in drawing])
    return tokens


def filtered(logits: Tensor, params: Sequence[SamplingParams]) -> Tensor:
    """Probabilities fp32 [N, V] after temperature and filters, logits fp32 [N, V]."""
    device = logits.device
    temperature = _column([p.temperature for p in params], device)
    logits = logits / temperature
    top_k = [p.top_k for p in params]
    if any(top_k):
        size = logits.shape[-1]
        counts = upload(np.array([min(k, size) if k else size for k in top_k]), device)
        largest = logits.topk(max(min(k, size) for k in top_k), dim=-1).values
        least = largest.gather(1, (counts.clamp(max=largest.shape[1]) - 1)[:, None])
        least = torch.where((counts < size)[:, None], least, -torch.inf)
        logits = logits.masked_fill(logits < least, -torch.inf)
    if any(p.top_p < 1 for p in params):
        least = _least_of_shares(logits, _column([p.top_p for p in params], device))
        logits = logits.masked_fill(logits < least, -torch.inf)
    probabilities = logits.softmax(-1)
    if any(p.min_p for p in params):
        share = _column([p.min_p for p in params], device)
        least = share * probabilities.amax(-1, keepdim=True)
        probabilities = probabilities.masked_fill(probabilities < least, 0.0)
    return probabilities


def _least_of_shares(logits: Tensor, shares: Tensor) -> Tensor:
    """The least logit [N, 1] of the likeliest tokens that together reach `shares` [N, 1] of all; minus
    infinity where that is 1. logits fp32 [N, V]."""
    whole, size = logits.logsumexp(-1, keepdim=True), logits.shape[-1]
    takes_all = shares == 1
    for count in (min(LIKELIEST, size), size):
        values = logits.topk(count, dim=-1).values
        sums = (values - whole).exp().cumsum(-1)
        if bool((takes_all | (sums[:, -1:] >= shares)).all()):
            break
    last = (sums < shares).sum(-1, keepdim=True).clamp(max=count - 1)
    return torch.where(takes_all, -torch.inf, values.gather(1, last))


def _draw(logits: Tensor, answers: Sequence[Answer]) -> Tensor:
    """Token ids [N]: where a uniform number falls among the sums of the probabilities."""
    sums = filtered(logits, [answer.params for answer in answers]).double().cumsum(-1)
    uniform = [keyed_generator(answer.seed, answer.index).random() for answer in answers]
    points = upload(np.array(uniform), logits.device)[:, None] * sums[:, -1:]
    return torch.searchsorted(sums, points, right=True)[:, 0].clamp(max=logits.shape[-1] - 1)


def _column(values: Sequence[float], device: torch.device) -> Tensor:
    """fp32 [N, 1]."""
    return upload(np.array(values, np.float32), device)[:, None]


_Told = tuple[Tensor, int]


def _logprobs(logits: Tensor, answers: Sequence[Answer]) -> list[_Told | None]:
    """For answers that want them: log probabilities [V], and how many to tell."""
    wanted = [answer.params.logprobs for answer in answers]
    if all(count is None for count in wanted):
        return [None] * len(answers)
    every = logits.log_softmax(-1)
    return [None if count is None else (row, count) for row, count in zip(every, wanted, strict=True)]


def _told(token: int, told: _Told) -> Sampled:
    row, count = told
    values, ids = row.topk(count)
    return Sampled(token, row[token].item(), tuple(zip(ids.tolist(), values.tolist(), strict=True)))
