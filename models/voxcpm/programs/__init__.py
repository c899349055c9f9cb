"""Steps of VoxCPM at fixed addresses and of fixed shapes, recorded as CUDA graphs where there is CUDA.

A `step_program` computes patches, `waveform_programs` turn them into audio beside the next step;
`step_programs` says which there are, and `runner` serves batches with them, one step ahead of the engine.
"""
