"""The far end of a link: where TLS ends, if there is any."""

from __future__ import annotations

import contextlib
import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple, Protocol

from demo_engine.errors import EnvironmentLackError

_READ_BYTES = 65_536


class Received(NamedTuple):
    """What follows from bytes of the client."""

    plain: bytes
    """For the server."""
    answer: bytes
    """For the client: the far end's part of the handshake."""


class FarEnd(Protocol):
    """Turns what the wire carries into what the server reads, and back."""

    def receive(self, data: bytes) -> Received:
        """Take bytes of the client."""

    def wrap(self, data: bytes) -> bytes:
        """Return what goes on the wire for bytes of the server."""

    def close(self) -> bytes:
        """Return what goes on the wire before it ends."""


class PlainEnd:
    """Without TLS."""

    def receive(self, data: bytes) -> Received:
        """Take bytes of the client."""
        return Received(data, b"")

    def wrap(self, data: bytes) -> bytes:
        """Return the bytes as they are."""
        return data

    def close(self) -> bytes:
        """Return nothing."""
        return b""


class TlsEnd:
    """The server's side of TLS, on bytes alone.

    Raises:
        ssl.SSLError: From any method: the client broke the protocol, or does not trust the certificate.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._is_open = False

    def receive(self, data: bytes) -> Received:
        """Take bytes of the client: first those of the handshake, then its requests."""
        self._incoming.write(data)
        plain = b""
        with contextlib.suppress(ssl.SSLWantReadError):
            if not self._is_open:
                self._tls.do_handshake()
                self._is_open = True
            while piece := self._tls.read(_READ_BYTES):
                plain += piece
        return Received(plain, self._outgoing.read())

    def wrap(self, data: bytes) -> bytes:
        """Encrypt bytes of the server."""
        self._tls.write(data)
        return self._outgoing.read()

    def close(self) -> bytes:
        """Say that nothing follows."""
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        return self._outgoing.read()


def server_context(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """Make a key and a certificate for the loopback addresses, valid for a day; return it all, and its file.

    Args:
        folder: Where the files go; readable by nobody else.

    Raises:
        EnvironmentLackError: There is no ``openssl``, which the standard library cannot replace here.
    """
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "1", "-subj", "/CN=spanreel link", "-keyout", str(key), "-out", str(certificate)]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost"]
    try:
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise EnvironmentLackError("no certificate could be made for the link; install openssl") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    context.load_cert_chain(certificate, key)
    return context, certificate
