"""Training of the bundled voice from nothing: text, synthetic speech, audio VAE, language model.

`README.md` beside this file says how to repeat it; `pipeline.py` runs every stage by itself.
"""
