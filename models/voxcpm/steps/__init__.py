"""What runs in a step of the model. Steps at fixed addresses, for CUDA graphs, are in `programs/`.

step.py        what a step computes, from tensors to tensors
unrecorded.py  steps computed as they come, of any batch
packing.py     such a step as two flat arrays, for other ranks
step_ahead.py  on a CPU: patches of the next step beside the audio of this one
"""
