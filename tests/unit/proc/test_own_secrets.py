"""Secrets of a process's environment: kept by it alone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from secretreader import read, without_rights
from source_tree import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and prctl are Linux's")
KEY = "key-4711-of-this-test"
URL = "redis://:word-4711@127.0.0.1:1/1"
ENV = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT),
    "ANTHROPIC_API_KEY": KEY,
    "OPENAI_API_KEY": KEY,
    "NEURAPHAGE_OPENAI_API_KEY": KEY,
    "NEURAPHAGE_STATE_URL": URL,
    "NEURAPHAGE_BROKER_URL": "redis://127.0.0.1:1/0",
    "NEURAPHAGE_LEASE_S": "20",
    "OTHER_TOKEN": "token-of-a-tool",
}


def run(code: str) -> list[str]:
    """What a program prints, line by line."""
    told = "import os, subprocess, sys\nfrom neuraphage import own_secrets\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", told], env=ENV, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_children_get_no_secrets() -> None:
    """Keys and addresses with passwords are gone from what is inherited; all else is there."""
    lines = run("own_secrets.hide(); print(sorted(subprocess.check_output(['env'], text=True).split()))")
    assert KEY not in lines[0]
    assert "word-4711" not in lines[0]
    assert "NEURAPHAGE_BROKER_URL=redis://127.0.0.1:1/0" in lines[0]
    assert "OTHER_TOKEN=token-of-a-tool" in lines[0]


def test_the_process_itself_knows_them_on() -> None:
    """The key, the settings, and what redaction takes for secret are as before, after a fork too."""
    lines = run("""
        own_secrets.hide()
        from neuraphage.client_wiring import redactor
        from neuraphage.settings import Settings
        def tell():
            print(own_secrets.value("ANTHROPIC_API_KEY"))
            print(Settings().state_url.get_secret_value())
            print(redactor().text(f"{own_secrets.value('ANTHROPIC_API_KEY')} word-4711"), flush=True)
        tell()
        if os.fork() == 0:
            own_secrets.hide(), tell()
            os._exit(0)
        os.wait()
        """)
    assert lines == [KEY, URL, "[redacted:secret] [redacted:secret]"] * 2


def test_what_the_kernel_shows_is_overwritten() -> None:
    """`/proc/PID/environ` is the memory of the start: even root reads no secret in it."""
    code = "data = open('/proc/self/environ').read(); print(repr(data.split(chr(0))))"
    before, after = run(f"{code}\nown_secrets.hide()\n{code}") if os.geteuid() == 0 else ("", "")
    if os.geteuid() != 0:
        pytest.skip("a process that hides its memory may read that file as root only")
    assert KEY in before
    assert KEY not in after
    assert "word-4711" not in after
    assert "OTHER_TOKEN=token-of-a-tool" in after


def test_they_are_given_back_to_a_program_in_our_place() -> None:
    """A worker that starts anew begins with all that it was given."""
    lines = run("own_secrets.hide(); own_secrets.give_back(); print(os.environ['ANTHROPIC_API_KEY'])")
    assert lines == [KEY]


def test_who_never_calls_the_model_forgets_its_key() -> None:
    """The addresses stay."""
    lines = run("""
        own_secrets.hide(); own_secrets.forget_model_keys()
        for name in own_secrets.MODEL_KEYS:
            print(repr(own_secrets.value(name)))
        print(own_secrets.value("NEURAPHAGE_STATE_URL"))
        """)
    assert lines == [*["''"] * 4, URL]


def test_a_password_in_a_parameter_is_one() -> None:
    """Sentinels are given theirs like this."""
    lines = run("""
        os.environ["NEURAPHAGE_STATE_URL"] = "sentinel://h:1/1?service_name=a&sentinel_password=word-4712"
        own_secrets.hide()
        print("NEURAPHAGE_STATE_URL" in os.environ, "NEURAPHAGE_BROKER_URL" in os.environ)
        """)
    assert lines == ["False True"]


@pytest.fixture(params=["shown", "hidden", "forked"])
def process(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """A process that waits: as it began, hidden, or the child of a hidden one; with its id."""
    code = "import os, sys\nfrom neuraphage import own_secrets\n"
    code += "" if request.param == "shown" else "own_secrets.hide()\n"
    code += "if os.fork(): os.wait(); sys.exit()\n" if request.param == "forked" else ""
    code += "print(os.getpid(), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        without_rights(sys.executable, "-c", code), env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        yield request.param, int(started.stdout.readline())
        started.communicate("")


@pytest.mark.parametrize("name", ["environ", "mem", "maps"])
def test_no_other_process_of_the_user_reads_it(process: tuple[str, int], name: str) -> None:
    """A process that does not hide can be read in the same way, so the reader is a real one."""
    kind, pid = process
    found = read(pid, name)
    assert (found is None) == (kind != "shown")
    assert (KEY.encode() in (found or b"")) == (kind == "shown" and name == "environ")


def test_a_user_of_the_data_folder_is_seen_by_its_lock(tmp_path: Path) -> None:
    """As long as it lives, and no longer; a process that hides tells nobody by its environment."""
    from neuraphage.data_folder import make_data_folder, note_user, noted_users

    folder = tmp_path / "data"
    make_data_folder(folder)
    code = "import sys; from pathlib import Path; from neuraphage.data_folder import note_user\n"
    code += f"note_user(Path({str(folder)!r})); print('noted', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout is not None
        started.stdout.readline()
        assert noted_users(folder) == {started.pid}
        started.communicate("")
    assert noted_users(folder) == set()
    note_user(tmp_path / "nowhere")
    assert noted_users(tmp_path / "nowhere") == set()
