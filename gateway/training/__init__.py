"""Voices that are trained: recordings with what is said in them come in, an adapter and a voice come out.

A training is a row and a folder. It is worked on as jobs are (`gateway/tending/`), in a process of its own:
`voxfleet finetune`, which goes on where an earlier one was cut.

request.py    what a training is asked for with
store.py      its row, and those of its recordings
files.py      its folder
progress.py   what its process has written down so far
process.py    that process
runner.py     one training, from its recordings to the voice
outcome.py    the adapter and the voice that come of it
learnt.py     what becomes of that adapter when its voice is deleted, or its consent withdrawn
service.py    `Trainings`: which there are
listing.py    trainings as the API tells them
"""

from gateway.training.service import Trainings

__all__ = ["Trainings"]
