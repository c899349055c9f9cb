"""Which adapter voices speak with, where there are many of both."""

from __future__ import annotations

from gateway.database import Adapter
from gateway.database.named_rows import by_reference, meant_of

ROWS = [Adapter(id=f"a_{number:016x}", name=f"Anna {number}", owner="ann") for number in range(1000)]
ROWS += [
    Adapter(id=f"a_{number:016x}", name=name, owner="bob") for number, name in ((2000, "ANNA 7"), (2001, "ß"))
]


def test_of_thousands_few_are_looked_at_and_they_are_meant_as_among_all() -> None:
    rows = by_reference(ROWS)
    names = ("Anna 7", "anna 7", "ANNA 7", "SS", "a_0000000000000003", "A_0000000000000003", "nobody", "")
    for name in names:
        for tenant in ("ann", "bob", "eve", None):
            assert meant_of(rows(name), name, tenant) == meant_of(ROWS, name, tenant)
        assert len(rows(name)) <= 2
    assert [row.id for row in meant_of(rows("Anna 7"), "Anna 7", "bob")] == ["a_0000000000000007"]
    assert [row.owner for row in meant_of(rows("anna 7"), "anna 7", "bob")] == ["bob"]
    assert len(meant_of(rows("anna 7"), "anna 7", "eve")) == 2
