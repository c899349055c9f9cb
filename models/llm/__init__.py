"""Text models: what all of their families share, and how they are used from Python.

    from models.llm import LLM, SamplingParams

    llm = LLM("path/to/Qwen3-0.6B")
    for answer in llm.generate(["Once upon a time"], SamplingParams(temperature=0.6, max_tokens=64)):
        print(answer["text"])

`families.py`: which families there are. `checkpoint.py`: a checkpoint on disk. `tokenizer.py`: text and chats
to tokens, and back. `sampling_params.py`, `logits.py`, `sampler.py`: how the next token is chosen.
`runner.py`: one step on the device. `engine.py`: requests in, tokens and text out. `api.py`: `LLM`.
"""

from engine.cpu.cpus import bound_shape_caches, give_way_while_waiting

give_way_while_waiting()
bound_shape_caches()

from models.llm.api import LLM  # noqa: E402 - PyTorch reads both settings when it is loaded
from models.llm.sampling_params import SamplingParams  # noqa: E402

__all__ = ["LLM", "SamplingParams"]
