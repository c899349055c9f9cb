"""How a request becomes a sequence, and when its clip ends.

sequence_builder.py  a request checked against every limit, as key stream and state
prompt.py            the input sequence for every mode of conditioning
tokenizer.py         text to token ids
generation.py        the state while speech is generated, and the rules that end it
"""
