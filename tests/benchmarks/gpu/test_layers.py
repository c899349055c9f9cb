"""How the kernels of layers are told from each other."""

from __future__ import annotations

from benchmarks.gpu.adapters.layers import FIRST, commonest, layers_of


def test_a_kernel_takes_from_the_end_of_the_one_before_to_its_own() -> None:
    kernels = [("norm", 0, 1), ("row_attention_kernel", 1, 2), ("product", 2, 3)]
    kernels += [("row_attention_kernel", 6, 1), ("product", 6, 3)]  # begins before the other has ended
    kernels += [("row_attention_kernel", 10, 1), ("another", 11, 1), ("row_attention_kernel", 13, 1)]
    events = [{"name": name, "ts": begin, "dur": took} for name, begin, took in kernels]
    layers = list(layers_of(events, FIRST["dit"]))
    assert layers[0] == [("row_attention_kernel", 2), ("product", 2)]
    assert [len(layer) for layer in layers] == [2, 2, 2]
    assert commonest(iter(layers)) == {"0 row_attention_kernel": 2, "1 product": 2}
