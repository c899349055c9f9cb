"""VoxCPM's layers, solver and streaming VAE in the form for inference on CUDA, with the same weights.

`model.fuse_model` puts it into a model: `linear` layers, and the transformers of the `flow`.
`vae.FusedDecoder` takes the place of the streaming decoder: `vae_stages` are its layers, `vae_tiles` their
tiles. The kernels are those of `engine.kernels`, and `flow_kernels` for what is VoxCPM's own.
"""
