"""Long lists of a body are looked at some at a time."""

from __future__ import annotations

from pathlib import Path

from gateway.bodies import AT_A_TIME, validate_in_turns
from gateway.books.request import NewBlock
from tests.gateway.edge.ticker import Ticker
from tests.gateway.jobs.stage import running
from tests.gateway.stages.processes import check_error


class Noted(dict):
    """Knows in which turn of the event loop it was looked at."""

    turns: list[int]
    ticker: Ticker

    def __len__(self) -> int:
        self.turns.append(self.ticker.turn)
        return super().__len__()


async def test_a_list_of_thousands_is_looked_at_in_many_turns() -> None:
    """Forty new books of 10,000 blocks held up everybody for 0.2 s each."""
    Noted.turns, Noted.ticker = [], Ticker()
    entries = [Noted(text="Hello.") for _ in range(5 * AT_A_TIME)]
    await validate_in_turns(NewBlock, entries)
    Noted.ticker.stop()
    assert all(isinstance(entry, NewBlock) for entry in entries)
    looked_at = sorted(Noted.turns)
    assert len(set(looked_at)) == 5
    assert max(map(looked_at.count, looked_at)) <= len(looked_at) / 5


async def test_what_is_wrong_in_a_long_one_is_told_by_its_place(tmp_path: Path) -> None:
    blocks = [{"text": "Hello."} for _ in range(3 * AT_A_TIME)]
    async with running(tmp_path, working=False) as service, service.at() as http:
        made = await http.post("/api/books", json={"title": "A", "blocks": blocks})
        assert made.status_code == 201 and len(made.json()["blocks"]) == len(blocks)
        blocks[-1] = {"text": ""}
        wrong = await http.post("/api/books", json={"title": "A", "blocks": blocks})
        assert check_error(wrong, 422)["param"] == f"blocks.{len(blocks) - 1}.text"
        put = {"version": made.json()["version"], "blocks": [*made.json()["blocks"], {"text": ""}]}
        known = ("id", "kind", "text", "voice", "pause_ms", "pronunciations")
        put["blocks"] = [{name: block[name] for name in known if name in block} for block in put["blocks"]]
        wrong = await http.put(f"/api/books/{made.json()['id']}/blocks", json=put)
        assert check_error(wrong, 422)["param"] == f"blocks.{len(blocks)}.text"
        put["blocks"].pop()
        kept = await http.put(f"/api/books/{made.json()['id']}/blocks", json=put)
        assert [block["id"] for block in kept.json()["blocks"]] == [block["id"] for block in put["blocks"]]
