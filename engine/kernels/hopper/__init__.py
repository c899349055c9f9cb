"""Products in CUDA C++ for Hopper (compute capability 9.0), which add what adapters do.

linear.py           of many rows: linear.cu, with tiles in tiles.cuh and `down` in entries.cuh
row_linear.py       of rows that are entries of their own: row_linear.cu, row_tiles.cuh and row_items.cuh
sources.py          what both share, as programs.cuh and instructions.cuh are
program.py          compiles a source for this device, and launches it; kept.py keeps machine code on disk
tensor_map.py       tells the memory engine where a tensor lies
"""
