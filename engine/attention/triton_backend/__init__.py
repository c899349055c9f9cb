"""Attention over pages by kernels in Triton.

backend.py   what is launched for a step
kernels.py   storing, and rows of any length
decodes.py   rows of one query
prompts.py   long prompts whose contexts lie in one piece
"""
