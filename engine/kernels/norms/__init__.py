"""Norms of rows.

norm.py             alone
add_and_norm.py     after a product: its sum, the residual and the norm
exchange.py         the same with a sum over ranks, through each other's memory
"""
