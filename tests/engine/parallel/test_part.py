"""What a rank has of a model."""

from __future__ import annotations

import pytest
import torch

from engine.errors import RequestError
from engine.parallel.part import Cut, Part


@pytest.mark.parametrize(
    ("heads", "kv_heads", "size"), [(8, 2, 2), (8, 2, 4), (8, 2, 8), (4, 1, 4), (12, 4, 4)]
)
def test_every_query_head_is_on_one_rank_with_the_keys_it_looks_at(
    heads: int, kv_heads: int, size: int
) -> None:
    group, seen = heads // kv_heads, []
    for rank in range(size):
        queries, keys = Part(rank, size).heads(heads, kv_heads)
        seen += queries
        local = len(queries) // len(keys)
        for place, query in enumerate(queries):
            assert keys[place // local] == query // group
    assert seen == list(range(heads))


def test_cuts_cover_a_tensor_without_overlap() -> None:
    whole = torch.arange(24).view(12, 2)
    cuts = [Part(rank, 3).cut(12, "rows") for rank in range(3)]
    assert torch.equal(torch.cat([cut.of(whole) for cut in cuts]), whole)
    across = Cut(1, 1, 2, 2)
    assert across.of(whole).tolist() == whole[:, 1:].tolist()
    assert across.whole_shape(across.of(whole)) == [12, 2]


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (0, "between 1 and 64, got 0"),
        (65, "between 1 and 64, got 65"),
        (3, "num_attention_heads of 8, which is no multiple"),
    ],
)
def test_a_size_that_does_not_divide_the_model_is_refused_by_name(size: int, problem: str) -> None:
    with pytest.raises(RequestError, match=problem) as error:
        Part(0, size).heads(8, 2)
    assert error.value.param == "tensor_parallel_size"


def test_key_heads_that_can_be_neither_divided_nor_shared_are_refused() -> None:
    with pytest.raises(RequestError, match="num_key_value_heads of 3"):
        Part(0, 2).heads(6, 3)
