"""A clip that goes on after its connection or its gateway failed.

token.py       what a client holds of it
opening.py     the first message of a stream: a request or a token
succession.py  it is spoken on one connection, the last that came with its token
"""
