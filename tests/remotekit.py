"""Servers as people run them elsewhere: TCP with users, TLS in front, a master with a replica and Sentinels."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from servers import START_RETRIES, STOP_TIMEOUT_S, server_binary

PASSWORD = "pa55 w/rd@:"  # what a URL must quote
SERVICE = "np-master"
DOWN_AFTER_MS = 3_000
"""A master that is silent for so long is given up. It must not be what a busy machine does to a living one."""


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class TcpServer:
    """One server process on a loopback port.

    Args:
        folder: data and configuration.
        lines: of its configuration file, beside the port.
        sentinel: start it as a Sentinel.
        password: of the default user.
    """

    folder: Path
    lines: Sequence[str] = ()
    sentinel: bool = False
    password: str | None = None
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "server.conf"
        basic = [f"port {self.port}", "bind 127.0.0.1", f"dir {self.folder}", 'save ""' if not self.sentinel else ""]
        config.write_text("\n".join([*basic, *self.lines]) + "\n", encoding="utf-8")
        argv = [str(server_binary()), str(config), *(["--sentinel"] if self.sentinel else [])]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        with self.client(retry=Retry(ConstantBackoff(0.025), START_RETRIES)) as waiting:
            waiting.ping()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(STOP_TIMEOUT_S)

    def client(self, **options: object) -> redis.Redis:
        return redis.Redis(port=self.port, password=self.password, **options)


@contextlib.contextmanager
def running(*servers: TcpServer) -> Iterator[None]:
    """Start them in order; kill them at the end."""
    with contextlib.ExitStack() as stack:
        for server in servers:
            stack.callback(server.kill)
            server.start()
        yield


@dataclass(frozen=True)
class SentinelGroup:
    """A master, its replica, and a Sentinel."""

    master: TcpServer
    replica: TcpServer
    sentinel: TcpServer

    @property
    def hosts(self) -> list[str]:
        """A Sentinel that is down, and the one that is not."""
        return ["127.0.0.1:1", f"127.0.0.1:{self.sentinel.port}"]

    @property
    def is_whole(self) -> bool:
        """Whether the replica follows, and the Sentinel knows of it."""
        with self.replica.client() as replica, self.sentinel.client() as sentinel:
            follows: bool = replica.info("replication").get("master_link_status") == "up"
            return follows and sentinel.sentinel_master(SERVICE)["num-slaves"] == 1


def sentinel_group(folder: Path, password: str, sentinel_password: str) -> SentinelGroup:
    """Describe one; start it with `running`, master first."""
    secret = f'requirepass "{password}"', f'masterauth "{password}"'
    master = TcpServer(folder / "a", (*secret, "repl-diskless-sync-delay 0"), password=password)
    replica = TcpServer(folder / "b", (*secret, f"replicaof 127.0.0.1 {master.port}"), password=password)
    lines = (
        f"sentinel monitor {SERVICE} 127.0.0.1 {master.port} 1",
        f'sentinel auth-pass {SERVICE} "{password}"',
        f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
        f"sentinel failover-timeout {SERVICE} 2000",
        f'requirepass "{sentinel_password}"',
        f'sentinel sentinel-pass "{sentinel_password}"',
    )
    sentinel = TcpServer(folder / "s", lines, sentinel=True, password=sentinel_password)
    return SentinelGroup(master, replica, sentinel)


# --- TLS ---


@dataclass(frozen=True)
class Certificates:
    """An authority, and a certificate of 127.0.0.1 that it signed."""

    authority: Path
    certificate: Path
    key: Path


def make_certificates(folder: Path, names_of_it: str = "IP:127.0.0.1,DNS:localhost", *, days: int = 2) -> Certificates:
    """Make them with the openssl program.

    Args:
        folder: an existing one, for all files.
        names_of_it: of the server, as openssl writes them.
        days: that the server's is valid for; negative for one that has expired.
    """
    found = Certificates(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    ca_key, request, names = folder / "ca.key", folder / "request.pem", folder / "names"
    names.write_text(f"subjectAltName={names_of_it}\nauthorityKeyIdentifier=keyid\n", encoding="utf-8")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    # Python 3.13 asks an authority for its key usage
    usage = ["-subj", "/CN=test authority", "-addext", "keyUsage=critical,keyCertSign,cRLSign"]
    sign = ["-CA", found.authority, "-CAkey", ca_key, "-CAcreateserial", "-days", str(days), "-extfile", names]
    for arguments in (
        [
            "req",
            "-x509",
            *key,
            "-keyout",
            ca_key,
            "-out",
            found.authority,
            "-days",
            "2",
            "-subj",
            "/CN=test authority",
            *usage,
        ],
        ["req", *key, "-keyout", found.key, "-out", request, "-subj", "/CN=localhost"],
        ["x509", "-req", "-in", request, *sign, "-out", found.certificate],
    ):
        subprocess.run([shutil.which("openssl") or "openssl", *map(str, arguments)], check=True, capture_output=True)
    return found


class TlsFront:
    """Speaks TLS to clients and plain TCP to a server, as stunnel or a cloud's load balancer does.

    Args:
        certificates: its own.
        target_port: of the plain server.
    """

    def __init__(self, certificates: Certificates, target_port: int) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates.certificate, certificates.key)
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> TlsFront:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError), plain:
            client = self._context.wrap_socket(plain, server_side=True)
            with client, socket.create_connection(("127.0.0.1", self._target_port)) as server:
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65_536):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
