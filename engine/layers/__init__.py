"""Layers that transformer models share, in plain torch: they run on any device and in any dtype.

linear.py     several linear layers of one input, as one product
low_rank.py   low-rank additions to linear layers, for some rows of a batch
norm.py       root-mean-square normalisation
rotary.py     rotary position embedding, scaled for long texts where a model wants it
embedding.py  embedding tables
packed.py     layers laid out for inference on a CPU
"""
