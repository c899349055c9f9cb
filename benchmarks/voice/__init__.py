"""How a voice sounds.

run.py         `python -m benchmarks.voice`: all that follows of one voice; report.py, plot.py show it
parts/         what is measured: hard texts, likeness, going on, a story, speed
judging/       by whom: models that hear, figures of clips
readers.py     who speaks: a model, its teachers; strangers.py: speakers it never heard
continuity.py  sentences that continue each other
finetuned.py   trained voices; amounts/: with how much audio
marking.py     the watermark
asterisk.py    a person's recordings to train on
boundaries.py  speech whose word boundaries are known
"""
