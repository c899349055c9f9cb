"""LoRA adapters: read, checked, applied to some rows of a batch, merged.

* `adapter.py`: what an adapter is, and its digest
* `files.py`: the layouts of the published VoxCPM package and of PEFT
* `rows.py`: which row of a batch has which adapter
* `pool.py`: the adapters of one engine, by name
* `bank.py`, `early_copies.py`: those in slots of a GPU, and when they are copied there; `layout.py`: what a
  slot holds; `slot_rows.py`: which row has which slot; `in_weights.py`: one that everybody has

What a family can adapt stands with the family: `models/voxcpm/adapters.py`.
"""
