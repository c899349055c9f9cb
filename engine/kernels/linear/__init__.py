"""Products of rows and a weight.

split_linear.py     of few rows, shared out over K, with the gate, a bias or what adapters add
split_kernel.py     its kernel
split_tiling.py     how its work is divided, by rows and sizes
operands.py         weights and rows as a warp loads them
halved_linear.py    of some hundred rows, by the matrix library in two halves of K
spare_rows.py       of more, by the matrix library with a few rows besides
tiled_linear.py     of many by a kernel of our own, which has the gate in it
tilings.py          for which rows that pays
"""
