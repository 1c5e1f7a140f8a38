"""The proxy over its socket, with real servers on loopback, which are listed by their address."""

from __future__ import annotations

import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neuraphage.errors import BadInput, SpoolError
from neuraphage.sandbox.gate import ProxyLimits
from neuraphage.sandbox.proxy import Proxy
from patience import PATIENCE_S
from proxykit import Told, ask, dial, everything, listening, web_server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of the proxy's socket, in a folder that is not there yet."""
    return tmp_path / "p" / "s"


@pytest.fixture
def port() -> Iterator[int]:
    """Of a web server."""
    with web_server() as number:
        yield number


def leading_to(*addresses: str) -> Callable[[str, int], list[str]]:
    """A resolver that knows these addresses of every host."""
    return lambda _host, _port: list(addresses)


def test_a_plain_request_to_a_listed_host_goes_through(path: Path, port: int) -> None:
    """With its body, and it is told as allowed."""
    told = Told()
    with Proxy(path, [f"127.0.0.1:{port}"], told):
        request = f"POST http://127.0.0.1:{port}/a?b HTTP/1.1\nHost: 127.0.0.1:{port}\nContent-Length: 3\n\nabc"
        answer = ask(path, request)
    assert answer.startswith("HTTP/1.1 200 ")
    assert answer.endswith(f"POST /a?b host=127.0.0.1:{port} body=abc")
    assert told.rows == [("127.0.0.1", port, True)]


def test_a_body_in_chunks_goes_through(path: Path, port: int) -> None:
    """With extensions and a trailer, neither of which is sent on."""
    with Proxy(path, [f"127.0.0.1:{port}"]):
        answer = ask(
            path,
            f"POST http://127.0.0.1:{port}/ HTTP/1.1\nTransfer-Encoding: chunked\n\n3;x=y\nabc\n1\nd\n0\nT: 1\n\n",
        )
    assert answer.endswith("body=abcd")


@pytest.mark.parametrize("body", ["3\nabcd\n0\n\n", "x\nabc\n0\n\n", "-1\n\n", "0x3\nabc\n0\n\n", "3\nabc0\n\n"])
def test_a_wrong_body_in_chunks_ends_the_connection(path: Path, port: int, body: str) -> None:
    """A server could take another end of it than the proxy, and the rest for a request."""
    with Proxy(path, [f"127.0.0.1:{port}"]):
        answer = ask(path, f"POST http://127.0.0.1:{port}/ HTTP/1.1\nTransfer-Encoding: chunked\n\n{body}")
    assert answer == ""


def test_a_tunnel_carries_both_ways_and_ends_one_by_one(path: Path) -> None:
    """One side may say that it sends no more, and still get all of the other."""
    with listening() as (server, number), Proxy(path, [f"127.0.0.1:{number}"]), dial(path) as client:
        client.sendall(f"CONNECT 127.0.0.1:{number} HTTP/1.1\r\n\r\nearly".encode())
        far, _ = server.accept()
        with far:
            far.settimeout(PATIENCE_S)
            head = b"HTTP/1.1 200 Connection established\r\n\r\n"
            assert client.recv(len(head), socket.MSG_WAITALL) == head
            client.sendall(b" late")
            client.shutdown(socket.SHUT_WR)
            assert everything(far) == b"early late"
            far.sendall(b"x" * 1_000_000)
        assert everything(client) == b"x" * 1_000_000


def test_a_host_that_is_not_listed_is_refused(path: Path, port: int) -> None:
    """Before its name is resolved; the sentence names host, port and setting, as the reason of a tunnel, too."""
    told = Told()
    resolved: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        resolved.append(host)
        return ["127.0.0.1"]

    with Proxy(path, ["a.org", f"127.0.0.1:{port}"], told, resolve=resolve):
        tunnel = ask(path, "CONNECT evil.org:443 HTTP/1.1\n\n")
        plain = ask(path, "GET http://a.org:8080/ HTTP/1.1\n\n")
    reason = "neuraphage: evil.org:443 may not be reached from a command; a person allows it by allow_hosts"
    assert tunnel.splitlines()[0] == f"HTTP/1.1 403 {reason}"
    assert tunnel.endswith(f"\r\n\r\n{reason}\n")
    assert plain.startswith("HTTP/1.1 403 neuraphage: a.org:8080 ")
    assert told.rows == [("evil.org", 443, False), ("a.org", 8080, False)]
    assert resolved == []


@pytest.mark.parametrize(
    ("denied", "addresses"),
    [
        ("a.org", ("127.0.0.1",)),
        ("*.org", ("127.0.0.1",)),
        ("127.0.0.1", ("127.0.0.1",)),
        ("127.0.0.1", ("::ffff:127.0.0.1",)),
    ],
)
def test_a_blocked_host_is_refused_though_it_is_listed(
    path: Path, port: int, denied: str, addresses: tuple[str, ...]
) -> None:
    """By its name or by an address that it leads to, at every port; the sentence names the setting."""
    told = Told()
    listed = [f"a.org:{port}", f"127.0.0.1:{port}", f"[::ffff:127.0.0.1]:{port}"]
    with Proxy(path, listed, told, resolve=leading_to(*addresses), denied=[denied]):
        answer = ask(path, f"GET http://a.org:{port}/ HTTP/1.1\n\n")
    assert answer.startswith(f"HTTP/1.1 403 neuraphage: a.org:{port} is never reached from a command")
    assert "blocked_hosts or a rule denies it" in answer
    assert told.rows == [("a.org", port, False)]


def test_of_several_addresses_a_blocked_one_is_left_out(path: Path, port: int) -> None:
    """The others are reached; and a port that is not blocked is not meant."""
    listed, leads = [f"a.org:{port}", f"127.0.0.1:{port}"], leading_to("127.0.0.2", "127.0.0.1")
    with Proxy(path, listed, resolve=leads, denied=["127.0.0.2", "a.org:1"]):
        assert f"host=a.org:{port}" in ask(path, f"GET http://a.org:{port}/ HTTP/1.1\n\n")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
def test_a_listed_name_that_leads_inside_is_refused(path: Path, port: int, address: str) -> None:
    """Its owner says what its addresses are; it is told as refused."""
    told = Told()
    with Proxy(path, [f"a.org:{port}"], told, resolve=leading_to(address)):
        answer = ask(path, f"GET http://a.org:{port}/ HTTP/1.1\n\n")
    assert answer.startswith("HTTP/1.1 403 neuraphage: a.org is a")
    assert "by the address itself in allow_hosts" in answer
    assert told.rows == [("a.org", port, False)]


def test_a_name_leads_inside_where_the_address_is_listed_itself(path: Path, port: int) -> None:
    """At that port, and the server is told the name."""
    with Proxy(path, [f"a.org:{port}", f"127.0.0.1:{port}"], resolve=leading_to("127.0.0.1")):
        assert f"host=a.org:{port}" in ask(path, f"GET http://a.org:{port}/ HTTP/1.1\n\n")
    with Proxy(path, [f"a.org:{port}", "127.0.0.1"], resolve=leading_to("127.0.0.1")):
        assert ask(path, f"GET http://a.org:{port}/ HTTP/1.1\n\n").startswith("HTTP/1.1 403 ")


def test_a_name_that_changes_its_addresses_is_asked_for_once(path: Path, port: int) -> None:
    """The proxy connects to an address that it has looked at, whatever the name leads to a moment later. And of
    several addresses only those that it may reach are tried: here that is one where nobody listens."""
    answers = iter([["127.0.0.2"], ["127.0.0.1"]])
    calls: list[str] = []

    def resolve(host: str, _port: int) -> list[str]:
        calls.append(host)
        return next(answers)

    listed = [f"a.org:{port}", f"127.0.0.2:{port}"]
    with Proxy(path, listed, resolve=resolve):
        answer = ask(path, f"GET http://a.org:{port}/ HTTP/1.1\n\n")
    assert answer.startswith("HTTP/1.1 502 neuraphage: no connection to a.org:")
    assert calls == ["a.org"]
    mixed = leading_to("127.0.0.1", "127.0.0.2")
    with Proxy(path, listed, resolve=mixed):
        assert ask(path, f"GET http://a.org:{port}/ HTTP/1.1\n\n").startswith("HTTP/1.1 502 neuraphage: no connection")


def test_a_name_without_an_address_is_told(path: Path) -> None:
    """And one whose resolver hangs, which holds up neither others nor the end of the proxy."""
    forever = threading.Event()

    def resolve(host: str, _port: int) -> list[str]:
        if host == "slow.org":
            forever.wait(PATIENCE_S)
        raise OSError("none")

    with Proxy(path, ["a.org", "slow.org"], resolve=resolve, limits=ProxyLimits(connect_s=0.05)):
        for host in ("a.org", "slow.org"):
            answer = ask(path, f"CONNECT {host}:443 HTTP/1.1\n\n")
            assert answer.startswith(f"HTTP/1.1 502 neuraphage: no address of {host} is known")
    forever.set()


def test_a_second_request_of_a_connection_does_not_get_through(path: Path) -> None:
    """It could name another host of the same server, which nobody has checked."""
    with listening() as (server, number), Proxy(path, [f"127.0.0.1:{number}"]), dial(path) as client:
        first = f"GET http://127.0.0.1:{number}/ HTTP/1.1\r\n\r\n"
        client.sendall(f"{first}GET http://hidden.org/ HTTP/1.1\r\nHost: hidden.org\r\n\r\n".encode())
        far, _ = server.accept()
        with far:
            far.settimeout(PATIENCE_S)
            assert everything(far).count(b"Host:") == 1


def test_a_head_has_a_longest_size_and_time(path: Path) -> None:
    """What comes too slowly or never ends is let go."""
    with Proxy(path, ["a.org"], limits=ProxyLimits(head_bytes=1_000)):
        assert ask(path, "GET http://a.org/ HTTP/1.1\n" + "X: 1\n" * 1_000).startswith("HTTP/1.1 431 ")
    with Proxy(path, ["a.org"], limits=ProxyLimits(head_s=0.05)):
        assert ask(path, "GET http://a.org/ HTTP/1.1\n").startswith("HTTP/1.1 408 ")


def test_a_silent_connection_ends(path: Path) -> None:
    """After the limit of silence, at both ends."""
    limits = ProxyLimits(idle_s=0.3)
    with listening() as (server, number), Proxy(path, [f"127.0.0.1:{number}"], limits=limits), dial(path) as client:
        client.sendall(f"CONNECT 127.0.0.1:{number} HTTP/1.1\r\n\r\n".encode())
        far, _ = server.accept()
        with far:
            assert everything(client).startswith(b"HTTP/1.1 200 ")


def test_only_so_many_connections_at_one_time(path: Path) -> None:
    """One more is told so, and another is taken once one has ended."""
    with Proxy(path, ["a.org"], limits=ProxyLimits(connections=2)):
        first, second = dial(path), dial(path)
        with second:
            with first:
                for one in (first, second):
                    one.sendall(b"GET")
                assert ask(path, "CONNECT b.org:443 HTTP/1.1\n\n").startswith("HTTP/1.1 503 ")
                first.sendall(b" nonsense\r\n\r\n")
                assert everything(first).startswith(b"HTTP/1.1 400 ")
            assert ask(path, "CONNECT b.org:443 HTTP/1.1\n\n").startswith("HTTP/1.1 403 ")


def test_the_socket_is_this_users_alone(path: Path) -> None:
    """Nobody listens there when the proxy is gone."""
    with Proxy(path, []):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert list(path.parent.iterdir()) == [path]
    with pytest.raises(ConnectionRefusedError):
        dial(path)


def test_the_last_proxy_has_the_socket(path: Path) -> None:
    """Also where another one listens and does not answer: its worker is frozen, and the task has gone on elsewhere. The
    end of the one before takes nothing from it."""
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as frozen:
        frozen.bind(str(path))
        frozen.listen(0)
        with dial(path), Proxy(path, []) as before, Proxy(path, ["a.org"]):
            before.stop()
            assert ask(path, "CONNECT b.org:443 HTTP/1.1\n\n").startswith("HTTP/1.1 403 ")


def test_a_socket_has_a_path_of_any_length(tmp_path: Path) -> None:
    """Data folders lie deep; whoever connects sees the folder by a short path."""
    folder = tmp_path / ("x" * 100)
    with Proxy(folder / "s", []):
        assert ask(folder / "s", "CONNECT b.org:443 HTTP/1.1\n\n").startswith("HTTP/1.1 403 ")


def test_the_end_of_the_proxy_ends_its_connections(path: Path) -> None:
    """Open tunnels, half a head; the thread is gone, a second stop does nothing, and it can be started again."""
    with listening() as (server, number):
        proxy = Proxy(path, [f"127.0.0.1:{number}"])
        proxy.start()
        proxy.start()
        with dial(path) as tunnel, dial(path) as half:
            half.sendall(b"GET")
            tunnel.sendall(f"CONNECT 127.0.0.1:{number} HTTP/1.1\r\n\r\n".encode())
            far, _ = server.accept()
            with far:
                proxy.stop()
                assert everything(half) == b""
                everything(tunnel)
                assert everything(far) == b""
        proxy.stop()
    assert "sandbox-proxy" not in [thread.name for thread in threading.enumerate()]
    with proxy:
        assert ask(path, "CONNECT b.org:443 HTTP/1.1\n\n").startswith("HTTP/1.1 403 ")


def test_a_report_that_fails_changes_nothing(path: Path) -> None:
    """It is logged; the host is refused all the same."""

    def report(_host: str, _port: int, _allowed: bool) -> None:
        raise RuntimeError

    with Proxy(path, [], report):
        assert ask(path, "CONNECT b.org:443 HTTP/1.1\n\n").startswith("HTTP/1.1 403 ")


def test_what_keeps_a_proxy_from_listening_is_told(tmp_path: Path) -> None:
    """A folder that others may write to, an entry that is none."""
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(SpoolError, match="cannot listen at"):
        Proxy(tmp_path / "open" / "s", []).start()
    with pytest.raises(BadInput):
        Proxy(tmp_path / "s", ["*"])
