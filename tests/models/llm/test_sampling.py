"""Tokens are drawn from the distributions of `transformers`, and by (seed, position) alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from engine.errors import RequestError
from models.llm import SamplingParams
from models.llm.logits import AnswerLogits
from models.llm.sampler import LIKELIEST, Answer, filtered, sample

VOCABULARY = 40
DRAWS = 4000
LOGITS = torch.randn(VOCABULARY, generator=torch.Generator().manual_seed(5)) * 2
PROMPT = [1, 4, 9, 9]


def answer(params: SamplingParams, seed: int = 0, ends: tuple[int, ...] = ()) -> Answer:
    return Answer(params, seed, AnswerLogits(params, PROMPT, ends, VOCABULARY))


CASES = {
    "plain": (SamplingParams(), []),
    "temperature": (SamplingParams(temperature=0.6), [TemperatureLogitsWarper(0.6)]),
    "top-k": (SamplingParams(top_k=7), [TopKLogitsWarper(7)]),
    "top-p": (SamplingParams(top_p=0.8), [TopPLogitsWarper(0.8)]),
    "min-p": (SamplingParams(min_p=0.1), [MinPLogitsWarper(0.1)]),
    "repetition": (
        SamplingParams(repetition_penalty=1.5),
        [RepetitionPenaltyLogitsProcessor(1.5)],
    ),
    "all at once": (
        SamplingParams(temperature=1.4, top_k=20, top_p=0.9, min_p=0.02, repetition_penalty=0.8),
        [
            RepetitionPenaltyLogitsProcessor(0.8),
            TemperatureLogitsWarper(1.4),
            TopKLogitsWarper(20),
            TopPLogitsWarper(0.9),
            MinPLogitsWarper(0.02),
        ],
    ),
}


@pytest.mark.parametrize(("params", "processors"), CASES.values(), ids=CASES)
def test_the_distribution_is_that_of_transformers(params: SamplingParams, processors: list) -> None:
    expected = LogitsProcessorList(processors)(torch.tensor([PROMPT]), LOGITS[None].clone()).softmax(-1)[0]
    logits = LOGITS[None].clone()
    answer(params).logits.apply(logits[0])
    found = filtered(logits, [params])[0]
    assert torch.allclose(found / found.sum(), expected, atol=1e-6)
    # And what is drawn is distributed like that, each draw by a seed of its own, in batches of mixed kinds.
    others = [answer(SamplingParams(temperature=0)), answer(SamplingParams(top_k=3, seed=1))]
    answers = [answer(params, seed) for seed in range(DRAWS)]
    counts = torch.zeros(VOCABULARY)
    for begin in range(0, DRAWS, 500):
        batch = [*others, *answers[begin : begin + 500]]
        drawn = sample(LOGITS.expand(len(batch), -1), batch)
        for sampled in drawn[2:]:
            counts[sampled.token] += 1
    assert not counts[expected == 0].any()
    assert chi_square_chance(counts, expected) > 1e-4


@pytest.mark.parametrize("share", [0.05, 0.8, 0.999])
@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_a_share_of_a_large_vocabulary_is_that_of_transformers(share: float, temperature: float) -> None:
    """Some shares are reached by few tokens, some by nearly all."""
    logits = torch.randn(2, 20 * LIKELIEST, generator=torch.Generator().manual_seed(1)) * 3
    params = SamplingParams(temperature=temperature, top_p=share)
    warped = LogitsProcessorList([TemperatureLogitsWarper(temperature), TopPLogitsWarper(share)])
    expected = warped(torch.tensor([PROMPT] * 2), logits.clone())
    found = filtered(logits, [params, SamplingParams(temperature=temperature)])
    assert torch.allclose(found[0], expected[0].softmax(-1), atol=1e-6)
    assert torch.allclose(found[1], (logits[1] / temperature).softmax(-1), atol=1e-6)


def test_of_alike_likely_tokens_top_p_keeps_all_or_none() -> None:
    """As it does on a device; logits in bf16 are often alike."""
    logits = torch.tensor([[3.0, 1.0, 1.0, 1.0, -9.0]])
    kept = filtered(logits, [SamplingParams(top_p=0.8)])[0] > 0
    assert kept.tolist() == [True, True, True, True, False]


def chi_square_chance(counts: torch.Tensor, expected: torch.Tensor) -> float:
    """How likely counts at least as far from `expected` are; what is rarely expected is one class."""
    wanted = expected.double() * DRAWS
    often = wanted >= 5
    classes = [(counts[i].item(), wanted[i].item()) for i in often.nonzero()[:, 0]]
    if (rest := wanted[~often].sum().item()) >= 1:
        classes.append((counts[~often].sum().item(), rest))
    statistic = sum((seen - due) ** 2 / due for seen, due in classes)
    freedom = torch.tensor((len(classes) - 1) / 2, dtype=torch.float64)
    return torch.special.gammaincc(freedom, torch.tensor(statistic / 2, dtype=torch.float64)).item()


def test_a_draw_depends_on_seed_and_place_alone() -> None:
    params = SamplingParams(temperature=1.5)
    alone = [sample(LOGITS[None], [Answer(params, 8, answer(params).logits, i)])[0].token for i in range(20)]
    batch = [Answer(params, 8, answer(params).logits, i) for i in range(20)]
    assert [s.token for s in sample(LOGITS.expand(20, -1), batch)] == alone
    other = [Answer(params, 9, answer(params).logits, i) for i in range(20)]
    assert [s.token for s in sample(LOGITS.expand(20, -1), other)] != alone


@pytest.mark.parametrize("temperature", [1e-29, 1e-38, 1e-45, 1e-60])
def test_a_temperature_next_to_none_takes_the_likeliest_token(temperature: float) -> None:
    drawing = answer(SamplingParams(temperature=temperature, top_p=0.9))
    assert sample(LOGITS[None], [drawing])[0].token == int(LOGITS.argmax())


@pytest.mark.parametrize("temperature", [1e20, 1e39, 1e300])
def test_a_temperature_beyond_all_draws_any_token_but_barred_ones(temperature: float) -> None:
    params = SamplingParams(temperature=temperature, bad_words=((3,),))
    rules = answer(params).logits
    logits = LOGITS[None].clone()
    rules.apply(logits[0])
    found = filtered(logits, [params])[0]
    assert found[3] == 0 and torch.allclose(found[4:], torch.tensor(1 / (VOCABULARY - 1)))


@pytest.mark.parametrize("bias", [float("nan"), float("inf"), 1e30])
def test_a_bias_that_leaves_no_probabilities_is_refused(bias: float) -> None:
    with pytest.raises(RequestError, match="logit_bias has"):
        SamplingParams(logit_bias={3: bias})
    assert SamplingParams(logit_bias={3: float("-inf")}).logit_bias[3] < -1e30


EVERY = tuple((token,) for token in range(VOCABULARY))
BARRED = dict.fromkeys(range(VOCABULARY), float("-inf"))


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"logit_bias": BARRED}, "logit_bias"),
        ({"bad_words": EVERY}, "bad_words"),
        ({"bad_words": EVERY[1:], "logit_bias": {0: float("-inf")}}, "bad_words"),
        ({"logit_bias": {**BARRED, 5: 0.0}, "min_tokens": 1}, "logit_bias"),
        ({"bad_words": ((7, 5), (5, 7, 5)), "logit_bias": {**BARRED, 5: 0.0, 7: 0.0}, "min_tokens": 0}, None),
        ({"bad_words": ((7, 7), (5, 7, 5)), "logit_bias": {**BARRED, 5: 0.0, 7: 0.0}}, "bad_words"),
        ({"logit_bias": {**BARRED, 5: 0.0}}, None),
    ],
)
def test_rules_that_leave_no_token_are_refused(rules: dict[str, Any], field: str | None) -> None:
    params = SamplingParams(**rules)
    if field is None:
        assert sample(LOGITS[None], [answer(params, ends=(5,))])[0].token in (5, 7)
    else:
        with pytest.raises(RequestError, match="bars every token") as refused:
            answer(params, ends=(5,))
        assert refused.value.param == field


@pytest.mark.parametrize("temperature", [1.0, 1e-20])
def test_biases_far_below_zero_bar_no_token(temperature: float) -> None:
    biases = dict.fromkeys(range(VOCABULARY), -1e39)
    params = SamplingParams(logit_bias=biases, temperature=temperature)
    logits = LOGITS[None].clone()
    answer(params).logits.apply(logits[0])
    assert filtered(logits, [params]).isfinite().all()


@pytest.mark.parametrize("penalty", [1e-5, 1e-38, 1e-300])
def test_a_repetition_penalty_next_to_none_takes_what_was_said(penalty: float) -> None:
    drawing = answer(SamplingParams(repetition_penalty=penalty, temperature=1e-20, top_p=0.9))
    likeliest = max(PROMPT, key=lambda token: LOGITS[token])
    assert LOGITS[likeliest] > 0 and sample(LOGITS[None], [drawing])[0].token == likeliest


def test_penalties_of_an_answer_count_its_tokens() -> None:
    rules = answer(SamplingParams(presence_penalty=0.5, frequency_penalty=0.25)).logits
    for token in (3, 3, 7):
        rules.add(token)
    changed = LOGITS.clone()
    rules.apply(changed)
    difference = LOGITS - changed
    assert difference[3].item() == pytest.approx(1.0)
    assert difference[7].item() == pytest.approx(0.75)
    assert difference.count_nonzero() == 2


def test_bias_and_bad_words_and_the_least_length() -> None:
    likeliest = int(LOGITS.argmax())
    params = SamplingParams(temperature=0, logit_bias={5: 100.0}, min_tokens=2, max_tokens=4)
    chosen = answer(params, ends=(5,))
    assert sample(LOGITS[None], [chosen])[0].token == likeliest  # 5 would end the answer
    for token in (1, 2):
        chosen.logits.add(token)
    assert sample(LOGITS[None], [chosen])[0].token == 5
    barred = answer(SamplingParams(temperature=0, bad_words=((likeliest,), (1, 2))))
    second = sample(LOGITS[None], [barred])[0].token
    assert second != likeliest
    after = answer(SamplingParams(temperature=0, bad_words=((8, likeliest),)))
    assert sample(LOGITS[None], [after])[0].token == likeliest
    after.logits.add(8)
    assert sample(LOGITS[None], [after])[0].token == second


def test_likely_tokens_are_told_before_filters() -> None:
    params = SamplingParams(temperature=0.2, top_k=1, logprobs=4)
    told = sample(LOGITS[None], [answer(params)])[0]
    every = LOGITS.log_softmax(-1)
    assert [token for token, _ in told.top] == every.topk(4).indices.tolist()
    assert told.logprob == pytest.approx(every.max().item())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("max_tokens", 0),
        ("min_tokens", 65),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("min_p", 2.0),
        ("repetition_penalty", 0.0),
        ("presence_penalty", 3.0),
        ("logprobs", 21),
        ("seed", -1),
        ("stop", ("",)),
        ("bad_words", ((),)),
    ],
)
def test_what_is_out_of_range_is_named(field: str, value: object) -> None:
    with pytest.raises(RequestError, match=field) as raised:
        SamplingParams(**{field: value})
    assert raised.value.param == field


def test_tokens_that_the_model_lacks_are_named() -> None:
    with pytest.raises(RequestError, match="logit_bias has 40, the model has 40 tokens"):
        answer(SamplingParams(logit_bias={40: 1.0}))
