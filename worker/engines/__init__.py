"""The engine that a worker serves.

held_engine.py    its thread: how it is loaded, whether it still steps
step_watch.py     how long it has been in a step
loading.py        makes it; a model is imported only for a worker that serves it
synthetic.py      an engine without a model: tones, for tests of all the rest
held_adapters.py  the adapters that gateways sent, the latest used ones
"""
