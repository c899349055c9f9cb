"""Products of linear layers.

few_rows.py    over few rows; chain.py: along a transformer
halves.py      over some hundred rows, in two halves
tiles.py       by tiles of our own
spare_rows.py  with a few rows more than there are
"""
