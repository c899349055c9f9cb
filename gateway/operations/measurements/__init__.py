"""What a gateway measures for its operators.

figures.py     sums over some seconds, which can be added
sampling.py    reads them off the pool
builds.py      which builds the gateways of the database run, as their figures tell
history.py     those of the last hours and days, kept in the database
objectives.py  what clients are promised, and how often it is missed
playback.py    what players report: whether audio came in time
"""
