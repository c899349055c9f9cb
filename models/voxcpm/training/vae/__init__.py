"""Stages 1 and 2: the audio VAE learns to reconstruct speech.

train_vae.py       stage 1: encoder and decoder together
train_decoder.py   stage 2: the decoder alone, then against discriminators
losses.py          log-mel and KL
balance.py         how loud the discriminators are heard in stage 2
discriminators.py  who tells made from real, and what the decoder learns of it
weights.py         weight norm, folded away at the end; whitened latents
channels_last.py   the VAE computed as images, for a GPU's speed
safeguard.py       a stage taken back where its loss jumps
validation.py      held-out speech, encoded and decoded
opinion.py         how listeners would rate it: DistillMOS
"""
