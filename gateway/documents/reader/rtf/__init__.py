"""RTF.

file.py     what is said of the file
tokens.py   what RTF is written in
lists.py    which lists count in Roman numbers
"""
