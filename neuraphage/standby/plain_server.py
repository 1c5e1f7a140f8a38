"""A connection to the state server in the few words that a renewal needs: small, for a process beside each worker.

redis-py takes three times the memory that the whole process may have. What it is told (store/standby_order.py) comes
from the worker's own connection, so both reach the same server with the same login and the same trust.
"""

from __future__ import annotations

import socket

TYPE_CHECKING = False  # type checkers know this name; importing typing would cost more than the socket
if TYPE_CHECKING:
    import ssl
    from typing import Any


class Refused(OSError):
    """The server answered with an error."""


class PlainServer:
    """One connection to the state server.

    Args:
        order: how to get there, see store/standby_order.py.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._socket: Any = None
        self._unread = b""

    def call(self, *words: Any) -> Any:
        """Send a command and read its reply; connects first.

        Raises:
            Refused: the server answered with an error.
            OSError: no connection.
        """
        try:
            if self._socket is None:
                self._connect()
            return self._ask(words)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._unread = None, b""

    def _connect(self) -> None:
        order = self._order
        if order["path"]:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(order["timeout_s"])
            self._socket.connect(order["path"])
        else:
            self._dial(self._master() if order["sentinels"] else (order["host"], order["port"]), order["tls"])
        self._log_in(order["username"], order["password"])
        if order["db"]:
            self._ask(("SELECT", order["db"]))

    def _master(self) -> tuple[str, int]:
        """Ask the Sentinels."""
        order = self._order
        for address in order["sentinels"]:
            try:
                self._dial(address, order["sentinel_tls"])
                self._log_in(order["sentinel_username"], order["sentinel_password"])
                found = self._ask(("SENTINEL", "GET-MASTER-ADDR-BY-NAME", order["service_name"]))
                if found:
                    return found[0].decode(), int(found[1])
            except OSError:
                continue
            finally:
                self.close()
        raise OSError("no Sentinel names a master")

    def _dial(self, address: tuple[str, int], tls: dict[str, Any] | None) -> None:
        self._socket = socket.create_connection(address, self._order["timeout_s"])
        if tls is not None:
            self._socket = tls_context(tls).wrap_socket(self._socket, server_hostname=address[0])

    def _log_in(self, username: str | None, password: str | None) -> None:
        if password is not None:
            self._ask(("AUTH", username, password) if username else ("AUTH", password))

    def _ask(self, words: tuple[Any, ...]) -> Any:
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        packed = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
        self._socket.sendall(b"*%d\r\n%b" % (len(parts), packed))
        return self._reply()

    def _reply(self) -> Any:
        line = self._until(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise Refused(rest.decode(errors="replace"))
        if kind == b"$":
            return None if rest == b"-1" else self._take(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self._reply() for _ in range(int(rest))]  # none for a nil of -1
        return rest

    def _until(self, end: bytes) -> bytes:
        while end not in self._unread:
            self._more()
        line, _, self._unread = self._unread.partition(end)
        return line

    def _take(self, size: int) -> bytes:
        while len(self._unread) < size:
            self._more()
        taken, self._unread = self._unread[:size], self._unread[size:]
        return taken

    def _more(self) -> None:
        piece = self._socket.recv(65_536)
        if not piece:
            raise OSError("the server closed the connection")
        self._unread += piece


def tls_context(options: dict[str, Any]) -> ssl.SSLContext:
    """As redis-py makes one of the same words.

    Raises:
        OSError: a file cannot be read.
    """
    import ssl  # noqa: PLC0415 - 5 MB and more, which only a connection by TLS needs, and while it stands

    context = ssl.create_default_context()
    checks = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
    required = checks[options["cert_reqs"]]
    context.check_hostname = required != ssl.CERT_NONE and bool(options.get("check_hostname", True))
    context.verify_mode = required
    if options.get("certfile"):
        context.load_cert_chain(options["certfile"], options.get("keyfile"), options.get("password"))
    trusted = [options.get(name) for name in ("ca_certs", "ca_path", "ca_data")]
    if any(trusted):
        context.load_verify_locations(*trusted)
    if options.get("min_version") is not None:
        context.minimum_version = options["min_version"]
    if options.get("ciphers"):
        context.set_ciphers(options["ciphers"])
    return context
