"""When each word of a text is said, in the audio that was made of it.

words.py      words of a text, their times, and the times of characters
envelope.py   how loud the audio is, and where it pauses
estimate.py   times from the text and the audio's pauses alone
aligner.py    who listens, in a process of its own: child.py
whisper.py    the model that listens
listening.py  whether it has understood the text at all
alignment.py  what it has heard, in the words that were written
part.py       one part of a text: estimated, or heard
subtitles.py  cues, and what clients are told
files.py      SRT, WebVTT, JSON
"""
