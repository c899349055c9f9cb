"""Low-rank additions to products: what adapters add.

slots.py           where the matrices of adapters lie, and which row has which
within.py          added within the kernel of the product
around.py          added by two kernels around it (around_kernels.py); `row_attention` may be the first
delta.py           made apart, and added by the kernel behind the product
into_weights.py    added to the weights themselves, for all rows

Products of many streams that add it themselves are in `engine.kernels.hopper`.
"""
