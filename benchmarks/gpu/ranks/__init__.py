"""Speech over several GPUs.

speech.py   a step on one GPU and over two
guided.py   guided and unguided rows on a GPU each
"""
