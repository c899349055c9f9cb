"""Chinese: what readers of one subject say for its signs.

sport.py     scores, times of a race
dates.py     days, years, from when to when
trade.py     pay, prices, shares
travel.py    trains, aircraft, places
offices.py   parcels, rooms, pages, ranks
medicine.py  laboratories and doctors
hardware.py  devices and programs
measures.py  lengths and weights
cards.py     playing cards
"""

from gateway.text.chinese.subjects import (
    cards,
    dates,
    hardware,
    measures,
    medicine,
    offices,
    sport,
    trade,
    travel,
)

__all__ = ["RULES"]

RULES = (
    *cards.RULES,
    *dates.RULES,
    *sport.RULES,
    *trade.RULES,
    *measures.RULES,
    *travel.RULES,
    *offices.RULES,
    *medicine.RULES,
    *hardware.RULES,
)
