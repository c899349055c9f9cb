"""Steps of text models as programs: a device draws what the host draws, and answers are those of free steps.

Without a GPU Triton's interpreter runs the kernels.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from engine.sequence import Sequence
from models.llm import LLM, SamplingParams
from models.llm.logits import AnswerLogits
from models.llm.programs import sampling_program
from models.llm.programs.runner import ProgramRunner
from models.llm.programs.sampling_program import Kind, SamplingProgram, readback
from models.llm.programs.tables import Tables
from models.llm.sampler import Answer, Sampled, sample
from tests.engine.compiler import compiled
from tests.models.llm.answers import PARAMS, PROMPTS

VOCABULARY, STEPS, ENDS = 150, 6, (3,)
PROMPT = [1, 4, 9, 9]
CASES = {
    "greedy": SamplingParams(temperature=0),
    "plain": SamplingParams(seed=2**64 - 1),
    "temperature": SamplingParams(temperature=0.4, seed=2),
    "top-k": SamplingParams(top_k=7, seed=3),
    "top-k of all": SamplingParams(top_k=1000, seed=3),
    "top-p": SamplingParams(top_p=0.7, temperature=1.3, seed=4),
    "min-p": SamplingParams(min_p=0.2, seed=5),
    "repetition": SamplingParams(temperature=0, repetition_penalty=1.8),
    "presence": SamplingParams(temperature=0, presence_penalty=1.5),
    "frequency": SamplingParams(frequency_penalty=2.0, temperature=0.1, seed=6),
    "biases": SamplingParams(logit_bias={5: 6.0, 7: 5.5, 8: -3.0}, seed=7),
    "bad words": SamplingParams(temperature=0, bad_words=((5,), (6, 6), (1, 2, 3)), logit_bias={6: 30.0}),
    "no end before": SamplingParams(temperature=0, logit_bias={3: 40.0}, min_tokens=4),
    "no end ever": SamplingParams(temperature=0, logit_bias={3: 40.0}, min_tokens=2**40, max_tokens=2**40),
    "top-k of more than any": SamplingParams(top_k=10**40, seed=3),
    "all at once": SamplingParams(
        temperature=1.4,
        top_k=60,
        top_p=0.9,
        min_p=0.02,
        repetition_penalty=0.8,
        frequency_penalty=0.5,
        seed=8,
    ),
    "told": SamplingParams(seed=9, top_p=0.8, logprobs=4),
}


class Logits:
    """A model whose logits are its hidden states."""

    config = SimpleNamespace(vocab_size=VOCABULARY)

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden.clone()


def asked(name: str, params: SamplingParams) -> Sequence:
    rules = AnswerLogits(params, PROMPT, ENDS, VOCABULARY)
    return Sequence(name, PROMPT, 99, SimpleNamespace(answer=Answer(params, params.seed or 0, rules)))


def learn(sequence: Sequence, token: int) -> None:
    answer = sequence.payload.answer
    answer.index += 1
    answer.logits.add(token)
    sequence.token_ids.append(token)


def programs(rows: int, kind: Kind, tables: Tables, hidden: Tensor) -> SamplingProgram:
    outputs = readback(rows, kind, VOCABULARY, torch.device("cpu"))
    return SamplingProgram(rows, kind, Logits(), tables, hidden, outputs)  # type: ignore[arg-type]


def test_a_device_draws_what_the_host_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step, all kinds in one batch, with fewer slots than sequences, so that some are filled anew."""
    monkeypatch.setattr(sampling_program, "BLOCK", 32)  # several blocks, the last of them not full
    monkeypatch.setattr(sampling_program, "WIDE", 64)
    sequences = [asked(name, params) for name, params in CASES.items()]
    tables = Tables(len(sequences), VOCABULARY, torch.device("cpu"))
    hidden = torch.zeros(len(sequences) + 1, VOCABULARY)
    program = programs(len(hidden), Kind.TOLD, tables, hidden)
    draw = torch.Generator().manual_seed(1)
    for step in range(STEPS):
        rows = sequences[step % 3 :]  # not everybody in every step
        if step == 3:
            for sequence in rows[::2]:
                tables.release(sequence)
        hidden.copy_(2 * torch.randn(hidden.shape, generator=draw))
        expected = sample(hidden[: len(rows)], [row.payload.answer for row in rows])
        answers = [row.payload.answer for row in rows]
        program.fill(tables.slots(rows), [answer.index for answer in answers], answers)
        for sequence, told, wanted in zip(rows, program.launch().results(), expected, strict=True):
            found: Sampled = told.sampled(sequence.payload.answer.params.logprobs)
            assert found.token == wanted.token, (step, sequence.request_id)
            assert [token for token, _ in found.top] == [token for token, _ in wanted.top]
            if wanted.logprob is not None:
                assert found.logprob == pytest.approx(wanted.logprob, abs=1e-5)
            learn(sequence, wanted.token)


def test_who_needs_no_rules_is_drawn_alike_by_programs_of_every_kind() -> None:
    sequences = [asked(name, CASES[name]) for name in ("greedy", "plain", "temperature")]
    hidden = 3 * torch.randn(3, VOCABULARY, generator=torch.Generator().manual_seed(2))
    found = []
    for kind in Kind:
        tables = Tables(3, VOCABULARY, torch.device("cpu"))
        program = programs(3, kind, tables, hidden)
        program.fill(tables.slots(sequences), [0, 0, 0], [s.payload.answer for s in sequences])
        drawn = program.launch().results()
        found.append([told if isinstance(told, int) else told.token for told in drawn])
        assert found[0] == found[-1] == tables.tokens[[2, 1, 0]].tolist()


def test_answers_are_those_of_free_steps(checkpoint_directory: Path) -> None:
    found = []
    for graphs, backend in (("off", "sdpa"), ("static", "triton")):
        options = {"graphs": graphs, "attention_backend": backend, "max_model_len": 32, "max_num_seqs": 2}
        with LLM(str(checkpoint_directory), device="cpu", **options) as llm:
            found.append(
                [llm.generate([p], q, use_tqdm=False)[0] for p, q in zip(PROMPTS, PARAMS, strict=True)]
            )
            runner = llm._engine._llm.runner
            assert isinstance(runner._programs, ProgramRunner) == (graphs == "static")
    for free, programmed in zip(*found, strict=True):
        assert free["token_ids"] == programmed["token_ids"]
        assert len(free["logprobs"]) == len(programmed["logprobs"])


@pytest.mark.timeout(300)
def test_the_kernels_that_draw_compile_for_hopper(tmp_path: Path) -> None:
    lines = compiled("tests.models.llm.compile_kernels", tmp_path)
    assert sum("bytes of shared memory" in line for line in lines) == 9
