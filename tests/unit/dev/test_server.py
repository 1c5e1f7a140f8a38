"""The embedded server, for real: start, refuse, adopt, fail with a cause, keep data and secrets."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import redis

from neuraphage import server_socket
from neuraphage.dev.address import ServerAddress
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.server_config import quote_value
from neuraphage.dev.server_files import open_files, take_lock
from neuraphage.errors import StackError
from neuraphage.server_socket import MAX_SOCKET_PATH_BYTES

pytestmark = pytest.mark.real_redis
Until = Callable[..., None]


def client(url: str) -> redis.Redis:
    return redis.from_url(url, retry=None)


def gone(pid: int) -> bool:
    """A zombie is gone too: in a container nobody may be there to reap it."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_both_urls_reach_two_databases_of_one_server(data_dir: Path) -> None:
    """State goes over the socket, the broker over loopback, and they do not see each other's keys."""
    with EmbeddedServer(data_dir) as server:
        assert server.is_alive()
        state, broker = client(server.address.state_url), client(server.address.broker_url)
        assert state.info("server")["process_id"] == server.pid
        assert broker.info("server")["process_id"] == server.pid
        state.set("k", "v")
        assert broker.get("k") is None
    assert not server.is_alive()
    assert server.pid is None


def test_settings_that_durability_rests_on(data_dir: Path) -> None:
    """An acknowledged write is on disk, nothing is ever evicted, and only this machine can connect."""
    with EmbeddedServer(data_dir) as server:
        state = client(server.address.state_url)
        wanted = {"appendonly": "yes", "appendfsync": "always", "save": "", "maxmemory-policy": "noeviction"}
        wanted |= {"bind": "127.0.0.1", "databases": "16"}
        assert {name: state.config_get(name)[name] for name in wanted} == wanted


def test_data_password_and_port_survive_a_kill(data_dir: Path, until: Until) -> None:
    """After kill -9 of the server the next start has the same data under the same URLs."""
    server = EmbeddedServer(data_dir)
    first = server.start()
    client(first.state_url).set("k", "v")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not server.is_alive(), "the server's death")
    server.stop()
    with EmbeddedServer(data_dir) as second:
        assert second.address == first
        assert client(first.state_url).get("k") == b"v"


def test_the_same_object_starts_again_after_a_kill(data_dir: Path, until: Until) -> None:
    """Start is safe to repeat: it keeps a running server and replaces a dead one."""
    with EmbeddedServer(data_dir) as server:
        first, address = server.pid, server.address
        assert server.start() == address
        assert server.pid == first
        os.kill(first or 0, signal.SIGKILL)
        until(lambda: not server.is_alive(), "the server's death")
        assert server.start() == address
        assert server.pid not in (None, first)


def test_it_is_a_stranger_to_our_session(data_dir: Path) -> None:
    """Ctrl-C goes to the foreground process group, which the server is not in."""
    with EmbeddedServer(data_dir) as server:
        assert server.pid is not None
        assert os.getsid(server.pid) == server.pid != os.getsid(0)


def test_the_password_is_in_no_argument_environment_or_log(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The password is only in private files; the server gets none of our environment either."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-the-server-has-no-use-for")
    with EmbeddedServer(data_dir) as server:
        password = (server.files.folder / "password").read_text(encoding="utf-8")
        assert len(password) >= 40
        process = psutil.Process(server.pid)
        assert password not in " ".join(process.cmdline())
        assert password not in str(process.environ())
        assert "ANTHROPIC_API_KEY" not in process.environ()
        assert password not in server.files.log.read_text(encoding="utf-8")
        assert password not in repr(server.address)
        for private in (server.files.config, server.files.folder / "password", server.files.log):
            assert stat.S_IMODE(private.stat().st_mode) == 0o600
        assert stat.S_IMODE(server.files.folder.stat().st_mode) == 0o700


def test_without_the_password_nothing_is_answered(data_dir: Path) -> None:
    """Other users of the machine may reach the port, and get nowhere."""
    with EmbeddedServer(data_dir) as server, pytest.raises(redis.AuthenticationError):
        redis.Redis(port=server.address.port or 0, retry=None).ping()


def test_a_second_launcher_is_refused_by_name(data_dir: Path) -> None:
    """Two servers on one folder would ruin its data; the message names the folder and the holder."""
    with EmbeddedServer(data_dir) as server:
        pid = server.pid
        with pytest.raises(StackError, match=rf"{data_dir}.*process {os.getpid()} runs a stack there"):
            EmbeddedServer(data_dir).start()
        assert server.pid == pid
    with EmbeddedServer(data_dir):
        pass  # the folder was given back


def test_who_only_looks_keeps_no_launcher_out(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others take the lock for a moment to see whether there is a stack; a launcher that comes just then gets it."""
    files = open_files(data_dir)
    looking = (files.folder / "lock").open("w")
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("neuraphage.dev.server_files.time.sleep", lambda _: looking.close())
    take_lock(files).close()
    assert looking.closed


LAUNCHER = """
import sys
import tempfile
from pathlib import Path
from neuraphage.dev.server import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]), fsync="everysec")
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""


def orphan(data_dir: Path) -> int:
    """Start a server from a launcher that is then killed.

    Returns:
        The server's process id.
    """
    argv = [sys.executable, "-c", LAUNCHER, str(data_dir)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as launcher:
        assert launcher.stdout is not None
        pid = int(launcher.stdout.readline())
        launcher.kill()
    return pid


def test_a_killed_launchers_server_is_adopted(data_dir: Path) -> None:
    """Kill -9 of the launcher leaves the server running; the next start takes it over with its own wishes."""
    left_over = orphan(data_dir)
    assert not gone(left_over)
    server = EmbeddedServer(data_dir, fsync="always")
    address = server.start()
    assert server.pid == left_over
    assert client(address.broker_url).config_get("appendfsync") == {"appendfsync": "always"}
    server.stop()
    assert not server.is_alive()
    assert gone(left_over)


def test_a_frozen_left_over_is_ended_and_replaced(data_dir: Path, hasty_server: type[EmbeddedServer]) -> None:
    """A server left over that answers nobody does not block the folder for ever."""
    left_over = orphan(data_dir)
    os.kill(left_over, signal.SIGSTOP)
    with hasty_server(data_dir) as server:
        assert server.pid not in (None, left_over)
        assert gone(left_over)


def test_a_left_over_on_another_port_is_replaced(data_dir: Path) -> None:
    """A port that was asked for counts for more than a running server."""
    left_over = orphan(data_dir)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with EmbeddedServer(data_dir, port=port) as server:
        assert server.pid != left_over
        assert client(server.address.broker_url).ping()
        assert server.address.port == port


def test_a_taken_port_is_left_to_its_owner(data_dir: Path) -> None:
    """The last port is kept only while it is free; then another one is chosen."""
    with EmbeddedServer(data_dir) as server:
        port = server.address.port
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port or 0))
        other.listen()
        with EmbeddedServer(data_dir) as server:
            assert server.address.port != port
        with pytest.raises(StackError, match="port in use; another program took its port"):
            EmbeddedServer(data_dir, port=port).start()


def test_a_port_taken_at_the_last_moment_is_replaced(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone may take the port between the look and the server's start."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        ports = iter([taken, taken])
        real = __import__("neuraphage.dev.server", fromlist=["keep_port"]).keep_port
        monkeypatch.setattr("neuraphage.dev.server.keep_port", lambda files: next(ports, None) or real(files))
        with EmbeddedServer(data_dir) as server:
            assert server.address.port != taken
            assert client(server.address.broker_url).ping()


def append_only_file(server: EmbeddedServer) -> Path:
    (path,) = (server.files.folder / "appendonlydir").glob("*.incr.aof")
    return path


def test_a_tail_cut_by_a_power_loss_is_no_damage(data_dir: Path) -> None:
    """A half-written last command was never acknowledged: the server starts without it."""
    with EmbeddedServer(data_dir) as server:
        client(server.address.state_url).set("k", "v")
        path = append_only_file(server)
    path.write_bytes(path.read_bytes() + b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n")
    with EmbeddedServer(data_dir) as server:
        assert client(server.address.state_url).get("k") == b"v"


@pytest.mark.parametrize("name", ["plain", "with space", 'quote" and \\ back', "ünïcode", "x" * 120])
def test_any_folder_name_works(data_dir: Path, name: str) -> None:
    """Quotes, spaces and other letters are no danger, and a long path moves the socket to a short, private place."""
    with EmbeddedServer(data_dir / name) as server:
        path = server.address.socket_path
        assert path is not None
        assert len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert client(server.address.state_url).ping()
    if not path.is_relative_to(data_dir):
        shutil.rmtree(path.parent)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make another user's folder")
def test_a_run_folder_of_someone_else_is_not_used(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever owns the folder around the socket could put a false server there and learn the password."""
    short = Path(tempfile.mkdtemp())
    own = Path(tempfile.mkdtemp())
    try:
        os.chown(short, 65534, 65534)
        monkeypatch.setattr(server_socket, "user_runtime_path", lambda name: short / name)
        monkeypatch.setattr(tempfile, "tempdir", str(own))
        with EmbeddedServer(data_dir / ("x" * 120)) as server:
            assert server.address.socket_path is not None
            assert server.address.socket_path.is_relative_to(own)
        os.chown(own, 65534, 65534)
        monkeypatch.setattr(server_socket, "SHORTEST", own)
        with pytest.raises(StackError, match="make the server's folder"):
            EmbeddedServer(data_dir / ("x" * 120)).start()
    finally:
        shutil.rmtree(short)
        shutil.rmtree(own)


def test_quoted_values_cannot_add_a_line() -> None:
    """A folder name with a line break stays one value of the configuration."""
    assert quote_value('a"\n b\\') == '"a\\x22\\x0a b\\x5c"'


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file in the place of the folder gives a message, not a traceback of the system."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(StackError, match=f"make the server's folder {blocked}/server"):
        EmbeddedServer(blocked).start()


def fill(state: redis.Redis) -> None:
    for number in range(1000):
        state.set(str(number), "x" * 2000)


def test_a_full_disk_is_named(data_dir: Path) -> None:
    """When the disk fills up the server ends, and the next start says why it cannot."""
    data_dir.mkdir()
    if (
        os.getuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k,mode=0700", "x", data_dir], check=False).returncode
    ):
        pytest.skip("needs the right to mount a small file system")
    try:
        server = EmbeddedServer(data_dir)
        address = server.start()
        with pytest.raises((redis.RedisError, OSError)):
            fill(client(address.state_url))
        server.stop()
        with contextlib.suppress(OSError):
            (data_dir / "fill").write_bytes(b"x" * 200_000)
        with pytest.raises(StackError, match=r"disk full|No space left on device"):
            EmbeddedServer(data_dir).start()
    finally:
        subprocess.run(["umount", data_dir], check=True)


def test_before_the_start_there_is_no_address(data_dir: Path) -> None:
    """Asking too early is an error that says what to call."""
    with pytest.raises(StackError, match=r"call start\(\) first"):
        _: ServerAddress = EmbeddedServer(data_dir).address
