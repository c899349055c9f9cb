"""What a voice is learnt from: recordings in, batches of latents out.

* `dataset.py`: which recordings and transcripts a folder has
* `speech.py`: recordings as the model hears them: trimmed, at one level, as latents
* `shelf.py`: a file in which their samples wait
* `checks.py`: what is wrong with them, before a step is made
* `corpus.py`: all of them as the batches of training
* `preparation.py`: all of that in order, for one base
"""
