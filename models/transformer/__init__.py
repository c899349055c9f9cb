"""The transformer that all families are made of, in the form that suits each device.

stack.py: its definition, for any device. packed.py: for inference on a CPU. fused.py: for inference on CUDA.
overlapped.py: many rows of that over several ranks.
products.py: its products. adapted.py: what an adapter adds to a stack.
rehearsal.py: a few of its layers, for what goes before a recording.
"""
