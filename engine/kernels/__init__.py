"""Fused kernels of the layers, for CUDA, in Triton; on the CPU they run in its interpreter, for tests.

linear/             products of few rows, in halves of K, with a few rows besides, and by tiles
norms/              norms, with the sum before them, over ranks too
low_rank/           what adapters add to products
hopper/             products that add it, in CUDA C++
activation.py       the gate of an MLP
rotary.py           rotation of queries and keys
row_attention.py    attention over rows of a few tokens
merge.py            attention of parts of a context, put together
streaming_conv.py, streaming_parts.py    convolutions of the audio VAE as streams go on
fragments.py        tiles as a warp loads them
fence.py            when a kernel loads
launch.py           how kernels are launched
ahead.py            compiles the kernels of a computation before it first runs
"""
