"""What counts as speech that went wrong.

watch.py       looks at the speech of one request while it is made
statistics.py  the good speech of a checkpoint: what the watch goes by, `watch.npz`
fit.py         `python -m models.voxcpm.watch.fit MODEL` writes them
"""
