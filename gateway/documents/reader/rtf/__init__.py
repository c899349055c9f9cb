"""RTF.

file.py     what is said of the file
tokens.py   what RTF is written in
styles.py   which paragraphs are headings
lists.py    which lists count in Roman numbers
"""
