"""The program that decodes uploads: `python -I gateway/voices/decoder`. It imports nothing else of ours.

__main__.py   what it does, in which order
decode.py     a file to samples, with FFmpeg
sandbox.py    what keeps a decoder that was taken over from doing anything else
"""
