"""The command lines and environments of a stack."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from neuraphage.dev.address import ServerAddress
from neuraphage.dev.exit_cause import cause_of_exit, read_tail
from neuraphage.dev.stack import StackPlan, make_folders, stack_specs
from neuraphage.errors import SettingsError

ADDRESS = ServerAddress("unix://:pw-of-server@/s?db=1", "redis://:pw-of-server@127.0.0.1:7/0")


def plan(**changes: object) -> StackPlan:
    environ = {"PATH": "/bin", "ANTHROPIC_API_KEY": "real-key", "NEURAPHAGE_LEASE_S": "20"}
    values = {"data_dir": Path("/d"), "address": ADDRESS, "namespace": "ns", "environ": environ, "python": "py"}
    return StackPlan(**(values | changes))  # type: ignore[arg-type]


def test_command_lines() -> None:
    """Turns and control have queues, processes and node names of their own."""
    lines = {spec.name: " ".join(spec.argv) for spec in stack_specs(plan(concurrency=5))}
    celery = "py -P -m celery -A neuraphage.celery_app"
    common = "-l INFO --without-mingle --without-gossip"
    assert lines == {
        "worker": f"{celery} worker -P threads -c 5 -Q np.run -n worker-ns@%h {common}",
        "control": f"{celery} worker -P threads -c 2 -Q np.control -n control-ns@%h {common}",
        "beat": f"{celery} beat -s /d/beat/schedule -l INFO",
    }


def test_several_workers_have_several_names() -> None:
    """Celery node names must differ."""
    specs = stack_specs(plan(workers=2))
    assert [spec.name for spec in specs] == ["worker-1", "worker-2", "control", "beat"]
    assert len({spec.argv[spec.argv.index("-n") + 1] for spec in specs[:3]}) == 3


def test_environment_says_where_the_server_is() -> None:
    """Every process finds server, folder and namespace; other settings are passed on."""
    for spec in stack_specs(plan()):
        needs_state = spec.name not in {"beat", "flower"}  # these two send and watch messages, and nothing else
        assert spec.env.get("NEURAPHAGE_STATE_URL") == (ADDRESS.state_url if needs_state else None)
        assert spec.env["NEURAPHAGE_BROKER_URL"] == ADDRESS.broker_url
        assert spec.env["NEURAPHAGE_DATA_DIR"] == "/d"
        assert spec.env["NEURAPHAGE_NAMESPACE"] == "ns"
        assert spec.env["NEURAPHAGE_LEASE_S"] == "20"
        assert "NEURAPHAGE_ANTHROPIC_BASE_URL" not in spec.env


def test_its_pythons_name_files_in_utf8_whatever_the_locale(tmp_path: Path) -> None:
    """Python itself would write names in the locale's alphabet, and a tool could name no file with other characters."""
    (tmp_path / "\u00e9\u2192.txt").write_text("there", encoding="utf-8")
    ascii_only = {"PATH": os.defpath, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    program = "import os; print(ascii(os.listdir()), open('\\u00e9\\u2192.txt', encoding='utf-8').read())"
    for spec in stack_specs(plan(environ=ascii_only | {"PYTHONUTF8": "0"})):
        ran = subprocess.run(
            [sys.executable, "-P", "-c", program],
            cwd=tmp_path,
            env=spec.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.stdout == "['\\xe9\\u2192.txt'] there\n", ran.stderr


def test_only_workers_get_the_models_key() -> None:
    """What does not call the model does not hold its key."""
    keys = {spec.name: spec.env.get("ANTHROPIC_API_KEY") for spec in stack_specs(plan())}
    assert keys == {"worker": "real-key", "control": None, "beat": None}


def test_a_scripted_model_never_sees_the_real_key() -> None:
    """With a scripted model it starts first, and no process holds the real key."""
    specs = stack_specs(plan(scripted_port=8123, scripted_arguments=("--script", "m:a")))
    assert specs[0].argv == ("py", "-P", "-m", "neuraphage.testing.scripted_api", "--port", "8123", "--script", "m:a")
    assert not {"NEURAPHAGE_STATE_URL", "NEURAPHAGE_BROKER_URL"} & specs[0].env.keys()  # it runs code of others
    assert specs[0].foundation
    assert "real-key" not in {value for spec in specs for value in spec.env.values()}
    assert specs[1].env["NEURAPHAGE_ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8123"


def test_the_scripted_model_is_ready_when_it_accepts() -> None:
    """Its port decides: closed is not ready, listening is."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        ready = stack_specs(plan(scripted_port=listener.getsockname()[1]))[0].ready
        assert ready is not None
        assert not ready()
        listener.listen()
        assert ready()


def test_no_secret_shows() -> None:
    """Neither the plan nor a process shows a password or a key when printed, nor in its arguments."""
    shown = repr(plan()) + repr(stack_specs(plan()))
    assert "pw-of-server" not in shown
    assert "real-key" not in shown


@pytest.mark.parametrize("changes", [{"workers": 0}, {"workers": 65}, {"concurrency": 0}, {"concurrency": 257}])
def test_sizes_have_limits(changes: dict[str, object]) -> None:
    """A stack of no workers or of thousands is refused."""
    with pytest.raises(SettingsError, match="want 1 to"):
        plan(**changes)


def test_folders_are_private(tmp_path: Path) -> None:
    """Logs and the schedule are readable by this user only."""
    stack = plan(data_dir=tmp_path)
    make_folders(stack)
    make_folders(stack)
    assert stack.log_dir.stat().st_mode & 0o777 == 0o700
    assert stack.beat_schedule.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("Write error writing append only file on disk: No space left on device", "disk full"),
        ("# Short write while writing to the AOF file: (nwritten=491, expected=2030)", "disk full"),
        ("bind: Address already in use", "port in use"),
        ("Bad file format reading the append only file appendonly.aof.1.incr.aof", "append-only file is damaged"),
        (
            "Bad file format reading the append only file appendonly.aof.2.base.rdb: make a backup",
            "data of another server",
        ),
        ("Internal error in RDB reading offset 0, function at rdb.c:586", "base of the append-only file is damaged"),
        ("Short read or OOM loading DB. Unrecoverable error", "base of the append-only file is damaged"),
        ("Invalid AOF manifest file format", "append-only file is damaged"),
        ("*** FATAL CONFIG FILE ERROR (Version 9.1.2) ***", "bad configuration"),
        ("Ready to accept connections", None),
    ],
)
def test_causes(line: str, cause: str | None) -> None:
    """Each line is one that a server really wrote."""
    assert cause_of_exit(f"1:M 28 Nov 2026 02:19:09.710 # {line}\n") == cause


def test_the_tail_is_the_end(tmp_path: Path) -> None:
    """Only the end is read, only what is new, and a missing log is no error; one set aside meanwhile is new."""
    log = tmp_path / "log"
    assert read_tail(log) == ""
    log.write_text("0123456789", encoding="utf-8")
    assert read_tail(log, max_bytes=4) == "6789"
    assert read_tail(log, start_bytes=8) == "89"
    assert read_tail(log, start_bytes=10) == ""
    assert read_tail(log, start_bytes=99) == "0123456789"
