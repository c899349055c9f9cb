"""Qwen3, dense: `config.py` reads its files, `model.py` is the network."""
