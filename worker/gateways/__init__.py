"""What a worker has to do with gateways, besides their requests.

auth.py         who may talk to it
registrar.py    it dials in at gateways, says how it is, and goodbye
turns.py        which gateway gets the next slot
slot_socket.py  the socket over which they ask and hear of it
"""
