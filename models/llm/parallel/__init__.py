"""A text model over several ranks: `launch.py` starts them, `leader.py` is rank 0's runner, `rank.py` what
the others run, `draw.py` how tokens are drawn from logits of which every rank has a part.
"""
