"""Draws tokens from logits of which every rank has a part of the vocabulary.

Most answers need only a few numbers of each part: the largest logit and where it stands and, for a
temperature, the sum of exponentials. A uniform number then falls into the part of one rank, which finds the
token. Answers with filters, penalties, biases, barred tokens or logarithms of probabilities have their
logits gathered on rank 0, which draws by `models.llm.sampler` as for one rank. Which way a row goes depends
on its own answer alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from engine.device.staging import upload
from engine.parallel.group import Group
from models.keyed_random import keyed_generator
from models.llm.sampler import Answer

GATHERS, TEMPERATURE, UNIFORM = range(3)
"""Columns of ways; a temperature of 0 is greedy."""


def ways_of(answers: Sequence[Answer]) -> np.ndarray:
    """How the token of each answer is drawn: fp64 [N, 3]."""
    ways = np.zeros((len(answers), 3))
    for way, answer in zip(ways, answers, strict=True):
        params = answer.params
        filtered = not params.greedy and (params.top_k or params.top_p < 1 or params.min_p)
        way[GATHERS] = bool(filtered or params.logprobs is not None or answer.logits.changes)
        way[TEMPERATURE] = params.temperature
        if not params.greedy:
            way[UNIFORM] = keyed_generator(answer.seed, answer.index).random()
    return ways


def draw(part: Tensor, ways: np.ndarray, group: Group) -> tuple[Tensor, Tensor | None]:
    """part [N, V / ranks] -> tokens int64 of rows that are not gathered, and logits fp32 [G, V] of those
    that are, on rank 0. All ranks call it with the same ways.
    """
    gathers = ways[:, GATHERS] > 0
    gathered = None
    if gathers.any():
        parts = group.gather(part[upload(np.flatnonzero(gathers), part.device)].float())
        gathered = None if parts is None else parts.transpose(0, 1).flatten(1)
        part = part[upload(np.flatnonzero(~gathers), part.device)]
    return _draw(part.float(), ways[~gathers], group), gathered


def _draw(part: Tensor, ways: np.ndarray, group: Group) -> Tensor:
    """fp32 [N, V / ranks] -> int64 [N], the same on all ranks."""
    if not len(ways):
        return torch.empty(0, dtype=torch.int64, device=part.device)
    first = group.rank * part.shape[1]
    temperature = upload(ways[:, TEMPERATURE], part.device)
    greedy = temperature == 0
    scaled = part / torch.where(greedy, 1.0, temperature)[:, None].float()
    largest, place = scaled.max(-1)
    weights = (scaled - largest[:, None]).exp().double().cumsum(-1)
    own = torch.stack([largest.double(), place.double() + first, weights[:, -1]], dim=-1)
    maxima, places, sums = group.all_gather(own).unbind(-1)  # each [ranks, N]
    highest, best = maxima.max(0)
    tokens = places.gather(0, best[None])[0].long()
    if not (ways[:, TEMPERATURE] > 0).any():
        return tokens
    shares = sums * (maxima - highest).exp()
    ends = shares.cumsum(0)
    point = upload(ways[:, UNIFORM], part.device) * ends[-1]
    owner = (ends <= point).sum(0).clamp(max=group.size - 1)
    before = (ends - shares).gather(0, owner[None])[0]
    rest = (point - before) / (maxima[group.rank] - highest).exp()
    found = torch.searchsorted(weights, rest[:, None], right=True)[:, 0].clamp(max=part.shape[1] - 1)
    told = torch.where(owner == group.rank, found + first, 0)
    return torch.where(greedy, tokens, group.all_reduce(told))
