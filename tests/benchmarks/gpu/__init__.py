"""Benchmarks of GPUs, where there is none."""
