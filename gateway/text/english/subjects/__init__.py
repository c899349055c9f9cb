"""What readers of one subject say for its signs.

verses.py     chapter and verse
citations.py  laws, cases, papers
doses.py      what doctors write
notation.py   music
offices.py    mails, letters and notices
programs.py   logs of changes and programs
ratios.py     scales, dilutions, odds
weather.py    weather at airports
cards.py      playing cards
formulas.py   chemistry, algebra, names of models
"""
