"""Fine-tuning: recordings of a speaker in, an adapter (or a whole checkpoint) out.

    finetune(Path("recordings"), Path("anna"), FinetuneOptions(), print)

* `options.py`: what may be chosen
* `recordings/`: what is learnt from, and what is wrong with it
* `fingerprint.py`: what a run began with, so that it goes on with the same
* `trainee.py`: what is learnt, an adapter's matrices or all weights
* `decoder.py`: what the audio VAE's decoder learns beside it
* `fresh.py`: low-rank matrices before they learn
* `trainer.py`: the loop, validation, stopping and going on after a kill
* `pace.py`: how fast it goes, and whether it waits for CPUs
* `samples.py`: held-out sentences to hear
* `journal.py`: what is told of a run meanwhile
* `run.py`: all of it in order
"""
