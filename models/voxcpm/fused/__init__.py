"""VoxCPM's layers, solver and streaming VAE in the form for inference on CUDA, with the same weights.

`model.fuse_model` puts it into a model, `vae.FusedDecoder` takes the place of the streaming decoder. The
kernels are those of `engine.kernels`, and `flow_kernels` for what is VoxCPM's own.
"""
