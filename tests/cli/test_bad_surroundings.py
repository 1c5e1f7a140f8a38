"""Bad surroundings of a real process: a full disk, a closed output, a directory that is gone, no home, no terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from clikit import PROCESS_LIMIT_S, SCRIPT


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Args:
        line: for a shell; `np` is the command.
        code: its exit code.
        words: part of what is written; "" when nothing may be.
    """

    line: str
    code: int
    words: str


ROWS = {
    "a full disk": Row("np version >/dev/full", 1, "No space left on device"),
    "a closed output": Row("np version >&-", 0, ""),
    "closed output for errors": Row("np list 2>&-", 1, ""),
    "a directory that is gone": Row("mkdir gone; cd gone; rmdir ../gone; np submit x --dir .", 1, "directory is gone"),
    "a directory whose name is no text": Row(
        "mkdir $'b\\xe9'; cd $'b\\xe9'; np run x --script a:b", 2, "the path of the directory is not UTF-8 text"
    ),
    "a data folder whose name is no text": Row(
        "NEURAPHAGE_DATA_DIR=$'b\\xe9' np dev --script x:y", 2, "NEURAPHAGE_DATA_DIR: a path of UTF-8 text is wanted"
    ),
    "a home whose name is no text": Row("env -i HOME=$'/b\\xe9' $NP dev --script x:y", 2, "a path of UTF-8 text"),
    "bytes that are no text": Row("np submit $'caf\\xe9'", 2, "argument 2 is not UTF-8 text"),
    "an alphabet of ASCII": Row("LC_ALL=C PYTHONUTF8=0 np show $'caf\\xe9'", 2, "argument 2 is not UTF-8 text"),
    "no home": Row("env -i HOME=/proc/nowhere $NP list", 1, "/proc/nowhere"),
    "a home that cannot be written": Row("env -i HOME=/proc/nowhere $NP dev --script x:y", 1, "/proc/nowhere"),
    "a terminal of one column": Row("COLUMNS=1 np run --help >/dev/null", 0, ""),
    "no terminal": Row("setsid -w $NP list </dev/null", 1, "neuraphage dev"),
    "no input": Row("np list <&-", 1, "neuraphage dev"),
}


@pytest.mark.parametrize("name", ROWS)
def test_bad_surroundings(name: str, tmp_path: Path) -> None:
    """One line or none, the exit code, never a traceback."""
    row = ROWS[name]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "NP": SCRIPT, "LANG": "C.UTF-8"}
    script = f'np() {{ "$NP" "$@"; }}; {row.line}'
    ran = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, timeout=PROCESS_LIMIT_S, check=False
    )
    said = ran.stderr.decode()
    assert ran.returncode == row.code, said
    assert row.words in said
    assert said.count("\n") == (1 if row.words else 0), said


def test_a_directory_is_named_in_utf8_whatever_the_locale(tmp_path: Path) -> None:
    """As the worker names it, which may run in another locale; not in half characters of this one's alphabet."""
    folder = tmp_path / "caf\u00e9"
    folder.mkdir()
    imports = "from pathlib import Path; from neuraphage.cli.arguments import existing_dir"
    argv = [sys.executable, "-P", "-c", f"{imports}; print(ascii(existing_dir(Path())))"]
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = subprocess.run(
        argv, cwd=folder, env=env, capture_output=True, text=True, timeout=PROCESS_LIMIT_S, check=False
    )
    assert ran.stdout == f"{str(folder)!a}\n", ran.stderr
