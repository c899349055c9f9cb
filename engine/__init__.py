"""A small inference engine: sequences, paged KV blocks, continuous batching, attention backends.

It knows tokens (ints or bytes), positions and devices; it knows no audio, no HTTP and no model. A model joins
by implementing `engine.model_runner.ModelRunner`; `engine.llm_engine.LLMEngine` then decides what each step
computes.

llm_engine.py      sequences in, one output per sequence and step out
model_runner.py    what a model must offer so that the engine can drive it
model_engine.py    what the engines of all model families have in common
loop.py            the thread that owns an engine
forks.py           what a fork of a process finds of the engines in it
interrupts.py      Ctrl-C where no thread of its own steps an engine
output_stream.py   the outputs of one request on their way to its reader
sequence.py        one request: its tokens, its blocks, how far it is computed
config.py          the limits of one engine
errors.py          what can go wrong, one class per party that has to react
weights.py         checkpoints in, checkpoints out
archives.py        what a file of tensors that somebody sent may be
scheduling/        what the next step computes, and for whom
kv_cache/          where keys and values live between steps
attention/         attention over the paged cache, one backend per file
layers/            layers in plain torch
kernels/           the same fused, in Triton
programs/          steps at fixed addresses, recorded as CUDA graphs
parallel/          one model shared out among processes
device/            which device, and what travels to it and back
cpu/               how many CPUs and threads a step takes
"""
