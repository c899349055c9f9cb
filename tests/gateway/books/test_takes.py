"""Takes of a block: made, chosen, stale, and how many there may be."""

from __future__ import annotations

from pathlib import Path

from tests.gateway.books.reader import SPOKEN, written
from tests.gateway.jobs.stage import reading_worker, running
from tests.gateway.stages.processes import check_error, pcm_of


async def test_a_block_is_made_again_and_one_of_its_takes_is_chosen(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service, service.at() as http:
        reader = await written(service, http)
        await reader.made()
        (first,) = reader.takes(1)
        await reader.call("POST", f"{reader.block(1)}/takes", 202, json={"seed": 7})
        await reader.until(making=0, queued=0)
        first, second = reader.takes(1)
        assert (second["seed"], reader.book["blocks"][1]["take"]) == (7, first["id"])
        await reader.call("PUT", f"{reader.block(1)}/take", json={"take": second["id"]})
        assert reader.book["blocks"][1]["take"] == second["id"]
        assert pcm_of("They walked.", 7) in await reader.export("pcm")
        audio = f"{reader.path}{reader.block(1)}/takes/{second['id']}/audio"
        pcm = await http.get(audio, params={"format": "pcm"})
        assert pcm.content == pcm_of("They walked.", 7)
        assert (await http.get(audio, params={"format": "mp3"})).headers["Content-Type"] == "audio/mpeg"
        words = f"{audio.removesuffix('audio')}words"
        told = (await http.get(f"{words}.json")).json()
        assert [word["text"] for word in told["words"]] == ["They", "walked."]
        assert (await http.get(f"{words}.srt")).text.startswith("1\n00:00:00,")
        check_error(await http.get(f"{words}.exe"), 404)
        check_error(await http.get(audio, params={"format": "exe"}), 422)
        check_error(await http.get(audio, params={"format": "m4b"}), 422)
        check_error(await http.post(f"{reader.path}{reader.block(2)}/takes"), 422)
        await reader.call("DELETE", f"{reader.block(1)}/takes/{second['id']}", 204)
        await reader.call("GET")
        assert [take["id"] for take in reader.takes(1)] == [first["id"]]
        assert reader.book["blocks"][1]["take"] == first["id"]
        assert not service.jobs.files(second["id"]).folder.exists()


async def test_what_is_changed_is_stale_until_it_is_made_again(tmp_path: Path) -> None:
    worker = reading_worker()
    async with running(tmp_path, worker) as service, service.at() as http:
        reader = await written(service, http)
        await reader.made()
        old = reader.book["blocks"][1]["take"]
        stale = reader.edited(1, text="They ran.", pronunciations={"ran": "rahn"})
        await reader.call("PUT", "/blocks", json=stale)
        assert reader.book["blocks"][1]["stale"] and reader.book["progress"]["ready"] == 4
        check_error(await http.put(f"{reader.path}/blocks", json=stale), 409)
        assert pcm_of("They walked.", reader.takes(1)[0]["seed"]) in await reader.export("pcm")
        spoken = len(worker.requests)
        await reader.made()
        assert [start.text for start in worker.requests[spoken:]] == ["They rahn."]
        block = reader.book["blocks"][1]
        assert not block["stale"] and block["take"] != old
        assert [take["stale"] for take in block["takes"]] == [True, False]
        await reader.call("PUT", "/blocks", json=reader.edited(1, pause_ms=3))
        assert not reader.book["blocks"][1]["stale"]
        await reader.call("PUT", f"{reader.block(1)}/take", json={"take": old})
        assert (reader.book["blocks"][1]["take"], reader.book["blocks"][1]["stale"]) == (old, True)
        await reader.call("PATCH", json={"language": "de"})
        assert reader.book["progress"]["ready"] == 1
        with_fewer = reader.edited(0)
        gone = [take["id"] for take in reader.takes(1)]
        with_fewer["blocks"] = [with_fewer["blocks"][4], {"text": "New."}, with_fewer["blocks"][0]]
        await reader.call("PUT", "/blocks", json=with_fewer)
        assert [block["text"] for block in reader.book["blocks"]] == ["Home again.", "New.", "One"]
        assert not any(service.jobs.files(take).folder.exists() for take in gone)


async def test_a_take_says_what_its_block_says_when_it_begins(tmp_path: Path) -> None:
    worker = reading_worker()
    async with running(tmp_path, worker, working=False) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202, json={"blocks": [reader.book["blocks"][1]["id"]]})
        await reader.call("PUT", "/blocks", json=reader.edited(1, text="They ran."))
        await reader.call("POST", "/make", 202, json={"blocks": [reader.book["blocks"][1]["id"]]})
        assert len(reader.takes(1)) == 1 and reader.book["progress"]["queued"] == 1
        async with service.jobs.running():
            await reader.until(ready=2)
        assert [start.text for start in worker.requests] == ["They ran."]
        assert not reader.book["blocks"][1]["stale"]


async def test_what_is_asked_for_by_itself_goes_first(tmp_path: Path) -> None:
    worker = reading_worker()
    options = {"working": False, "jobs_at_once": 1}
    async with running(tmp_path, worker, **options) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202)
        await reader.call("POST", f"{reader.block(4)}/takes", 202)
        async with service.jobs.running():
            await reader.until(making=0, queued=0)
    assert [start.text for start in worker.requests] == ["Home again.", *SPOKEN]


async def test_takes_are_bounded_by_number_and_bytes(tmp_path: Path) -> None:
    limits = {
        "max_block_takes": 2,
        "session_max_owner_gb": 1e-4,
        "working": False,
    }
    async with running(tmp_path, reading_worker(), **limits) as service, service.at() as http:
        reader = await written(service, http, blocks=[{"text": "A."}, {"text": "B. " * 20}])
        for _ in range(2):
            await reader.call("POST", f"{reader.block(0)}/takes", 202)
        answer = await http.post(f"{reader.path}{reader.block(0)}/takes")
        assert check_error(answer, 409)["code"] == "too_many_takes"
        answer = await http.post(f"{reader.path}/make")
        assert check_error(answer, 507)["code"] == "storage_full"


async def test_so_many_takes_of_a_client_wait(tmp_path: Path) -> None:
    limits = {"max_waiting_takes_per_owner": 1, "working": False}
    async with running(tmp_path, reading_worker(), **limits) as service, service.at() as http:
        reader = await written(service, http)
        answer = await http.post(f"{reader.path}/make")
        assert check_error(answer, 429)["code"] == "too_many_waiting_takes"
        assert answer.headers["Retry-After"] == "60"
        await reader.call("POST", f"{reader.block(0)}/takes", 202)
