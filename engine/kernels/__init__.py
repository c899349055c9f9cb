"""Fused Triton kernels of the layers, for CUDA; on the CPU they run in Triton's interpreter, for tests."""
