"""What the next step computes, and for whom.

scheduler.py   which sequences run in a step, wait, rest or give way
budget.py      how many decodes a step may hold, and how much of prompts beside them
batch.py       what a step computes of one sequence
admission.py   which sequences are refused
playback.py    how far ahead of its listener a sequence is, and who goes first
step_time.py   how long a step of n rows takes
"""
