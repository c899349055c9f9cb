"""Work of a device: where it runs, what is recorded, what travels to it and back.

devices.py       which device, whether it still computes; on_device, inside which kernels are launched
cuda_graphs.py   steps recorded once and launched as a whole
repeats.py       parts that a recorded step has several times
side_stream.py   work beside the current stream
bindings.py      calls of CUDA that PyTorch has no words for
staging.py       what a step brings to the device and back, in pinned memory
host_copies.py   large tensors of the host on their way to a GPU
"""
