"""Steps of text models at fixed addresses and of fixed shapes, recorded as CUDA graphs where there is CUDA.

A `language_program` computes hidden states, a `sampling_program` draws tokens from them (`kernels`) by the
rules that stand in `tables`; `step_programs` says which there are, and `runner` serves batches with them, one
step ahead of the engine: the last token of a sequence never leaves the device on its way to the next step.
"""
