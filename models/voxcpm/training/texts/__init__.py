"""Sentences that the teachers read aloud, and the tokenizer of their characters.

sentences.py       sentences collected from unpacked Debian packages
templates.py       sentences made: numbers, dates, money, letters, short replies
held_out.txt       300 sentences that no training sees
tokenizer_file.py  the bundled voice's tokenizer: one id per character
"""
