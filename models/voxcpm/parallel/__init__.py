"""VoxCPM over several ranks: `launch.py` starts them, `leader.py` is rank 0's runner, `rank.py` what the
others run.

Every rank has its part of the four transformers and makes all patches; audio, the encoding of references and
results are rank 0's alone.
"""
