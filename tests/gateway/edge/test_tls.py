"""A gateway that speaks TLS by itself, and what is wrong with a certificate."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError
from websockets.asyncio.client import connect

from gateway.edge import certificate as edge_certificate
from gateway.settings import load_settings
from sockets.authorities import authorities
from tests.gateway.callers.administration import ADMIN_TOKEN
from tests.gateway.edge.certificates import make_certificate
from tests.gateway.stages.processes import TEXT, eventually, pcm_of, started_fleets
from voxfleet.client import Client
from voxfleet.fleet.checkup import look
from voxfleet.fleet.desk import Counter


async def test_http_and_sockets_are_spoken_over_tls_alone(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    trust = ssl.create_default_context(cafile=certificate)
    with started_fleets() as start:
        gateway = start.gateway([start.worker(step_ms=2)], tls_certificate=certificate, tls_key=key)
        url = f"localhost:{gateway.port}"
        async with httpx.AsyncClient(base_url=f"https://{url}", verify=trust, trust_env=False) as http:

            async def ready() -> bool | None:
                return (await http.get("/ready")).is_success or None

            await eventually(ready, "the worker is not up")
            spoken = await http.post("/tts", json={"text": TEXT, "seed": 5, "format": "pcm", "stream": True})
            assert spoken.content == pcm_of(TEXT, 5)
        async with connect(f"wss://{url}/ws/tts", ssl=trust, proxy=None) as socket:
            await socket.send(json.dumps({"text": TEXT, "seed": 5}))
            said = [message async for message in socket]
        assert b"".join(part for part in said if isinstance(part, bytes)) == pcm_of(TEXT, 5)
        async with httpx.AsyncClient(base_url=f"http://{url}", trust_env=False) as http:
            with pytest.raises(httpx.TransportError):
                await http.get("/health")
        assert not gateway.defects()


def test_clients_believe_an_authority_of_one_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    authorities.cache_clear()
    with started_fleets() as start:
        worker = start.worker(step_ms=2)
        gateway = start.gateway([worker], tls_certificate=certificate, tls_key=key)
        url = f"https://localhost:{gateway.port}"
        worker.wait_until_ready()
        with Client(url) as client:
            assert client.speak(TEXT, seed=5, format="pcm").audio == pcm_of(TEXT, 5)
            said = client.stream(TEXT, seed=5)
            assert b"".join(part for part in said if isinstance(part, bytes)) == pcm_of(TEXT, 5)
        assert Counter(url, ADMIN_TOKEN).is_there()
        assert look(url, ADMIN_TOKEN).answers["version"]
    authorities.cache_clear()


def test_what_is_no_certificate_is_refused_by_name(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    assert load_settings(tls_certificate=certificate, tls_key=key).tls_key == key
    for wrong in (
        {"tls_certificate": certificate},
        {"tls_key": key},
        {"tls_certificate": key, "tls_key": certificate},
        {"tls_certificate": tmp_path / "missing.pem", "tls_key": key},
    ):
        with pytest.raises(ValidationError, match="tls_certificate and tls_key") as refused:
            load_settings(**wrong)
    assert str(tmp_path / "missing.pem") in str(refused.value)


async def test_a_renewed_certificate_is_shown_without_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_certificate, "LOOK_SECONDS", 0.01)
    files = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    address = server.sockets[0].getsockname()

    async def shown() -> str:
        return await asyncio.to_thread(ssl.get_server_certificate, address)

    async with server, edge_certificate.followed(context, *files):
        old = files[0].read_text()
        files[0].write_text("half of a")
        await asyncio.sleep(0.05)
        assert await shown() == old
        make_certificate(tmp_path)

        async def renewed() -> bool | None:
            return await shown() != old or None

        await eventually(renewed, "the old certificate is shown")
        assert await shown() == files[0].read_text()
