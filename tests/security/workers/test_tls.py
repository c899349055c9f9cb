"""S17: links to workers over https are checked: no certificate that nobody vouches for, and no old TLS."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gateway.settings import load_settings
from gateway.workers.client import WorkerClient, WorkerUnreachable
from gateway.workers.metronome import Metronome
from sockets.authorities import authorities
from tests.gateway.stages.fleet import status
from tests.gateway.stages.processes import GatewayProcess, eventually, workers_of
from worker.protocol import StartRequest


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of 127.0.0.1, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "worker")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "worker.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(secret + signed.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture
def believed(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """SSL_CERT_FILE names who signed it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    authorities.cache_clear()
    yield
    authorities.cache_clear()


@asynccontextmanager
async def https_worker(certificate: Path, newest: ssl.TLSVersion | None = None) -> AsyncIterator[str]:
    """A server that answers every request with a status; its URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if newest is not None:
        context.minimum_version, context.maximum_version = newest, newest
        context.set_ciphers("ALL:@SECLEVEL=0")
    body = status().model_dump_json().encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head + body)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def outcomes(url: str, **options: object) -> list[str]:
    """Of a probe, and of a request for speech."""
    said = []
    async with httpx.AsyncClient(trust_env=False, **options) as http:
        client = WorkerClient(url, load_settings(), http, Metronome())
        try:
            said.append((await client.control.status()).worker_id)
        except WorkerUnreachable as error:
            said.append(str(error))
        try:
            async with client.generate(StartRequest(request_id="r", text="Hi.", seed=1)):
                said.append("opened")
        except WorkerUnreachable as error:
            said.append(str(error))
    return said


async def test_a_worker_that_nobody_vouches_for_is_not_talked_to(certificate: Path) -> None:
    async with https_worker(certificate) as url:
        for said in await outcomes(url):
            assert "CERTIFICATE_VERIFY_FAILED" in said


@pytest.mark.usefixtures("believed")
async def test_one_that_somebody_vouches_for_is(certificate: Path) -> None:
    """By the system's authorities, or those of SSL_CERT_FILE. The socket gets as far as the handshake."""
    async with https_worker(certificate) as url:
        probed, opened = await outcomes(url, verify=authorities())
    assert probed == "worker"
    assert "CERTIFICATE" not in opened


@pytest.mark.usefixtures("believed")
async def test_a_gateway_believes_the_authorities_of_its_environment(certificate: Path) -> None:
    async with https_worker(certificate) as url:
        gateway = await asyncio.to_thread(GatewayProcess, [SimpleNamespace(url=url)])
        try:

            async def up() -> bool | None:
                [seen] = await workers_of(gateway)
                return seen["health"] == "up" or None

            await eventually(up, "the worker is not believed")
        finally:
            gateway.kill()


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
async def test_tls_of_before_1_2_is_not_spoken(certificate: Path) -> None:
    async with https_worker(certificate, ssl.TLSVersion.TLSv1_1) as url:
        for said in await outcomes(url, verify=ssl.create_default_context(cafile=str(certificate))):
            assert said != "worker" and said != "opened"
    assert ssl.create_default_context().minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_an_https_worker_is_not_asked_in_plain(certificate: Path) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(16))
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        await outcomes(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert heard and all(first[:1] == b"\x16" for first in heard), "a TLS handshake, and no request"
