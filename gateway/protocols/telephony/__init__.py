"""Voice agents on the telephone that bring a speech service of their own: each text is a call of its address.

query.py    what that address says of all texts
vapi.py     custom voices of Vapi
jambonz.py  custom speech vendors of jambonz; jambonz_stream.py: with text that comes in pieces
"""
