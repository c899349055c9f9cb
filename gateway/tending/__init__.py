"""What is worked on while nobody waits: jobs and trainings are both a row and a folder.

rows.py      the row: it waits, is worked on, and ends
tending.py   which are worked on, here or at another gateway
failures.py  what ends one, and what clients hear of it
orphans.py   folders of which no row tells
"""
