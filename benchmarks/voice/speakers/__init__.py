"""Whose speech is judged.

readers.py     who reads texts aloud: a loaded model, and its teachers
strangers.py   speakers that the bundled voice never heard
asterisk.py    a person's recordings, as a folder to train on
boundaries.py  teachers' speech whose word boundaries are known
"""
