"""What is compared: each takes token ids and generates a fixed number of tokens for every stream."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import torch

if TYPE_CHECKING:
    from models.llm.engine import TextEngine

Prompts = list[list[int]]


class System(Protocol):
    def generate(self, prompts: Prompts, counts: list[int]) -> None:
        """So many new tokens for each prompt, whatever they are."""

    def close(self) -> None:
        """Ends the processes of other ranks."""


class Ours:
    def __init__(self, directory: Path, device: str, ranks: int = 1) -> None:
        from models.llm import LLM, SamplingParams

        self._params = SamplingParams
        self._llm = LLM(str(directory), ranks, device=device, max_model_len=4096, max_num_seqs=256)

    def close(self) -> None:
        self._llm.close()

    @property
    def engine(self) -> TextEngine:
        return self._llm._engine

    def generate(self, prompts: Prompts, counts: list[int]) -> None:
        params = [self._params(temperature=0.6, ignore_eos=True, max_tokens=n) for n in counts]
        self._llm.generate(prompts, params, use_tqdm=False)


class Transformers:
    """One batch of prompts of one length, on one device; bf16 on a GPU, on a CPU `cpu_dtype`."""

    def __init__(
        self, directory: Path, device: str, ranks: int = 1, cpu_dtype: torch.dtype = torch.float32
    ) -> None:
        if ranks > 1:
            raise ValueError("transformers is compared on one device")
        from transformers import AutoModelForCausalLM

        dtype = cpu_dtype if device == "cpu" else torch.bfloat16
        model = AutoModelForCausalLM.from_pretrained(directory, dtype=dtype)
        self._model = model.to(device).eval()

    def generate(self, prompts: Prompts, counts: list[int]) -> None:
        ids = torch.tensor(prompts, device=self._model.device)
        (count,) = set(counts)
        self._model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=count,
            min_new_tokens=count,
            do_sample=True,
            temperature=0.6,
            top_k=0,
            pad_token_id=0,
        )

    def close(self) -> None:
        del self._model


class _Ids:
    """In place of a tokenizer where prompts are token ids."""

    eos_token_id = -1

    def decode(self, token_ids: list[int]) -> str:
        return ""


class NanoVLLM:
    """From its source: `--nano-vllm DIR`, the folder that holds `nanovllm/`."""

    source: Path | None = None

    def __init__(self, directory: Path, device: str, ranks: int = 1) -> None:
        from transformers import AutoTokenizer

        sys.path.insert(0, str(self.source))
        AutoTokenizer.from_pretrained = lambda *args, **kwargs: _Ids()  # the checkpoints here have none
        from nanovllm import LLM, SamplingParams

        self._params = SamplingParams
        self._llm = LLM(str(directory), enforce_eager=False, max_model_len=4096, tensor_parallel_size=ranks)

    def generate(self, prompts: Prompts, counts: list[int]) -> None:
        params = [self._params(temperature=0.6, ignore_eos=True, max_tokens=n) for n in counts]
        self._llm.generate(prompts, params, use_tqdm=False)

    def close(self) -> None:
        self._llm.exit()


SYSTEMS: dict[str, Callable[[Path, str, int], System]] = {
    "ours": Ours,
    "transformers": Transformers,
    "transformers-bf16": partial(Transformers, cpu_dtype=torch.bfloat16),
    "nano-vllm": NanoVLLM,
}
