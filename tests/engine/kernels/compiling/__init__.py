"""Kernels before Triton's compiler: what it makes of them, and ahead of time."""
