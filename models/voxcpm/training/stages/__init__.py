"""What all stages of a training share.

stage.py         a stage as a process, or as one per GPU, started again when it fails
progress.py      what a stage tells of itself: lines, log, state
common.py        options, compilation, learning rate, averages, checkpoints, clock
optimization.py  a step in two parts, gradients and update, replayed as CUDA graphs
ranks.py         the processes of a data-parallel run, and what they exchange
"""
