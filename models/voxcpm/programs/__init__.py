"""Steps of VoxCPM at fixed addresses and of fixed shapes, recorded as CUDA graphs where there is CUDA.

A `language_program` computes hidden states, a `patch_program` makes patches of them, and `waveform_programs`
turn these into audio beside the next step; `step_programs` says which there are, `builder` builds them, and
`runner` serves batches with them, one step ahead of the engine. Ranks replay them by number (`program`).
"""
