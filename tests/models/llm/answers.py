"""Prompts, and how their answers are drawn: on a device and by the host."""

from __future__ import annotations

from models.llm import SamplingParams

PROMPTS = [[5, 6, 7], [9] * 20, [4]]
LONG_WORD = tuple(range(10, 20))
"""More tokens than a slot has room for: the host draws."""
PARAMS = [
    SamplingParams(temperature=0, max_tokens=4, ignore_eos=True),
    SamplingParams(seed=3, top_p=0.9, max_tokens=3, ignore_eos=True, logprobs=2),
    SamplingParams(seed=4, max_tokens=3, ignore_eos=True, bad_words=(LONG_WORD,)),
]
