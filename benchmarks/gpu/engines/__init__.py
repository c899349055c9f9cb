"""Engines under the same work.

scenarios.py   `python -m benchmarks.gpu`
ours.py        of this repository
peer.py        nano-vllm-voxcpm, in a process of its own
"""
