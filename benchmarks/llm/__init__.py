"""Qwen3 side by side with others: `python -m benchmarks.llm`.

systems.py       what is compared
checkpoints.py   random weights in released shapes
long_context.py  a long context with its keys and values on the host
profile.py       where the time of the bench of 256 requests goes
host.py          the host's part of it, measured on a CPU
"""
