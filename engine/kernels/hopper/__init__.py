"""A product in CUDA C++ for Hopper (compute capability 9.0), whose tiles are faster than those of Triton.

linear.py           the product, and which rows it serves
program.py          compiles a source for this device, and launches it; kept.py keeps machine code on disk
tensor_map.py       tells the memory engine where a tensor lies
linear.cu           the kernel; its tiles are in tiles.cuh, what adapters add in entries.cuh
instructions.cuh    instructions that CUDA C++ has no words for
"""
