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
from releasekit import link_requirements
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


class Newcomer:
    """A reader with an empty folder, the document, and an interpreter that has never seen neuraphage.

    Args:
        folder: where they are.
        wheel: what they install in place of the repository, so that nothing has to be built or fetched: what it asks
            for is linked from the environment of the tests.
    """

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        kept = scripted_environ(os.environ)
        outside = {name: v for name, v in kept.items() if not name.startswith(("NEURAPHAGE", "PYTHON", "PIP_"))}
        self._env = {
            **outside,
            "PATH": os.pathsep.join([str(Path(sys.base_prefix) / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
            "NEURAPHAGE": str(wheel),
            "NEURAPHAGE_DATA_DIR": f"{folder}-data",
            "PIP_NO_INDEX": "1",
            "PIP_NO_DEPS": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
        }
        installed = self.types(RUNS["install"])
        assert installed.returncode == 0, installed.stdout + installed.stderr
        (packages,) = (folder / ".venv" / "lib").glob("python*/site-packages")
        link_requirements(packages)
        for name in ("shop.py", "test_shop.py"):
            (folder / name).write_text(FILES[name] + "\n", encoding="utf-8")

    def types(self, *blocks: str) -> subprocess.CompletedProcess[str]:
        """What a shell makes of blocks, one after the other, until one fails."""
        return subprocess.run(
            ["bash", "-euc", "\n".join(blocks)], cwd=self.folder, env=self._env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    def goes_on(self, *blocks: str) -> str:
        """What is said to blocks in the shell of the page, which has the environment and knows the tool."""
        activate = RUNS["install"].splitlines()[0].rpartition("&& ")[2]
        ran = self.types(activate, RUNS["register"], *blocks)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Newcomer:
    """Someone who has installed neuraphage and written the files of the document."""
    return Newcomer(tmp_path_factory.mktemp("shop"), wheel)


def test_every_block_is_used_here() -> None:
    """A block that nobody runs tells what may have ceased to be true."""
    assert set(FILES) == {"shop.py", "test_shop.py", "pyproject.toml of a package"}
    assert list(RUNS) == ["install", "register", "check", "kills", "test", "use"]
    announced = tomllib.loads(FILES["pyproject.toml of a package"])
    assert announced == {"project": {"entry-points": {"neuraphage.tools": {"shop": "shop:charge"}}}}


def test_the_page_from_its_top_to_one_charge(newcomer: Newcomer) -> None:
    """The tool is listed, keeps what it declares, and charges once although its worker is killed twice."""
    said = newcomer.goes_on(RUNS["check"], RUNS["kills"])
    assert "shop:charge\tCharge a customer." in said
    assert "one effect: effects of the key: 0 before, 1 after one run, 1 after two" in said
    assert "nothing is wrong" in said
    assert "1 passed, 2 deselected" in said
    (charges,) = re.findall(r"`(\[\(.*?\)\])`", TEXT)
    assert said.splitlines()[-1] == charges, "as the document says"


def test_its_tests_pass_under_kills(newcomer: Newcomer) -> None:
    """The document's own tests, in a pytest of their own, with the fixture of the plugin."""
    assert "3 passed" in newcomer.goes_on(RUNS["test"])


def test_a_task_uses_it(newcomer: Newcomer) -> None:
    """In a worker of a stack that `run` has started, with a script in place of a model that needs a key."""
    (newcomer.folder / "play.py").write_text(SCRIPT, encoding="utf-8")
    said = newcomer.goes_on(f"{RUNS['use']} --script play:play --allow charge")
    assert "Charged eve 300 cents." in said
