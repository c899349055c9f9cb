"""Waveform to latents and back.

audio_vae.py         the audio VAE as one definition: training, encoding, a clip at once
streaming_vae.py     its decoder as a stream: patches in, waveform out
streaming_layers.py  the layers of that decoder
waveform_streams.py  what the device remembers of each sequence between steps
adapted_decoder.py   what an adapter can change of the decoder
audio_encoding.py    reference and prompt audio to latent patches
"""
