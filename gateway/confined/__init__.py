"""Files that nobody has checked are read where nothing can be done with them: each in a child of its own.

children.py  starts the children, a few at a time, and hears what they say
program/     what a child does: it gives everything up, then reads
"""
