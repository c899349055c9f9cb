"""Training of the bundled voice from nothing: text, synthetic speech, audio VAE, language model.

pipeline.py  a whole run: every stage, one after the other or side by side
recipe.py    sizes and rates of everything that is trained
texts/       the sentences that are read aloud, and the tokenizer of their characters
speech/      who reads them aloud, and what they said, in memory
vae/         stages 1 and 2: the audio VAE
lm/          the language model, which learns to speak in the VAE's latents
stages/      what all stages share: their processes, steps, reports
checkpoint/  what a run leaves: weights in pieces, joined into a checkpoint

`README.md` beside this file says how to repeat it.
"""
