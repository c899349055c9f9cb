"""Several devices behind one `LLM`, see `models.pool`. What is of text:

pool.py      what `LLM` has in place of an engine
request.py   a prompt, whichever device answers it
child.py     what a process runs; serving.py: once it may import
"""
