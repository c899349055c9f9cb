"""What `python -m benchmarks.voice` measures beside held-out sentences (`judging/judge.py`)."""
