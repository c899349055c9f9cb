"""How a voice sounds.

run.py         `python -m benchmarks.voice`: all that follows of one voice; report.py, plot.py show it
parts/         what is measured: hard texts, likeness, going on, a story, speed
judging/       by whom: models that hear, figures of clips
speakers/      whose speech: a model's, its teachers', strangers', a person's
continuity.py  sentences that continue each other
finetuned.py   trained voices; amounts/: with how much audio
noise.py       noise behind a speaker, and without it
marking.py     the watermark
"""
