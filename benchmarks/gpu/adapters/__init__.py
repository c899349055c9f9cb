"""What adapters cost on a GPU: random weights of a released shape, adapters of rank 32 on q, k, v and o.

    python -m benchmarks.gpu.adapters [--shape voxcpm2] [--targets attention] [--json FILE]
    python -m benchmarks.gpu.adapters --shape tiny --device cpu       does it work

1. A step of one stream, and of 64, plain and with adapters: "8 different" are 8 streams with one each beside
   56 without, "all, 8 different" are all streams with one of 8. Rounds follow each other.
2. Adapters that nobody has used yet come to 63 running streams, one every few steps, each loaded by a thread
   and used by a short clip; beside it the same clips with an adapter that is there.
3. Of a thousand adapters 32 have room on the device; clips name them by Zipf's law, 16 at a time: first audio
   beside the same clips without adapters.
4. The same clips, which arrive by a Poisson process, as many at once on average (`arrivals.py`).

With `--targets all decoder` 1 alone is measured: adapters of all layers, then those that have an audio
decoder of their own besides. With `--peer` nano-vllm-voxcpm 2.0.5 takes the steps of 1, too, where it is on
PYTHONPATH: without room for adapters, and with 32 slots. Prints JSON. The goals stand in it; that of first
audio is for 3 and 4.

kinds.py     which streams have adapters
measure.py   1 and 2, and all together
peer.py      1 by nano-vllm-voxcpm, in a process of its own
arrivals.py  3 and 4
layers.py    where a layer of the DiT takes longer, kernel by kernel: a command of its own
"""
