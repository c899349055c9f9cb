"""Text models: what all of their families share, and how they are used from Python.

    from models.llm import LLM, SamplingParams

    llm = LLM("path/to/Qwen3-0.6B")
    for answer in llm.generate(["Once upon a time"], SamplingParams(temperature=0.6, max_tokens=64)):
        print(answer["text"])

api.py              `LLM`; completion.py: what `generate` gives
loading.py          an engine for a worker
options.py          what may be chosen when an engine is built
engine.py           requests in, tokens and text out
runner.py           one step on the device; token_step.py: what it computes, as plain numbers
families.py         which families there are
checkpoint.py       a checkpoint on disk
tokenizer.py        text and chats to tokens, and back
sampling_params.py  how the tokens of an answer are chosen
logits.py           penalties, biases, barred tokens
sampler.py          draws the next token of every answer
stop_strings.py     ends an answer at a string
kv_sizing.py        how many blocks of KV cache there are
programs/           steps at fixed addresses, recorded as CUDA graphs
parallel/           a model over several ranks
pool/               several devices behind one `LLM`, an engine each
"""

from engine.cpu.cpus import bound_shape_caches, give_way_while_waiting

give_way_while_waiting()
bound_shape_caches()

from models.llm.api import LLM  # noqa: E402 - PyTorch reads both settings when it is loaded
from models.llm.sampling_params import SamplingParams  # noqa: E402

__all__ = ["LLM", "SamplingParams"]
