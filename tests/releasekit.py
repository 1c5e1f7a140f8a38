"""A new machine for tests: a wheel built from this tree, in an environment that holds only what its metadata asks for.

The packages it asks for are linked from the environment that runs the tests, so that no test needs the network. A
package that neuraphage uses and does not declare is not there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackagePath, distribution
from pathlib import Path

from packaging.requirements import Requirement

from patience import PATIENCE_S
from source_tree import ROOT

EXTRA = "embedded"
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- run: ([\w-]+) -->\n```\w+\n(.*?)\n```\n<!-- end -->", README, re.DOTALL))
"""The blocks of the README that tests of tests/release run."""
COMMAND_LIMIT_S = PATIENCE_S
SERVERS = re.compile(r"(redis|valkey)")


@dataclass(frozen=True)
class Machine:
    """One new machine.

    Args:
        folder: everything of it.
        environment: of its processes.
    """

    folder: Path
    environment: Mapping[str, str]

    @property
    def python(self) -> Path:
        return self.folder / "env" / "bin" / "python"

    @property
    def packages(self) -> Path:
        """Where its packages are."""
        (found,) = (self.folder / "env" / "lib").glob("python*/site-packages")
        return found

    def run(
        self, *argv: str | Path, cwd: Path, limit_s: float = COMMAND_LIMIT_S, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of it to its end."""
        return subprocess.run(
            argv,
            cwd=cwd,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this tree."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def new_machine(folder: Path, wheel: Path) -> Machine:
    """Make a machine with an empty home, no server program on PATH, and the wheel installed."""
    home, programs = folder / "home", folder / "programs"
    for made in (home, programs, folder / "tmp"):
        made.mkdir(parents=True)
    link_programs(programs)
    venv.create(folder / "env", with_pip=False)
    environment = {
        "HOME": str(home),
        "PATH": f"{folder / 'env' / 'bin'}{os.pathsep}{programs}",
        "TMPDIR": str(folder / "tmp"),
        "LANG": "C.UTF-8",
    }
    machine = Machine(folder, environment)
    install = [sys.executable, "-m", "pip", "--python", str(machine.python), "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--no-index", "--no-compile", str(wheel)], check=True, capture_output=True)
    link_requirements(machine.packages)
    return machine


def link_programs(folder: Path) -> None:
    """Link the system's programs, but for Redis and Valkey."""
    for place in (Path("/bin"), Path("/usr/bin")):
        for program in place.iterdir():
            link = folder / program.name
            if not SERVERS.match(program.name) and not link.is_symlink():
                link.symlink_to(program.resolve())


def link_requirements(packages: Path) -> None:
    """Link what the installed wheel asks for, with its extra, and what that asks for."""
    wheel = next(packages.glob("neuraphage-*.dist-info/METADATA")).read_text(encoding="utf-8")
    asked = re.findall(r"^Requires-Dist: (.*)$", wheel, re.MULTILINE)
    waiting, done = list(wanted(asked, {EXTRA})), set()
    while waiting:
        name, extras = waiting.pop()
        if (name.lower(), extras) in done:
            continue
        done.add((name.lower(), extras))
        found = distribution(name)
        for entry in top_entries(found.files or []):
            link, target = packages / entry, Path(str(found.locate_file(entry)))
            if not link.exists() and target.exists():
                link.symlink_to(target)
        for program in binary_programs(found):
            (packages.parents[2] / "bin" / program.name).symlink_to(program)
        waiting += wanted(found.requires or [], set(extras))


def binary_programs(package: Distribution) -> Iterator[Path]:
    """Programs of a package that are no scripts of its own Python, as an install would put beside this one.

    A package may also have a folder `bin` of modules; on the path of programs they would hide others' modules.
    """
    scripts = Path(sysconfig.get_path("scripts")).resolve()
    for entry in package.files or []:
        place = Path(str(package.locate_file(entry))).resolve()
        if place.parent == scripts and place.is_file() and place.read_bytes()[:2] != b"#!":
            yield place


def wanted(lines: list[str], extras: set[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The requirements that hold here, with their extras."""
    for line in lines:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement.name, frozenset(requirement.extras)


def top_entries(files: list[PackagePath]) -> set[str]:
    """What a package has put into the folder of packages; its scripts lie elsewhere."""
    return {path.parts[0] for path in files} - {"..", "__pycache__"}


def lines_of_wheel(wheel: Path) -> list[str]:
    """Names of the files of a wheel."""
    unpacked = subprocess.run([sys.executable, "-m", "zipfile", "-l", str(wheel)], check=True, capture_output=True)
    return [line.split()[0] for line in unpacked.stdout.decode().splitlines()[1:]]
