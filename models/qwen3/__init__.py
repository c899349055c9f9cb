"""Qwen3: `config.py` reads its files, `model.py` is the network; `mixture.py` is both for mixtures."""
