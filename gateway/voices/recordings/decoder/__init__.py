"""What the confined child (`gateway/confined/`) does with a recording. It imports nothing else of ours.

reader.py   what is called there
decode.py   a file to samples, with FFmpeg
"""
