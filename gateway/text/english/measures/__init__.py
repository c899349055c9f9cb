"""English: how much, how long, how far, how often.

units.py       units, and their names
quantities.py  measures, percentages
sizes.py       how tall, how long by how wide
lasting.py     how long something lasts
rates.py       how much in which time, or in another unit
attributes.py  whether a sum or a measure tells of the noun behind it
"""
