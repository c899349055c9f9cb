"""An engine whose device computes nothing, on a CPU: what is left of the bench is the host's part of it.

    TRITON_INTERPRET=1 python -m benchmarks.llm.profile --host [--windows 100 600]

Programs are filled, "launched" and read one step ahead as on a GPU, and long prompts take the unrecorded
path; layers, head and draws are left out. A step costs what the host needs for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from torch import Tensor

from benchmarks.llm.checkpoints import COMMON, write_checkpoint
from engine.device.staging import HostCopy, Readback
from models.llm.checkpoint import load_text_checkpoint
from models.llm.engine import TextEngine
from models.llm.options import TextOptions
from models.llm.programs.language_program import LanguageProgram
from models.llm.programs.sampling_program import SamplingProgram
from models.qwen3.model import Qwen3

TINY = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "tie_word_embeddings": True,
    "vocab_size": 16384,
}


def _nothing(
    model: Qwen3, token_ids: Tensor, positions: Tensor, attention: object, ends: Tensor | None = None
) -> Tensor:
    rows = token_ids if ends is None else ends
    return model.model.embed_tokens.weight.new_zeros(len(rows), model.config.hidden_size)


def _at_once(readback: Readback, rows: int) -> HostCopy:
    """A copy that is none: on a GPU the host has no part in it."""
    return HostCopy(readback.source, [], rows=rows)


@contextmanager
def idle_engine(max_num_seqs: int = 256) -> Iterator[TextEngine]:
    """As `benchmarks.llm.systems.Ours` has one."""
    options = TextOptions(
        max_num_seqs=max_num_seqs, max_model_len=4096, attention_backend="triton", graphs="static",
        kv_blocks=max_num_seqs * 64,
    )  # fmt: skip
    with (
        tempfile.TemporaryDirectory() as directory,
        mock.patch.object(Qwen3, "forward", _nothing),
        mock.patch.object(LanguageProgram, "compute", lambda program: None),
        mock.patch.object(SamplingProgram, "compute", lambda program: None),
        mock.patch.object(Readback, "take", _at_once),
    ):
        write_checkpoint(Path(directory), COMMON | TINY)
        yield TextEngine(load_text_checkpoint(directory, "cpu"), options)
