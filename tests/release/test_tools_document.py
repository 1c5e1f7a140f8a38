"""docs/tools.md from an empty folder, as it stands there: its files are made, its commands are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from neuraphage.dev.local_model import scripted_environ
from patience import PATIENCE_S
from source_tree import ROOT

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
TEXT = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
FOUND = re.findall(r"<!-- (file|run): ([^>]*?) -->\n```\w+\n(.*?)\n```\n<!-- end -->", TEXT, re.DOTALL)
FILES = {name: text for kind, name, text in FOUND if kind == "file"}
RUNS = {name: text for kind, name, text in FOUND if kind == "run"}
SCRIPT = """
from neuraphage.testing.scripted_api import reply

def play(request):
    if request.tool_results:
        return reply(request.tool_results[-1].text)
    return reply("I charge.", tools=[("charge", {"customer": "eve", "cents": 300})])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's folder, which was empty, with the files of the document in it."""
    folder = tmp_path_factory.mktemp("shop")
    for name in ("shop.py", "test_shop.py"):
        text = FILES[name].replace("/tmp/bank.db", str(folder / "bank.db"))
        (folder / name).write_text(text + "\n", encoding="utf-8")
    (folder / "play.py").write_text(SCRIPT, encoding="utf-8")
    return folder


def typed(block: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a shell makes of a block, after that which sets PYTHONPATH."""
    kept = {name: v for name, v in scripted_environ(os.environ).items() if not name.startswith("NEURAPHAGE_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept["PATH"]])
    env = {**kept, "PATH": path, "NEURAPHAGE_DATA_DIR": str(folder / "data"), "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    line = f"{RUNS['check'].splitlines()[0]}\n{block}"
    return subprocess.run(
        ["bash", "-euc", line], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def test_every_block_is_used_here() -> None:
    """A block that nobody runs tells what may have ceased to be true."""
    assert set(FILES) == {"shop.py", "test_shop.py", "pyproject.toml of a package"}
    assert set(RUNS) == {"check", "test", "use"}
    announced = tomllib.loads(FILES["pyproject.toml of a package"])
    assert announced == {"project": {"entry-points": {"neuraphage.tools": {"shop": "shop:charge"}}}}


def test_the_tool_keeps_what_it_declares(folder: Path) -> None:
    """Two runs under one key, one charge."""
    ran = typed(RUNS["check"], folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "one effect: effects of the key: 0 before, 1 after one run, 1 after two" in ran.stdout
    assert "nothing is wrong" in ran.stdout


def test_its_tests_pass_under_kills(folder: Path) -> None:
    """The document's own tests, in a pytest of their own, with the fixture of the plugin."""
    ran = typed(RUNS["test"], folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout


def test_a_task_uses_it(folder: Path) -> None:
    """In a worker of a stack that `run` has started, with a script in place of a model that needs a key."""
    ran = typed(f"{RUNS['use']} --script play:play --allow charge", folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Charged eve 300 cents." in ran.stdout
