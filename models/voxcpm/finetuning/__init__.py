"""Fine-tuning: recordings of a speaker in, an adapter (or a whole checkpoint) out.

    finetune(Path("recordings"), Path("anna"), FinetuneOptions(), print)

* `options.py`: what may be chosen
* `dataset.py`: which recordings and transcripts a folder has
* `checks.py`: what is wrong with them, before a step is made
* `speech.py`: recordings as the model hears them: trimmed, at one level, as latents
* `shelf.py`: a file in which their samples wait
* `corpus.py`: all of them as the batches of training
* `trainee.py`: what is learnt, an adapter's matrices or all weights
* `decoder.py`: what the audio VAE's decoder learns beside it
* `fresh.py`: low-rank matrices before they learn
* `trainer.py`: the loop, validation, stopping and going on after a kill
* `pace.py`: how fast it goes, and whether it waits for CPUs
* `samples.py`: held-out sentences to hear
* `run.py`: all of it in order
"""
