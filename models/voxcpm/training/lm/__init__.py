"""The language model learns to speak: flow matching and stop prediction on latents.

train_lm.py        the stage
encoded.py         the speech that there is so far, encoded again as it grows
latents.py         all speech as latent patches
batches.py         flat batches of whole documents, as the product builds prompts
feeder.py          batches made ahead, by threads
loss.py            what is learnt from one batch
flat_attention.py  attention within each document of a batch
generation.py      speech of a model in training, without a cache
samples.py         held-out sentences spoken at the end
"""
