"""Single kernels on a GPU: errors and times, and what else was tried.

fused.py       fused kernels against plain forms; cases.py: what is computed
vae.py         the audio decoder; vae_tiles.py: its tiles
linear/        products
low_rank.py    adapters around products
attention.py   backends of attention; attention_launches.py: how Triton's is launched
prompts.py     attention over long prompts
dits.py        the layers of a DiT that two of those take
timing.py      by which clock all of that is told
"""
