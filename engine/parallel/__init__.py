"""Tensor parallelism: one model shared out among processes, each of which computes a part of every layer.

`part.py`: what of a model a rank has. `layers.py`: linear layers and embeddings of which it has a part.
`group.py`: sums and gathers over all ranks, `symmetric.py`: sums through each other's memory. `meeting.py`,
`own_numbers.py`: how ranks find each other. `channel.py`: messages between two processes. `process.py`: how
one is started, as pools of engines do, too. `ranks.py`: rank 0's side, starts, watches and ends the others;
`follower.py`: theirs. `watch.py`: when a rank hangs.
`launch.py`, `leading.py`: what families of models have in common when they start ranks and lead them.
"""
