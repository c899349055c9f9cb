"""Qwen3 side by side with others: `python -m benchmarks.llm`."""
