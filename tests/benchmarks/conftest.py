"""Benchmarks of kernels run them in Triton's interpreter."""

from __future__ import annotations

from tests.conftest import hasten_kernels

hasten_kernels()
