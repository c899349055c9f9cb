"""What a run leaves: weights in pieces, and the checkpoint that they become.

pieces.py      the newest weights of a run, in files of at most 16 MiB
warm_start.py  pieces, or a shipped voice, to go on from
export.py      a checkpoint in the released layout, named voices included
model_card.py  its README.md
"""
