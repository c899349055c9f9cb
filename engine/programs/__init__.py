"""Steps at fixed addresses and of fixed shapes, recorded as CUDA graphs where there is CUDA: what all
families share.

`inputs`: what the host brings. `catalogue`: which program serves a batch. `slots`: where the device remembers
a sequence. `ahead`: the step after this one is launched before this one is read.
"""
